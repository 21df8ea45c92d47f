import { faultOf } from '../core/refusals.ts';
import type { CallStarted } from '../protocol/answers/call-answers.ts';
import { GatewayError } from '../protocol/errors.ts';
import { parseToolArgs } from '../protocol/tools/parse-tool-args.ts';
import type { Services } from '../service/services.ts';
import { withKeyOf } from './call-session-tool.ts';
import { requireOpenTool } from './create-tool-invoker.ts';
import type { ToolInvocation, ToolInvokerOptions } from './create-tool-invoker.ts';

/**
 * Returns what `calls.start` calls: the tools that wait, as the caller's own tool policy offers them.
 * Rejects `unknown_name` for a tool that is not offered, `invalid_request` for one that does not wait.
 */
export function createCallStarter(
  options: Pick<ToolInvokerOptions, 'store' | 'config'> & { services: Pick<Services, 'deferCall'> },
): (call: ToolInvocation & { ttlMs?: number | undefined }) => Promise<CallStarted> {
  const { services } = options;
  return async ({ caller, tool, args: given, ttlMs }) => {
    const name = await requireOpenTool(options, { caller, tool });
    if (name !== 'sessions_send' && name !== 'sessions_wait')
      throw new GatewayError(
        'invalid_request',
        `${name} answers at once; make the call as it is, without a task`,
      );
    // apart, so that each has arguments of its own type
    if (name === 'sessions_send') {
      const parsed = parseToolArgs(name, given);
      if (!parsed.ok) return { result: faultOf('arguments', parsed.error) };
      const { args } = parsed;
      return services.deferCall(withKeyOf(caller, args), { tool: name, args, ttlMs });
    }
    const parsed = parseToolArgs(name, given);
    if (!parsed.ok) return { result: faultOf('arguments', parsed.error) };
    return services.deferCall(caller, { tool: name, args: parsed.args, ttlMs });
  };
}

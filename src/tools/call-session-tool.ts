import type { SessionCaller } from '../core/caller.ts';
import { faultOf } from '../core/refusals.ts';
import { ERROR_CODES, toGatewayError } from '../protocol/errors.ts';
import { parseToolArgs } from '../protocol/tools/parse-tool-args.ts';
import type { ParsedToolArgs } from '../protocol/tools/parse-tool-args.ts';
import type { SessionToolArgs } from '../protocol/tools/session-tool-arg-schemas.ts';
import type { SessionToolName } from '../protocol/tools/session-tools.ts';
import type { Services } from '../service/services.ts';
import type { Logger } from '../util/logger.ts';

/** The use cases behind the session tools. */
export type SessionToolServices = Pick<
  Services,
  | 'listSessions'
  | 'readHistory'
  | 'sendMessage'
  | 'spawnSession'
  | 'listAgents'
  | 'waitForSessions'
  | 'stopSession'
  | 'searchSessions'
  | 'readInbox'
>;
export interface SessionToolCall {
  tool: SessionToolName;
  args: unknown;
  caller: SessionCaller;
}

/**
 * Runs one session tool and returns its answer. Bad arguments, refusals and faults are answers too;
 * a retryable fault and an ended run reject, so that the call stays open and is done again (DESIGN 4).
 */
export async function callSessionTool(
  { services, logger }: { services: SessionToolServices; logger: Logger },
  call: SessionToolCall,
): Promise<object> {
  try {
    return await dispatch(services, call);
  } catch (cause) {
    const error = toGatewayError(cause);
    if (ERROR_CODES[error.code].retryable || call.caller.run?.signal.aborted === true) throw cause;
    if (error.code === 'internal')
      logger.error(
        { err: cause, tool: call.tool, sessionKey: call.caller.sessionKey },
        'tool failed',
      );
    return faultOf('failed', error.message);
  }
}

function dispatch(services: SessionToolServices, call: SessionToolCall): Promise<object> {
  const { tool, args, caller } = call;
  switch (tool) {
    case 'sessions_list':
      return answer(parseToolArgs(tool, args), (parsed) => services.listSessions(caller, parsed));
    case 'sessions_history':
      return answer(parseToolArgs(tool, args), (parsed) => services.readHistory(caller, parsed));
    case 'sessions_send':
      return answer(parseToolArgs(tool, args), (parsed) =>
        services.sendMessage(withKeyOf(caller, parsed), parsed),
      );
    case 'sessions_spawn':
      return answer(parseToolArgs(tool, args), (parsed) =>
        services.spawnSession(withKeyOf(caller, parsed), parsed),
      );
    case 'agents_list':
      return answer(parseToolArgs(tool, args), () => services.listAgents(caller));
    case 'sessions_wait':
      return answer(parseToolArgs(tool, args), (parsed) =>
        services.waitForSessions(caller, parsed),
      );
    case 'sessions_search':
      return answer(parseToolArgs(tool, args), (parsed) => services.searchSessions(caller, parsed));
    case 'sessions_inbox':
      return answer(parseToolArgs(tool, args), (parsed) => services.readInbox(caller, parsed));
    case 'sessions_stop':
      return answer(parseToolArgs(tool, args), (parsed) =>
        services.stopSession(withKeyOf(caller, parsed), parsed),
      );
  }
}

async function answer<Name extends SessionToolName>(
  parsed: ParsedToolArgs<Name>,
  run: (args: SessionToolArgs[Name]) => Promise<object>,
): Promise<object> {
  return parsed.ok ? run(parsed.args) : faultOf('arguments', parsed.error);
}

/** Outside a run the argument names the job as well as the door's own field does; the door's wins (A13). */
export function withKeyOf(caller: SessionCaller, args: { idempotencyKey?: string }): SessionCaller {
  if (caller.run !== undefined || caller.idempotencyKey !== undefined) return caller;
  return args.idempotencyKey === undefined
    ? caller
    : { ...caller, idempotencyKey: args.idempotencyKey };
}

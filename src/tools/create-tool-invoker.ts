import type { SessionCaller } from '../core/caller.ts';
import { isClientKey, isSubagentKey } from '../core/keys.ts';
import { offeredTools } from '../core/tool-policy.ts';
import { GatewayError } from '../protocol/errors.ts';
import type { Config } from '../protocol/options/config.ts';
import { SESSION_TOOL_NAMES } from '../protocol/tools/session-tools.ts';
import type { Store } from '../store/store.ts';
import type { Logger } from '../util/logger.ts';
import { nearestName } from '../util/nearest-name.ts';
import { callSessionTool } from './call-session-tool.ts';
import type { SessionToolServices } from './call-session-tool.ts';
import { briefly } from '../util/briefly.ts';

export interface ToolInvokerOptions {
  services: SessionToolServices;
  store: Pick<Store, 'read'>;
  config: () => Config;
  logger: Logger;
}
export interface ToolInvocation {
  caller: SessionCaller;
  tool: string;
  args: Record<string, unknown>;
}

/**
 * Returns what `tools.invoke` and `POST /tools/invoke` call: the session tools, as the caller's own
 * tool policy offers them. Resolves with the tool's JSON, refusals included; rejects `unknown_name`
 * for a tool that is none of them, and for one that the policy closes.
 */
export function createToolInvoker(
  options: ToolInvokerOptions,
): (invocation: ToolInvocation) => Promise<object> {
  return async ({ caller, tool, args }) => {
    const offered = await offeredTo(options, caller);
    const name = SESSION_TOOL_NAMES.find((known) => known === tool);
    if (name === undefined) {
      const nearest = nearestName(tool, SESSION_TOOL_NAMES);
      throw unavailable(`unknown tool "${briefly(tool)}", nearest: "${nearest}"`);
    }
    if (!offered.includes(name))
      throw unavailable(
        `tool policy does not offer ${name} to session ${caller.sessionKey} (tools.allow, tools.deny, tools.subagents.tools)`,
      );
    return callSessionTool(options, { tool: name, args, caller });
  };
}

async function offeredTo(
  { store, config }: ToolInvokerOptions,
  { sessionKey, agentId }: SessionCaller,
): Promise<string[]> {
  const session = await store.read((tx) => tx.sessions.get(sessionKey));
  return offeredTools({
    config: config(),
    agentId,
    isSubagent: isSubagentKey(sessionKey),
    isClient: isClientKey(sessionKey),
    spawnDepth: session?.spawnDepth ?? 0,
    available: SESSION_TOOL_NAMES,
  });
}

function unavailable(text: string): GatewayError {
  return new GatewayError('unknown_name', text);
}

import { spawnTargets } from '../core/agents.ts';
import type { SessionCaller } from '../core/caller.ts';
import { GatewayError } from '../protocol/errors.ts';
import type { Config } from '../protocol/options/config.ts';
import { sessionToolSpec } from '../protocol/tools/session-tool-specs.ts';
import type { SessionToolSpec } from '../protocol/tools/session-tool-specs.ts';
import { SESSION_TOOL_NAMES } from '../protocol/tools/session-tools.ts';
import type { SessionToolName } from '../protocol/tools/session-tools.ts';
import { closedTool, openTools } from '../service/sessions/closed-tool.ts';
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
    const name = await requireOpenTool(options, { caller, tool });
    return callSessionTool(options, { tool: name, args, caller });
  };
}

/** Returns the name of a tool that the session is offered; rejects `unknown_name` for any other. */
export async function requireOpenTool(
  { store, config }: Pick<ToolInvokerOptions, 'store' | 'config'>,
  { caller, tool }: { caller: SessionCaller; tool: string },
): Promise<SessionToolName> {
  const name = SESSION_TOOL_NAMES.find((known) => known === tool);
  if (name === undefined) {
    const nearest = nearestName(tool, SESSION_TOOL_NAMES);
    throw unavailable(`unknown tool "${briefly(tool)}", nearest: "${nearest}"`);
  }
  const closed = await store.read((tx) => closedTool(tx, config(), { caller, tool: name }));
  if (closed !== undefined) throw unavailable(closed.error);
  return name;
}

/** Returns what `tools.catalog` answers: the tools that `createToolInvoker` would call, as a model sees them. */
export function createToolCatalog({
  store,
  config,
}: Pick<ToolInvokerOptions, 'store' | 'config'>): (
  caller: SessionCaller,
) => Promise<SessionToolSpec[]> {
  return async (caller) => {
    const open = await store.read((tx) => openTools(tx, config(), caller));
    const targets = spawnTargets(config(), caller.agentId);
    return open.map((name) => sessionToolSpec(name, targets));
  };
}

function unavailable(text: string): GatewayError {
  return new GatewayError('unknown_name', text);
}

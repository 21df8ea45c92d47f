import { findAgent } from '../../core/agents.ts';
import type { SessionCaller } from '../../core/caller.ts';
import { isClientKey, isSubagentKey } from '../../core/keys.ts';
import { modelOfSession } from '../../core/models.ts';
import type { Refusal } from '../../core/refusals.ts';
import {
  closedToolRefusal,
  offeredTools,
  toolClosedBy,
  type ToolQuery,
} from '../../core/tool-policy.ts';
import type { Config } from '../../protocol/options/config.ts';
import { SESSION_TOOL_NAMES, type SessionToolName } from '../../protocol/tools/session-tools.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { ReadTx } from '../../store/store.ts';

type Caller = Pick<SessionCaller, 'sessionKey' | 'agentId'>;

/** Returns why the tool policy closes a session tool to this session, or undefined (DR8). */
export async function closedTool(
  tx: ReadTx,
  config: Config,
  { caller, tool }: { caller: Caller; tool: SessionToolName },
): Promise<Refusal | undefined> {
  const closedBy = toolClosedBy(await toolQueryOf(tx, config, caller), tool);
  return closedBy === undefined
    ? undefined
    : closedToolRefusal({ tool, closedBy, whom: `to session ${caller.sessionKey}` });
}

/** Returns the session tools that this session is offered. */
export async function openTools(
  tx: ReadTx,
  config: Config,
  caller: Caller,
): Promise<SessionToolName[]> {
  const offered = new Set(offeredTools(await toolQueryOf(tx, config, caller)));
  return SESSION_TOOL_NAMES.filter((name) => offered.has(name));
}

/** As the session's next turn would be judged: with the model that it would have. */
async function toolQueryOf(
  tx: ReadTx,
  config: Config,
  { sessionKey, agentId }: Caller,
): Promise<ToolQuery> {
  const session = await tx.sessions.get(sessionKey);
  return toolQuery(config, {
    session: { key: sessionKey, agentId, spawnDepth: session?.spawnDepth ?? 0 },
    model: modelOfSession(config, findAgent(config, agentId), session?.model),
    available: SESSION_TOOL_NAMES,
  });
}

/** Returns what the tool policy is asked of a session with this model: in its turns as at the doors. */
export function toolQuery(
  config: Config,
  asked: Pick<ToolQuery, 'model' | 'available'> & {
    session: Pick<SessionRow, 'key' | 'agentId' | 'spawnDepth'>;
  },
): ToolQuery {
  const { session, model, available } = asked;
  const { key, agentId, spawnDepth } = session;
  return {
    config,
    agentId,
    model,
    isSubagent: isSubagentKey(key),
    isClient: isClientKey(key),
    // No session is: a gateway whose `sandbox.mode` says otherwise does not start.
    isSandboxed: false,
    spawnDepth,
    available,
  };
}

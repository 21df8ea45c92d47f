import type { SessionCaller } from '../../core/caller.ts';
import { isSubagentKey } from '../../core/keys.ts';
import type { Refusal } from '../../core/refusals.ts';
import { closedToolRefusal, offeredTools } from '../../core/tool-policy.ts';
import type { Config } from '../../protocol/options/config.ts';
import { SESSION_TOOL_NAMES, type SessionToolName } from '../../protocol/tools/session-tools.ts';
import type { ReadTx } from '../../store/store.ts';

/** Returns why the tool policy closes a session tool to this session, or undefined (DR8). */
export async function closedTool(
  tx: ReadTx,
  config: Config,
  {
    caller,
    tool,
  }: { caller: Pick<SessionCaller, 'sessionKey' | 'agentId'>; tool: SessionToolName },
): Promise<Refusal | undefined> {
  const { sessionKey, agentId } = caller;
  const session = await tx.sessions.get(sessionKey);
  const offered = offeredTools({
    config,
    agentId,
    isSubagent: isSubagentKey(sessionKey),
    spawnDepth: session?.spawnDepth ?? 0,
    available: SESSION_TOOL_NAMES,
  });
  if (offered.includes(tool)) return undefined;
  return closedToolRefusal(tool, `to session ${sessionKey}`);
}

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { listAgents } from '../../core/agents.ts';
import type { AgentSettings } from '../../core/agents.ts';
import { channelOf, displayKey } from '../../core/keys.ts';
import { contextWindowOf, formatModel, modelOfSession } from '../../core/models.ts';
import type { Config } from '../../protocol/options/config.ts';
import type { SessionRowView } from '../../protocol/tools/session-tool-answers.ts';
import type { SessionState } from '../../protocol/words.ts';
import type { SessionRow } from '../../store/session-repository.ts';

export interface RowViewer {
  config: Config;
  stateDir: string;
  /** whose own main session is shown as `main`; undefined = the operator, who sees canonical keys */
  agentId: string | undefined;
  agentOf: (agentId: string) => AgentSettings | undefined;
}

/** Returns who looks at rows. It looks each agent up once: make one per page. */
export function createRowViewer(viewer: Omit<RowViewer, 'agentOf'>): RowViewer {
  const agents = new Map(listAgents(viewer.config).map((agent) => [agent.id, agent]));
  return { ...viewer, agentOf: (agentId) => agents.get(agentId) };
}

/** Returns a session as lists show it (A7). What is not known is left out, never guessed. */
export function toRowView(
  row: SessionRow,
  { viewer, state }: { viewer: RowViewer; state: SessionState },
): SessionRowView {
  const { config, stateDir } = viewer;
  const agent = viewer.agentOf(row.agentId);
  const model = modelOfSession(config, agent, row.model);
  return {
    key: shownKey(row.key, viewer),
    kind: row.kind,
    channel: channelOf(row),
    updatedAt: row.updatedAt,
    sessionId: row.sessionId,
    model: formatModel(model),
    contextTokens: contextWindowOf(config, model),
    thinkingLevel: row.thinkingLevel ?? agent?.thinking ?? 'off',
    verboseLevel: row.verboseLevel ?? 'off',
    systemSent: row.systemSent,
    abortedLastRun: row.abortedLastRun,
    transcriptPath: transcriptPathOf(stateDir, row),
    agentId: row.agentId,
    state,
    ...known(row),
    ...(row.spawnedBy !== null && { spawnedBy: shownKey(row.spawnedBy, viewer) }),
  };
}

/** Returns where the transcript of a session is mirrored (A25). Best effort: nothing is opened. */
export function transcriptPathOf(
  stateDir: string,
  session: { agentId: string; sessionId: string },
): string {
  const { agentId, sessionId } = session;
  return join(stateDir, 'agents', fileName(agentId), 'sessions', `${fileName(sessionId)}.jsonl`);
}

const PLAIN_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** An id is not trusted to be a file name; a hash keeps two that would look the same apart (BR-062). */
function fileName(id: string): string {
  if (PLAIN_NAME.test(id)) return id;
  const hash = createHash('sha256').update(id).digest('hex').slice(0, 16);
  return `_${id.slice(0, 64).replace(/[^A-Za-z0-9_-]/g, '_')}-${hash}`;
}

function shownKey(key: string, { config, agentId }: RowViewer): string {
  return agentId === undefined ? key : displayKey(key, { ...config.session, agentId });
}

function known(row: SessionRow): Partial<SessionRowView> {
  const { lastChannel, lastTo, lastAccountId } = row;
  const deliveryContext = {
    ...(lastChannel !== null && { channel: lastChannel }),
    ...(lastTo !== null && { to: lastTo }),
    ...(lastAccountId !== null && { accountId: lastAccountId }),
  };
  return {
    ...(row.displayName !== null && { displayName: row.displayName }),
    ...(row.label !== null && { label: row.label }),
    ...(row.totalTokens !== null && { totalTokens: row.totalTokens }),
    ...(row.sendPolicy !== null && { sendPolicy: row.sendPolicy }),
    ...(lastChannel !== null && { lastChannel }),
    ...(lastTo !== null && { lastTo }),
    ...(Object.keys(deliveryContext).length > 0 && { deliveryContext }),
    ...(row.archivedAt !== null && { archivedAt: row.archivedAt }),
  };
}

/** New session rows, and the row of a session that may not have one yet. */
import { randomUUID } from 'node:crypto';
import { kindOf, mainKeyOf, parseKey } from '../../core/keys.ts';
import type { Config } from '../../protocol/options/config.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import { restartBudget } from '../budgets/budget-rows.ts';

/** Returns the row of a session nobody has written to yet. */
export function newSessionRow(
  config: Config,
  session: { key: string; agentId: string; now: number } & Partial<SessionRow>,
): SessionRow {
  const { now, ...given } = session;
  const parsed = parseKey(session.key);
  return {
    kind: kindOf(session.key, { mainKey: config.session.mainKey }),
    sessionId: randomUUID(),
    chatType: null,
    channel: parsed.channel ?? null,
    label: null,
    displayName: null,
    model: null,
    thinkingLevel: null,
    verboseLevel: null,
    reasoningLevel: null,
    elevatedLevel: null,
    lastModel: null,
    inputTokens: 0,
    outputTokens: 0,
    totalTokens: null,
    systemSent: false,
    abortedLastRun: false,
    sendPolicy: null,
    queueMode: null,
    queueDebounceMs: null,
    queueCap: null,
    queueDrop: null,
    lastChannel: null,
    lastTo: null,
    lastAccountId: null,
    lastThreadId: null,
    spawnedBy: null,
    rootKey: session.key,
    spawnDepth: 0,
    createdAt: now,
    updatedAt: now,
    archiveAt: null,
    archivedAt: null,
    deletedAt: null,
    ...given,
  };
}

/** Returns the session's row, making it when the key is new. The caller has decided that it may exist. */
export async function ensureSession(
  tx: WriteTx,
  config: Config,
  session: { key: string; agentId: string; label?: string },
): Promise<SessionRow> {
  const existing = await tx.sessions.get(session.key);
  if (existing !== undefined && existing.deletedAt === null) return existing;
  const row = newSessionRow(config, { ...session, now: tx.now });
  if (existing === undefined) await tx.sessions.insert(row);
  else await startOver(tx, existing, row);
  tx.signal({ type: 'session', sessionKey: session.key });
  return row;
}

/** A key whose session was deleted is used again: nothing of what it was is left but its transcripts, which stay deleted. */
async function startOver(tx: WriteTx, before: SessionRow, fresh: SessionRow): Promise<void> {
  await tx.windows.markDeleted(before.key, before.deletedAt ?? tx.now);
  const { key: _key, spawnedBy: _parent, rootKey: _root, spawnDepth: _depth, ...columns } = fresh;
  await restartBudget(tx, before.key);
  await tx.sessions.update(before.key, columns);
}

/** Makes the main session of every configured agent, so that it is a known target from the start (A4). */
export async function ensureMainSessions(
  tx: WriteTx,
  config: Config,
  agents: readonly { id: string; isDefault: boolean }[],
): Promise<void> {
  const { mainKey, scope } = config.session;
  for (const agent of agents) {
    if (scope === 'global' && !agent.isDefault) continue;
    await ensureSession(tx, config, {
      key: mainKeyOf(agent.id, mainKey, scope),
      agentId: agent.id,
    });
  }
}

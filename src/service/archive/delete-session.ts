/** `sessions.delete` (B10.4): the session leaves every tool; the operator reads it until it is purged (A21). */
import { type OperatorCaller, operatorName } from '../../core/caller.ts';
import { parseKey } from '../../core/keys.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { Config } from '../../protocol/options/config.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import { must } from '../../util/assert.ts';
import { releaseAttachments } from '../attachments/release-attachments.ts';
import { audit } from '../audit.ts';
import type { RunServices } from '../context.ts';
import { finishStop, type Stopping, stopIn } from '../runs/stop-runs.ts';
import type { Services } from '../services.ts';
import { keySettings } from '../sessions/key-settings.ts';
import { lookUpForOperator } from '../sessions/resolve-caller.ts';
import { appendNotes } from './append-notes.ts';
import { endExchangesOf } from './end-exchanges.ts';
import { addMaintenanceJob } from './maintenance-job.ts';

/** Most transcripts of a key that one call names and condemns. */
const MAX_WINDOWS = 500;

export interface DeleteSession {
  key: string;
  /** purged at once, and readable by nobody from now on */
  deleteTranscript?: boolean;
}

/**
 * Stops the session with everything below it and hides it, in one step. The sessions that it spawned
 * stay, and archive by their own clocks. Rejects main sessions and what is not there; a session that
 * is deleted already is no error. Where many notes wait, steps before that one append them, a page each.
 */
export async function deleteSession(
  services: RunServices,
  caller: OperatorCaller,
  request: DeleteSession,
): Promise<Answer> {
  for (;;) {
    const { answer, stopping } = await services.store.write('delete-session', (tx) =>
      deleteIn(tx, services, { caller, request }),
    );
    if (stopping !== undefined) await finishStop(services, stopping);
    if (answer === undefined) continue;
    if (answer.deleted) {
      services.events.emit({ type: 'session_changed', sessionKey: answer.key });
    }
    return answer;
  }
}

type Answer = Awaited<ReturnType<Services['deleteSession']>>;

interface Step {
  /** undefined = notes are left, and the session is as open as before */
  answer: Answer | undefined;
  stopping: Stopping | undefined;
}

async function deleteIn(
  tx: WriteTx,
  services: RunServices,
  { caller, request }: { caller: OperatorCaller; request: DeleteSession },
): Promise<Step> {
  const config = services.config();
  const found = await lookUpForOperator(tx, config, request.key);
  refuseMain(config, found.key);
  const session = must(found.session, `session ${found.key} has no row`);
  const { key } = session;
  const isNew = session.deletedAt === null;
  const stopping = isNew ? await stop(tx, services, session) : undefined;
  if (isNew) {
    if (await appendNotes(tx, services, session)) return { answer: undefined, stopping };
    await hide(tx, session);
  }
  const purges = request.deleteTranscript === true;
  const windows = await tx.windows.ofKey({
    sessionKey: key,
    cursor: undefined,
    limit: MAX_WINDOWS,
  });
  const kept = windows.filter(({ purgeAt }) => purgeAt === null);
  if (purges) {
    for (const { sessionId } of kept) await tx.windows.condemn(sessionId, tx.now);
    await addMaintenanceJob(tx, tx.now);
  }
  if (isNew || purges) {
    await audit(tx, {
      actor: operatorName(caller),
      action: 'sessions.delete',
      subjectKind: 'session',
      subjectId: key,
      sessionKey: key,
      detail: { deleteTranscript: purges, transcripts: kept.length },
    });
  }
  const archived = purges ? [] : kept.map(({ sessionId }) => sessionId);
  return { stopping, answer: { key, deleted: isNew, archived } };
}

async function stop(tx: WriteTx, services: RunServices, { key }: SessionRow): Promise<Stopping> {
  const target = { type: 'session', key, queued: true } as const;
  const stopping = await stopIn(tx, services, { by: 'operator', stopKey: undefined, target });
  await endExchangesOf(tx, { key, why: `session ${key} was deleted`, keepsWaiting: false });
  return stopping;
}

async function hide(tx: WriteTx, { key, archivedAt }: SessionRow): Promise<void> {
  await tx.sessions.update(key, {
    archiveAt: null,
    archivedAt: archivedAt ?? tx.now,
    deletedAt: tx.now,
  });
  await tx.windows.markDeleted(key, tx.now);
  await releaseAttachments(tx, key);
  tx.signal({ type: 'session', sessionKey: key });
}

function refuseMain(config: Config, key: string): void {
  const { agentIds } = keySettings(config);
  const { form, agentId } = parseKey(key, config.session);
  const isMain = form === 'global' || (form === 'main' && agentIds.includes(agentId ?? ''));
  if (!isMain) return;
  throw new GatewayError(
    'invalid_request',
    `session ${key} is a main session and cannot be deleted; sessions.reset gives it a new transcript`,
  );
}

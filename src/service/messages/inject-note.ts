/** `chat.inject` (B10.4): the operator's words in a transcript as the agent's. No run, no delivery. */
import { randomUUID } from 'node:crypto';
import { type OperatorCaller, operatorName } from '../../core/caller.ts';
import { isClientKey } from '../../core/keys.ts';
import { operatorNoteText } from '../../core/operator-note.ts';
import { visibleText } from '../../core/silence.ts';
import type { NoteInjected } from '../../protocol/answers/session-answers.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { InputRow } from '../../store/input-repository.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import { audit } from '../audit.ts';
import type { ServiceContext } from '../context.ts';
import {
  acceptNote,
  contentHashOf,
  findAccepted,
  type IdempotencyKey,
} from '../runs/accept-run.ts';
import { appendNote } from '../runs/append-input.ts';
import { lookUpForOperator } from '../sessions/resolve-caller.ts';
import { ensureSession } from '../sessions/session-rows.ts';

export interface InjectNote {
  sessionKey: string;
  message: string;
  /** stands in front of the text */
  label?: string;
  idempotencyKey?: string;
}

/**
 * Appends the note, or returns its first acceptance under this key. While the session is at work the
 * note waits for the end of its turn. Rejects what is not there, or closed.
 */
export async function injectNote(
  context: ServiceContext,
  caller: OperatorCaller,
  request: InjectNote,
): Promise<NoteInjected> {
  const text = operatorNoteText(request);
  const { answer, isNew } = await context.store.write('inject-note', (tx) =>
    take(tx, context, { caller, request, text }),
  );
  if (isNew) tell(context, { answer, text });
  return answer;
}

async function take(
  tx: WriteTx,
  context: ServiceContext,
  { caller, request, text }: { caller: OperatorCaller; request: InjectNote; text: string },
): Promise<{ answer: NoteInjected; isNew: boolean }> {
  const config = context.config();
  const { key, agentId, closure, sessionId } = await lookUpForOperator(
    tx,
    config,
    request.sessionKey,
  );
  const idempotency = keyOf(caller, { request, sessionKey: key, text });
  const earlier = await findAccepted(tx, idempotency);
  if (earlier === 'conflict') throw conflict();
  if (earlier !== undefined) return { answer: toAnswer(earlier), isNew: false };
  if (closure !== undefined) throw refused(`session ${key} is ${closure}; it takes no notes`);
  const session = await ensureSession(tx, config, { key, agentId });
  if (sessionId !== undefined && sessionId !== session.sessionId)
    throw refused(
      `sessionId ${sessionId} is from before a reset of ${key}; its current sessionId is ${session.sessionId}`,
    );
  const actor = operatorName(caller);
  const note = await add(tx, context, { session, text, idempotency, actor });
  return { answer: toAnswer(note), isNew: true };
}

async function add(
  tx: WriteTx,
  context: ServiceContext,
  {
    session,
    text,
    idempotency,
    actor,
  }: {
    session: SessionRow;
    text: string;
    idempotency: IdempotencyKey | undefined;
    actor: string;
  },
): Promise<InputRow> {
  const { key: sessionKey } = session;
  const inputId = randomUUID();
  const input = await acceptNote(tx, {
    inputId,
    kind: 'note',
    sessionKey,
    text,
    rootRunId: inputId,
    ...(idempotency === undefined ? {} : { idempotency }),
  });
  // a client is shown what stands there with its inbox, which takes it in
  const isAppended =
    !isClientKey(sessionKey) && (await appendNote(tx, context, { input, session }));
  await tx.sessions.update(sessionKey, { updatedAt: tx.now });
  await audit(tx, {
    actor,
    action: 'chat.inject',
    subjectKind: 'session',
    subjectId: sessionKey,
    sessionKey,
    detail: { messageId: inputId },
  });
  return isAppended ? { ...input, state: 'appended' } : input;
}

function toAnswer({ inputId, sessionKey, state }: InputRow): NoteInjected {
  return {
    messageId: inputId,
    sessionKey,
    state: state === 'pending' ? 'pending' : 'appended',
  };
}

/** Live, for those who show a chat: the row says it to all others. */
function tell(
  { events }: ServiceContext,
  { answer, text }: { answer: NoteInjected; text: string },
): void {
  const { messageId, sessionKey } = answer;
  const shown = visibleText(text);
  if (!shown.silent) {
    const runId = `inject-${messageId}`;
    events.emit({ type: 'chat_note', runId, sessionKey, text: shown.text });
  }
  events.emit({ type: 'session_changed', sessionKey });
}

function keyOf(
  caller: OperatorCaller,
  note: { request: InjectNote; sessionKey: string; text: string },
): IdempotencyKey | undefined {
  const { sessionKey, text } = note;
  const { idempotencyKey: key } = note.request;
  if (key === undefined) return undefined;
  const scope = `${operatorName(caller)} chat.inject`;
  return { scope, key, contentHash: contentHashOf({ sessionKey, text }) };
}

function conflict(): GatewayError {
  return new GatewayError(
    'key_conflict',
    'chat.inject: this idempotencyKey was used for another note; use a new key for a new note',
  );
}

function refused(text: string): GatewayError {
  return new GatewayError('invalid_request', `chat.inject: ${text}`);
}

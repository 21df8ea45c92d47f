/** A client's reply ends the message that it has in hand, as a turn's last message ends a run (A12, A13). */
import type { SessionCaller } from '../../core/caller.ts';
import { parseKey } from '../../core/keys.ts';
import { faultOf } from '../../core/refusals.ts';
import { isOutcome } from '../../core/run-state.ts';
import { parseStoredMessage } from '../../core/stored-message.ts';
import { type AssistantMessage, textOf } from '../../protocol/message.ts';
import type { SessionsInboxAnswer } from '../../protocol/tools/inbox-answer.ts';
import type { SessionsInboxArgs } from '../../protocol/tools/session-tool-args.ts';
import type { ToolRefusal } from '../../protocol/tools/session-tools.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { ReadTx } from '../../store/store.ts';
import { briefly } from '../../util/briefly.ts';
import type { RunContext } from '../context.ts';
import { closeUnplayed } from '../runs/close-unplayed.ts';
import { tellClosed } from '../runs/tell-closed.ts';
import { mustBeOpen } from './must-be-open.ts';
import { handOverIn, tellHandedOver } from './hand-over-inbox.ts';
import { unplayedRun } from './held-run.ts';
import { toInboxPage } from './inbox-page.ts';

type Reply = NonNullable<SessionsInboxArgs['reply']>;

/**
 * Ends the message with this text and hands over the next one, in one transaction. The id of the message
 * is the key: the same reply again is answered again, another one is refused.
 */
export async function answerMessage(
  context: RunContext,
  caller: SessionCaller,
  { reply: given, noteLimit }: { reply: Reply; noteLimit: number },
): Promise<SessionsInboxAnswer> {
  const reply = { ...given, text: asStored(given.text) };
  const { sessionKey } = caller;
  const done = await context.store.write('answer-inbox', async (tx) => {
    const session = await mustBeOpen(tx, sessionKey);
    const found = await findMessage(tx, { sessionKey, reply });
    if ('error' in found) return { refusal: found };
    const message = toAssistantMessage(reply, { sessionKey, now: tx.now });
    const end = { state: 'ok', message, error: undefined } as const;
    const closed =
      found.run === undefined
        ? undefined
        : await closeUnplayed(tx, context, { run: found.run, end });
    const handed = await handOverIn(tx, context, { session, noteLimit });
    const page = await toInboxPage(tx, context.config(), { caller, handed });
    return { page, closed, message, handed };
  });
  if (done.refusal !== undefined) return done.refusal;
  const { page, closed, message, handed } = done;
  if (closed !== undefined) tellClosed(context, { closed, message });
  tellHandedOver(context, handed);
  return { ...page, replied: { messageId: reply.messageId, status: 'ok' } };
}

/** Returns the run to end; undefined = this very reply has ended it. */
async function findMessage(
  tx: ReadTx,
  { sessionKey, reply }: { sessionKey: string; reply: Reply },
): Promise<{ run: RunRow | undefined } | ToolRefusal> {
  const { messageId } = reply;
  const shown = `message ${briefly(messageId)}`;
  const run = await tx.runs.get(messageId);
  // of another session it is as unknown as one that never was
  if (run === undefined || run.sessionKey !== sessionKey) {
    return refuse(`${shown} not found in your inbox; call sessions_inbox for the one you have`);
  }
  if (isOutcome(run.state)) {
    if (run.state === 'ok' && (await wasReply(tx, run, reply))) return { run: undefined };
    return refuse(
      run.state === 'ok'
        ? `${shown} was answered already; to say more, send its sender a message`
        : `${shown} has ended ${run.state}${run.error === null ? '' : ` (${run.error})`}; it takes no reply any more`,
    );
  }
  const held = await unplayedRun(tx, sessionKey);
  if (held?.runId === messageId) return { run };
  return refuse(`${shown} was not handed over yet; call sessions_inbox, they come in order`);
}

async function wasReply(tx: ReadTx, run: RunRow, { text }: Reply): Promise<boolean> {
  const entries = await tx.entries.ofRun(run.sessionId ?? '', run.runId);
  const last = entries.findLast(({ role }) => role === 'assistant');
  const stored = last === undefined ? undefined : parseStoredMessage(last.json);
  return stored !== undefined && textOf(stored) === text;
}

/** The text as every store keeps it, so that the same reply is known again. */
function asStored(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD');
}

function toAssistantMessage(
  { text }: Reply,
  { sessionKey, now }: { sessionKey: string; now: number },
): AssistantMessage {
  return {
    role: 'assistant',
    content: [{ type: 'text', text }],
    api: 'inbox',
    provider: 'client',
    model: parseKey(sessionKey).id ?? 'client',
    stopReason: 'stop',
    timestamp: now,
  };
}

function refuse(error: string): ToolRefusal {
  return faultOf('inbox', error);
}

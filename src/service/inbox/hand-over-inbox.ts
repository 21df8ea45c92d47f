/**
 * Handing over what waits for a client (A12): its next message enters the transcript and is `running`,
 * in one transaction, and stays in the client's hands until it is answered. Nobody plays it, so its lane
 * has no owner between the units, and no claim, recovery or take-over looks at it.
 */
import type { InputRow } from '../../store/input-repository.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import type { RunContext } from '../context.ts';
import { appendNoteText } from '../runs/append-input.ts';
import { tellLost } from '../runs/end-lost-run.ts';
import { tellClosed } from '../runs/tell-closed.ts';
import { waitingBehind } from './held-run.ts';
import {
  appendText,
  armDeadlineJob,
  beginMessage,
  type EndedBefore,
  takeInbox,
} from './next-message.ts';

/** Characters of notes in one answer, beyond the first of them. */
const MAX_NOTE_CHARS = 250_000;

/** What a unit has handed over, and what the client has in hand after it. */
export interface HandedOver extends EndedBefore {
  open: RunRow | undefined;
  /** `open` was handed over by this unit */
  isNew: boolean;
  notes: InputRow[];
  hasMoreNotes: boolean;
  /** messages that are not handed over */
  waiting: number;
}

/** Hands over in this unit what can be; tell of it after the commit with `tellHandedOver`. */
export async function handOverIn(
  tx: WriteTx,
  context: RunContext,
  { session, noteLimit }: { session: SessionRow; noteLimit: number },
): Promise<HandedOver> {
  const ended: EndedBefore = { expired: [], lost: [] };
  const taken = await takeInbox(tx, context, { session, ended });
  if (taken === undefined)
    return { ...ended, open: undefined, isNew: false, notes: [], hasMoreNotes: false, waiting: 0 };
  const { fence, held, next } = taken;
  const begun = next && (await beginMessage(tx, { run: next, session, fence }));
  const open = begun ?? held;
  const { notes, hasMoreNotes } = await appendNotes(tx, context, { session, open, noteLimit });
  const isNew = begun !== undefined;
  if (isNew) {
    await appendText(tx, context, begun);
    await armDeadlineJob(tx, begun);
  }
  await tx.lanes.leave(fence);
  if (isNew || notes.length > 0) tx.signal({ type: 'session', sessionKey: session.key });
  const waiting = waitingBehind(await tx.lanes.get(session.key));
  return { ...ended, open, isNew, notes, hasMoreNotes, waiting };
}

/** Tells who watches, and the log. */
export function tellHandedOver(context: RunContext, handed: HandedOver): void {
  const { open, isNew } = handed;
  tellEndedBefore(context, handed);
  if (open === undefined || !isNew) return;
  const { runId, sessionKey } = open;
  const startedAt = open.startedAt ?? context.clock.now();
  context.events.emit({ type: 'started', runId, sessionKey, startedAt, attempt: 1 });
}

/** The same of what ended before it could be handed over. */
export function tellEndedBefore(context: RunContext, { expired, lost }: EndedBefore): void {
  tellLost(context, lost);
  for (const closed of expired) tellClosed(context, { closed, message: undefined });
}

/** Notes stand before the message that begins with them, as before an agent's turn. */
async function appendNotes(
  tx: WriteTx,
  context: RunContext,
  place: { session: SessionRow; open: RunRow | undefined; noteLimit: number },
): Promise<Pick<HandedOver, 'notes' | 'hasMoreNotes'>> {
  const { session, open, noteLimit } = place;
  const pending = await tx.inputs.pendingNotes(session.key, noteLimit + 1);
  const notes: InputRow[] = [];
  let chars = 0;
  for (const input of pending.slice(0, noteLimit)) {
    chars += input.text.length;
    if (notes.length > 0 && chars > MAX_NOTE_CHARS) break;
    const { key: sessionKey, sessionId } = session;
    const run = open ?? { runId: null, sessionKey, sessionId, hops: 1 };
    await appendNoteText(tx, context, { input, run });
    notes.push(input);
  }
  return { notes, hasMoreNotes: notes.length < pending.length };
}

/**
 * The life of one part in the outbox (A19):
 *
 *   queued ──begin──▶ sending ──sent──▶ sent
 *     ▲                  ├──failed──▶ failed        (it is not in the chat)
 *     ├──refused─────────┤                          (not shown, worth another attempt)
 *     ├──unclear, interrupted: where another attempt or a look can settle it
 *     │                  └──unclear, interrupted: else ──▶ unknown
 *     ├──not found       queued ──found──▶ sent     (a look at the chat, after something unclear)
 *     └──retry── failed, unknown ──drop──▶ dropped  (the desk; `drop` also of what is queued)
 *
 * `unclearSince` is what keeps a text from being shown twice: while it is set, nobody knows whether
 * the chat has it, and it is handed over again only where the channel drops what it has shown.
 * `suppressed` never was queued.
 */
import type { DeliveryState } from '../protocol/words.ts';

/** Before the second and each further attempt, in milliseconds; after the last one it is over. */
export const ATTEMPT_DELAYS_MS: readonly number[] = [
  1000, 5000, 30_000, 120_000, 600_000, 3_600_000,
];
const MAX_ATTEMPTS = ATTEMPT_DELAYS_MS.length + 1;

/** The part of a delivery that decides what may happen to it. Times are epoch milliseconds. */
export interface DeliveryCourse {
  state: DeliveryState;
  /** tries since it was queued, or queued again at the desk */
  attempts: number;
  /** how often it was handed to a channel, in all */
  handovers: number;
  /** when the hand-over that is under way began */
  sendingAt: number | null;
  /** the first hand-over that nobody knows the effect of, null = none */
  unclearSince: number | null;
  nextAttemptAt: number;
  reason: string | null;
  messageId: string | null;
  sentAt: number | null;
}

/** What a channel promises. */
export interface ChannelTraits {
  /** it drops a key that it has shown */
  idempotent: boolean;
  /** for how long it knows a key, undefined = for good */
  idempotencyWindowMs: number | undefined;
  /** it can say whether it has shown a key */
  canReadBack: boolean;
  /** a call that takes longer is given up */
  callLimitMs: number;
}

/** What can happen to a part. */
export type DeliveryEvent =
  /** it is about to be handed over */
  | { type: 'begin' }
  | { type: 'sent'; messageId?: string | undefined }
  /** the channel did not take it; worth another attempt */
  | { type: 'refused'; reason: string }
  /** the channel will never show it */
  | { type: 'failed'; reason: string }
  /** the call ended without saying what it did */
  | { type: 'unclear'; reason: string }
  /** found in `sending`, and nobody is handing it over any more */
  | { type: 'interrupted' }
  /** a look at the chat: it is there */
  | { type: 'found' }
  /** it is not there */
  | { type: 'not_found' }
  /** the chat cannot say */
  | { type: 'not_told' }
  /** the look itself failed; worth another one */
  | { type: 'look_failed'; reason: string }
  /** nobody can find out */
  | { type: 'give_up' }
  /** an earlier part of its text failed */
  | { type: 'hold'; reason: string }
  | { type: 'retry' }
  | { type: 'drop' };

/** What is to be done with a part that is next in its chat. */
export type DeliveryStep = 'hand_over' | 'read_back' | 'give_up' | 'wait' | 'nothing';

type Circumstances = { now: number; traits: ChannelTraits };

/** Returns the step that a part is due for; `wait` = not before `nextAttemptAt`. */
export function deliveryStep(
  { state, nextAttemptAt, unclearSince }: DeliveryCourse,
  { now, traits }: Circumstances,
): DeliveryStep {
  if (state !== 'queued') return 'nothing';
  if (now < nextAttemptAt) return 'wait';
  if (unclearSince === null || mayRepeat(traits, now - unclearSince)) return 'hand_over';
  return traits.canReadBack ? 'read_back' : 'give_up';
}

/** Returns the course after the event, or undefined when this cannot happen to such a part. */
export function nextDelivery(
  course: DeliveryCourse,
  event: DeliveryEvent,
  at: Circumstances,
): DeliveryCourse | undefined {
  switch (event.type) {
    case 'retry':
    case 'drop':
      return atTheDesk(course, event, at.now);
    case 'sent':
    case 'refused':
    case 'failed':
    case 'unclear':
    case 'interrupted':
      return course.state === 'sending' ? afterHandover(course, event, at) : undefined;
    default:
      return course.state === 'queued' ? whileQueued(course, event, at) : undefined;
  }
}

/** A call may still be under way when the window ends, so it has to fit into it. */
function mayRepeat(traits: ChannelTraits, elapsedMs: number): boolean {
  if (!traits.idempotent) return false;
  const { idempotencyWindowMs = Infinity, callLimitMs } = traits;
  return elapsedMs + callLimitMs < idempotencyWindowMs;
}

type Handed = Extract<
  DeliveryEvent,
  { type: 'sent' | 'refused' | 'failed' | 'unclear' | 'interrupted' }
>;

function afterHandover(
  course: DeliveryCourse,
  event: Handed,
  { now, traits }: Circumstances,
): DeliveryCourse {
  const { sendingAt, ...rest } = course;
  const idle = { ...rest, sendingAt: null };
  switch (event.type) {
    case 'sent':
      return toSent(idle, now, event.messageId);
    case 'failed':
      // What is refused for good now may have been shown before.
      if (course.unclearSince !== null) return toUnknown(idle, event.reason);
      return { ...idle, state: 'failed', reason: event.reason };
    case 'refused':
      return tryLater(idle, event.reason, now);
    case 'unclear':
    case 'interrupted': {
      const unclear = { ...idle, unclearSince: course.unclearSince ?? sendingAt ?? now };
      const reason = event.type === 'unclear' ? event.reason : INTERRUPTED;
      if (!traits.idempotent && !traits.canReadBack) return toUnknown(unclear, reason);
      const later = tryLater(unclear, reason, now);
      // Its gateway is gone; nothing has been learned that waiting would help.
      return event.type === 'interrupted' ? { ...later, nextAttemptAt: now } : later;
    }
  }
}

const INTERRUPTED = 'the gateway was gone while it was handed over';

type Queued = Exclude<DeliveryEvent, Handed | { type: 'retry' | 'drop' }>;

function whileQueued(
  course: DeliveryCourse,
  event: Queued,
  at: Circumstances,
): DeliveryCourse | undefined {
  const { now } = at;
  const step = deliveryStep(course, at);
  const isUnclear = course.unclearSince !== null;
  switch (event.type) {
    case 'begin': {
      if (step !== 'hand_over') return undefined;
      const { attempts, handovers } = course;
      const next = { attempts: attempts + 1, handovers: handovers + 1, sendingAt: now };
      return { ...course, ...next, state: 'sending' };
    }
    case 'found':
      return isUnclear ? toSent(course, now, undefined) : undefined;
    case 'not_found':
      return isUnclear ? { ...course, unclearSince: null, nextAttemptAt: now } : undefined;
    case 'not_told':
      return isUnclear ? toUnknown(course, 'the chat cannot say whether it is there') : undefined;
    case 'look_failed':
      if (!isUnclear) return undefined;
      return tryLater({ ...course, attempts: course.attempts + 1 }, event.reason, now);
    case 'give_up':
      return step === 'give_up' ? toUnknown(course, course.reason ?? INTERRUPTED) : undefined;
    case 'hold':
      if (isUnclear) return undefined;
      return { ...course, state: 'failed', reason: event.reason };
  }
}

function atTheDesk(
  course: DeliveryCourse,
  { type }: { type: 'retry' | 'drop' },
  now: number,
): DeliveryCourse | undefined {
  const { state } = course;
  const isStuck = state === 'failed' || state === 'unknown';
  if (!isStuck && state !== 'queued') return undefined;
  if (type === 'drop') return { ...course, state: 'dropped' };
  // What is only waiting is brought forward, and stays as careful as it was.
  if (state === 'queued') return { ...course, nextAttemptAt: now };
  const fresh = { attempts: 0, unclearSince: null, nextAttemptAt: now, reason: null };
  return { ...course, ...fresh, state: 'queued' };
}

function toSent(course: DeliveryCourse, now: number, messageId?: string): DeliveryCourse {
  const told = { reason: null, sentAt: now, messageId: messageId ?? null, unclearSince: null };
  return { ...course, ...told, state: 'sent' };
}

function toUnknown(course: DeliveryCourse, reason: string): DeliveryCourse {
  return { ...course, state: 'unknown', reason: `${reason}; it may be in the chat` };
}

function tryLater(course: DeliveryCourse, reason: string, now: number): DeliveryCourse {
  const delayMs = ATTEMPT_DELAYS_MS[course.attempts - 1];
  if (delayMs !== undefined) {
    return { ...course, state: 'queued', reason, nextAttemptAt: now + delayMs };
  }
  const over = `${reason}; given up after ${MAX_ATTEMPTS} attempts`;
  if (course.unclearSince !== null) return toUnknown(course, over);
  return { ...course, state: 'failed', reason: over };
}

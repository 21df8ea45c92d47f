/** Handing the outbox to its channels, chat by chat and part by part (A19). */
import {
  type DeliveryCourse,
  type DeliveryEvent,
  deliveryStep,
  type DeliveryStep,
  nextDelivery,
} from '../../core/delivery-state.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { DeliveryRow } from '../../store/delivery-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import { must } from '../../util/assert.ts';
import { backoffMs } from '../../util/backoff.ts';
import type { RunContext } from '../context.ts';
import { callLimitOf } from './channel-calls.ts';
import { forgetPurged } from './forget-purged.ts';
import { type DeliveryContext, handOver, lookAt, traitsOf } from './hand-over.ts';
import { followRoute, holdRestOfText } from './route.ts';

/** Before a look at a chat that somebody else is handing a part to. */
const LOOK_AGAIN_MS = 1000;
/** More than a call of its limit takes: whoever began it is not at it any more. */
const OVERDUE_MS = 30_000;
/** Half a minute in all; after that it counts as interrupted. */
const MAX_BOOKINGS = 5;

/**
 * Handles the job of one chat: hands over its oldest open part, and has the job done again while there
 * are more. `sending` is committed before the call, and the outcome after it.
 */
export async function deliver(context: DeliveryContext, routeKey: string): Promise<void> {
  const { channelCalls } = context;
  const isMine = channelCalls.take(routeKey);
  try {
    const due = await begin(context, { routeKey, isMine });
    if (due === undefined) return;
    const { row, step } = due;
    if (step === 'hand_over') await settle(context, { row, event: await handOver(context, row) });
    else if (step === 'read_back')
      await settle(context, { row, event: await lookAt(context, row) });
    else logEnd(context, row);
  } finally {
    if (isMine) channelCalls.leave(routeKey);
  }
}

interface Due {
  row: DeliveryRow;
  step: DeliveryStep;
}

function begin(
  context: DeliveryContext,
  { routeKey, isMine }: { routeKey: string; isMine: boolean },
): Promise<Due | undefined> {
  return context.store.write('delivery-sending', async (tx) => {
    const head = await tx.deliveries.headOfRoute(routeKey);
    if (head === undefined || !isMine || (await isUnderWay(tx, context, head))) {
      await followRoute(tx, routeKey, head === undefined ? undefined : tx.now + LOOK_AGAIN_MS);
      return undefined;
    }
    const at = { now: tx.now, traits: traitsOf(context.channels.get(head.channel)) };
    let row = head;
    const move = (type: 'interrupted' | 'begin' | 'give_up'): void => {
      const next = must(nextDelivery(row, { type }, at), `delivery ${row.deliveryId}: no ${type}`);
      row = { ...row, ...next };
    };
    if (row.state === 'sending') move('interrupted');
    const step = deliveryStep(row, at);
    if (step === 'hand_over') move('begin');
    if (step === 'give_up') move('give_up');
    const sender = row.state === 'sending' ? context.bootId : null;
    const { now } = tx;
    if (row !== head) await tx.deliveries.update(row.deliveryId, changesOf(row, { sender, now }));
    if (step === 'wait' || row.state !== 'sending') await followRoute(tx, routeKey);
    if (row.state === 'unknown') tx.signal({ type: 'delivery', deliveryId: row.deliveryId });
    return step === 'wait' ? undefined : { row, step };
  });
}

/** True while another gateway that is alive hands the part over. */
async function isUnderWay(
  tx: WriteTx,
  context: DeliveryContext,
  { state, sender, sendingAt, channel }: DeliveryRow,
): Promise<boolean> {
  if (state !== 'sending' || sender === null || sender === context.bootId) return false;
  const limitMs = callLimitOf(context.channels.get(channel)) + OVERDUE_MS;
  if (tx.now > (sendingAt ?? 0) + limitMs) return false;
  return tx.deliveries.senderLives(sender);
}

interface Handled {
  row: DeliveryRow;
  event: DeliveryEvent;
}

/** Books it, again and again while the store refuses: what is known of a chat is not to be forgotten. */
async function settle(context: DeliveryContext, handled: Handled): Promise<void> {
  for (let failures = 0; ; failures += 1) {
    try {
      return logEnd(context, await book(context, handled));
    } catch (error) {
      const isPassing = error instanceof GatewayError && error.code === 'unavailable';
      if (!isPassing || failures >= MAX_BOOKINGS) throw error;
      await context.channelCalls.pause(backoffMs(failures));
    }
  }
}

/** Books what became of it, unless somebody else has settled it meanwhile. */
function book(context: DeliveryContext, { row, event }: Handled): Promise<DeliveryRow> {
  const { deliveryId, routeKey, state, handovers } = row;
  return context.store.write('delivery-booked', async (tx) => {
    const before = await tx.deliveries.get(deliveryId);
    const at = { now: tx.now, traits: traitsOf(context.channels.get(row.channel)) };
    const isSame = before?.state === state && before.handovers === handovers;
    const next = isSame ? nextDelivery(before, event, at) : undefined;
    if (next !== undefined) {
      await tx.deliveries.update(deliveryId, changesOf(next, { sender: null, now: tx.now }));
      await forgetPurged(tx, { ...row, state: next.state });
      if (next.state === 'failed') await holdRestOfText(tx, row, at.traits);
      if (next.state !== 'queued') tx.signal({ type: 'delivery', deliveryId });
    }
    await followRoute(tx, routeKey);
    return { ...row, ...next };
  });
}

/** What is for the desk now is in the log. */
function logEnd({ logger }: RunContext, { deliveryId, state, reason }: DeliveryRow): void {
  if (state === 'failed' || state === 'unknown')
    logger.warn({ deliveryId, reason }, `delivery ${state}`);
}

/** Returns the columns that a step in the life of a part moves; `sender` hands it over now. */
export function changesOf(
  { state, attempts, handovers, sendingAt, unclearSince, ...rest }: DeliveryCourse,
  { sender, now }: { sender: string | null; now: number },
) {
  const { nextAttemptAt, reason, messageId, sentAt } = rest;
  const course = { state, attempts, handovers, sendingAt, unclearSince };
  return { ...course, nextAttemptAt, reason, messageId, sentAt, sender, updatedAt: now };
}

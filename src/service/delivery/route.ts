/**
 * The order of a chat (A19). Its open parts are handed over one after another by one job, which is
 * there as long as there is an open part. A part that failed holds the rest of its own text, so that
 * no text arrives with a hole; the next text goes on. What is unknown holds nothing: it is most
 * likely there.
 */
import { type ChannelTraits, nextDelivery } from '../../core/delivery-state.ts';
import type { DeliveryRow } from '../../store/delivery-repository.ts';
import type { ReadTx, WriteTx } from '../../store/store.ts';

/** Adds or moves the job that hands over the oldest open part of a chat. */
export async function addRouteJob(tx: WriteTx, routeKey: string, runAt: number): Promise<void> {
  const payloadJson = JSON.stringify({ routeKey });
  await tx.jobs.add({ jobKey: jobKeyOf(routeKey), kind: 'deliver', payloadJson, runAt });
  tx.signal({ type: 'job' });
}

/** Has the job of a chat done when its oldest open part is due, not before `notBefore`; ends it when none is open. */
export async function followRoute(tx: WriteTx, routeKey: string, notBefore = 0): Promise<void> {
  const head = await tx.deliveries.headOfRoute(routeKey);
  if (head === undefined) return tx.jobs.remove(jobKeyOf(routeKey));
  await addRouteJob(tx, routeKey, Math.max(tx.now, notBefore, head.nextAttemptAt));
}

function jobKeyOf(routeKey: string): string {
  return `deliver:${routeKey}`;
}

/** Sets the parts behind a failed one aside, so that its text does not arrive with a hole. */
export async function holdRestOfText(
  tx: WriteTx,
  { textKey, part }: DeliveryRow,
  traits: ChannelTraits,
): Promise<void> {
  const reason = heldBy(part);
  for (const later of await tx.deliveries.ofText(textKey)) {
    if (later.part <= part) continue;
    const held = nextDelivery(later, { type: 'hold', reason }, { now: tx.now, traits });
    if (held === undefined) continue;
    const { state } = held;
    await tx.deliveries.update(later.deliveryId, { state, reason, updatedAt: tx.now });
  }
}

/** Returns the parts that a failed one keeps back, in order. */
export async function heldBehind(
  tx: ReadTx,
  { textKey, part }: DeliveryRow,
): Promise<DeliveryRow[]> {
  const parts = await tx.deliveries.ofText(textKey);
  return parts.filter((row) => row.state === 'failed' && row.reason === heldBy(part));
}

/** Returns the part that keeps a failed one back, undefined = it failed by itself, or that part is not stuck any more. */
export async function holderOf(
  tx: ReadTx,
  { textKey, reason }: DeliveryRow,
): Promise<DeliveryRow | undefined> {
  const parts = await tx.deliveries.ofText(textKey);
  return parts.find((row) => row.state === 'failed' && reason === heldBy(row.part));
}

function heldBy(part: number): string {
  return `not sent: part ${part + 1} of the same text failed`;
}

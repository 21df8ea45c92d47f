/** Handing one part of the outbox to its channel (A19). */
import type { SendOutcome } from '../../channels/channel.ts';
import type { DeliveryRow } from '../../store/rows.ts';
import { must } from '../../util/assert.ts';
import type { RunContext } from '../context.ts';
import { mustHoldLease } from '../runs/lease.ts';

/** Delays before the second and each further attempt, in milliseconds; then `failed`, kept on the desk. */
const RETRY_DELAYS_MS = [1000, 5000, 30_000, 120_000, 600_000, 3_600_000];

/**
 * Handles the job `deliver`. `sending` is committed before the call: after a crash in between the part
 * is sent again when the channel is idempotent, else it is `unknown` and never sent twice on its own.
 */
export async function deliver(context: RunContext, deliveryId: string): Promise<void> {
  const row = await begin(context, deliveryId);
  if (row === undefined) return;
  const outcome = await send(context, row);
  await book(context, { row, outcome });
}

function begin(context: RunContext, deliveryId: string): Promise<DeliveryRow | undefined> {
  return context.store.write('delivery-sending', async (tx) => {
    const row = await tx.deliveries.get(deliveryId);
    const isInterrupted = row?.state === 'sending';
    if (row === undefined || !(isInterrupted || row.state === 'queued')) {
      await tx.jobs.remove(`deliver:${deliveryId}`);
      return undefined;
    }
    if (isInterrupted && context.channels.get(row.channel)?.idempotent !== true) {
      const reason = 'the gateway died while it was being sent; not sent again on its own';
      await tx.deliveries.update(deliveryId, { state: 'unknown', reason, updatedAt: tx.now });
      await tx.jobs.remove(`deliver:${deliveryId}`);
      return undefined;
    }
    const attempts = row.attempts + 1;
    await tx.deliveries.update(deliveryId, { state: 'sending', attempts, updatedAt: tx.now });
    return { ...row, attempts };
  });
}

async function send(context: RunContext, row: DeliveryRow): Promise<SendOutcome> {
  const channel = context.channels.get(row.channel);
  if (channel === undefined) {
    return { status: 'failed', reason: `no channel ${row.channel} is set up here` };
  }
  mustHoldLease(context.store);
  return channel.send({
    idempotencyKey: row.idempotencyKey,
    sessionKey: row.sessionKey,
    runId: row.runId,
    to: row.routeTo,
    accountId: row.accountId,
    threadId: row.threadId,
    text: row.text,
  });
}

function book(
  context: RunContext,
  { row, outcome }: { row: DeliveryRow; outcome: SendOutcome },
): Promise<void> {
  const { deliveryId } = row;
  return context.store.write('delivery-booked', async (tx) => {
    const jobKey = `deliver:${deliveryId}`;
    const delayMs = RETRY_DELAYS_MS[row.attempts - 1];
    if (outcome.status === 'retry' && delayMs !== undefined) {
      await tx.deliveries.update(deliveryId, {
        state: 'queued',
        reason: outcome.reason,
        updatedAt: tx.now,
      });
      await tx.jobs.retry(jobKey, { error: outcome.reason, runAt: tx.now + delayMs });
      return;
    }
    const reason = outcome.status === 'sent' ? null : outcome.reason;
    const state = outcome.status === 'sent' ? 'sent' : 'failed';
    await tx.deliveries.update(deliveryId, { state, reason, updatedAt: tx.now });
    await tx.jobs.remove(jobKey);
    if (state === 'sent') tx.signal({ type: 'delivery', deliveryId });
    if (state === 'failed')
      context.logger.warn({ deliveryId, reason: must(reason, 'reason') }, 'delivery failed');
  });
}

/** The desk: what an operator does about texts that are stuck on their way to a chat (A19). Each change is audited. */
import type { DeskAnswer } from '../../protocol/answers/delivery-answers.ts';
import { type OperatorCaller, operatorName } from '../../core/caller.ts';
import { nextDelivery } from '../../core/delivery-state.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { DeliveryState } from '../../protocol/words.ts';
import type { DeliveryRow } from '../../store/delivery-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import { audit } from '../audit.ts';
import type { RunContext } from '../context.ts';
import { changesOf } from './deliver.ts';
import { forgetPurged } from './forget-purged.ts';
import { traitsOf } from './hand-over.ts';
import { mayBeShown } from './list-deliveries.ts';
import { followRoute, heldBehind, holderOf } from './route.ts';
import { briefly } from '../../util/briefly.ts';

/** Queues a failed or unknown part again with fresh attempts, or has a waiting one tried now. */
export function retryDelivery(
  context: RunContext,
  { caller, deliveryId }: { caller: OperatorCaller; deliveryId: string },
): Promise<DeskAnswer> {
  return context.store.write('retry-delivery', async (tx) => {
    const changed = await change(tx, context, { caller, deliveryId, type: 'retry' });
    // An idempotent channel drops what it has shown, within its window; it is no promise of ours.
    const mayShowTwice = changed.from === 'unknown';
    return mayShowTwice ? { ...changed, mayShowTwice, note: MAY_SHOW_TWICE } : changed;
  });
}

/** Gives up a part that is stuck or waits, for good. The row stays, as `dropped`. */
export function dropDelivery(
  context: RunContext,
  { caller, deliveryId }: { caller: OperatorCaller; deliveryId: string },
): Promise<DeskAnswer> {
  return context.store.write('drop-delivery', (tx) =>
    change(tx, context, { caller, deliveryId, type: 'drop' }),
  );
}

const MAY_SHOW_TWICE =
  'nobody knows whether the chat had it: it is handed over once more, and may be shown twice';

interface Asked {
  caller: OperatorCaller;
  deliveryId: string;
  type: 'retry' | 'drop';
}

async function change(tx: WriteTx, context: RunContext, asked: Asked): Promise<DeskAnswer> {
  const { deliveryId } = asked;
  const row = await tx.deliveries.get(deliveryId);
  if (row === undefined) {
    throw new GatewayError('not_found', `there is no delivery ${briefly(deliveryId)}`);
  }
  if (asked.type === 'retry') await refuseHeld(tx, row);
  const held = row.state === 'failed' ? await heldBehind(tx, row) : [];
  const state = await move(tx, context, { ...asked, row });
  for (const each of held) await move(tx, context, { ...asked, row: each });
  await followRoute(tx, row.routeKey);
  const deliveryIds = [row, ...held].map((each) => each.deliveryId);
  return { deliveryId, from: row.state, state, deliveryIds };
}

/** A part that is held back goes out after the one that it waits for, or its text would have a hole. */
async function refuseHeld(tx: WriteTx, row: DeliveryRow): Promise<void> {
  const before = row.state === 'failed' ? await holderOf(tx, row) : undefined;
  if (before === undefined) return;
  const { deliveryId } = before;
  throw new GatewayError(
    'invalid_request',
    `delivery ${row.deliveryId} waits for part ${before.part + 1} of the same text, which failed: retry or drop ${deliveryId}, and this one goes with it`,
  );
}

async function move(
  tx: WriteTx,
  context: RunContext,
  { caller, type, row }: Asked & { row: DeliveryRow },
): Promise<DeliveryState> {
  const { deliveryId, sessionKey, routeKey } = row;
  const traits = traitsOf(context.channels.get(row.channel));
  const next = nextDelivery(row, { type }, { now: tx.now, traits });
  if (next === undefined) throw refusal(row, type);
  await tx.deliveries.update(deliveryId, changesOf(next, { sender: null, now: tx.now }));
  await forgetPurged(tx, { ...row, state: next.state });
  await audit(tx, {
    actor: operatorName(caller),
    action: `deliveries.${type}`,
    subjectKind: 'delivery',
    subjectId: deliveryId,
    sessionKey: sessionKey === '' ? null : sessionKey,
    detail: { from: row.state, to: next.state, routeKey, mayBeShown: mayBeShown(row) },
  });
  if (next.state === 'dropped') tx.signal({ type: 'delivery', deliveryId });
  return next.state;
}

function refusal({ deliveryId, state }: DeliveryRow, type: 'retry' | 'drop'): GatewayError {
  const hint =
    state === 'sending'
      ? 'it is being handed over; look again in a moment'
      : 'only what is failed, unknown or queued can be';
  return new GatewayError(
    'invalid_request',
    `delivery ${deliveryId} is ${state} and cannot be ${type === 'retry' ? 'tried again' : 'dropped'}: ${hint}`,
  );
}

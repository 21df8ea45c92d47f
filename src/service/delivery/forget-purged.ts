import type { DeliveryRow } from '../../store/delivery-repository.ts';
import type { WindowRow } from '../../store/session-repository.ts';
import type { WriteTx } from '../../store/store.ts';

type Part = Pick<DeliveryRow, 'deliveryId' | 'sessionKey' | 'createdAt' | 'state'>;

/**
 * Takes the text out of a part that has come to its end after its transcript was purged: what waits for
 * the desk outlives the purge, and nothing would take it later. The row stays.
 */
export async function forgetPurged(tx: WriteTx, part: Part): Promise<void> {
  const { deliveryId, sessionKey, createdAt, state } = part;
  if (!hasEnded(state) || sessionKey === '') return;
  const upToThen = { startedAt: createdAt + 1, sessionId: '' };
  const [window] = await tx.windows.ofKey({ sessionKey, cursor: upToThen, limit: 1 });
  if (window !== undefined && holds(window, createdAt)) return;
  await tx.deliveries.update(deliveryId, { text: '' });
}

function hasEnded(state: Part['state']): boolean {
  return state === 'sent' || state === 'suppressed' || state === 'dropped';
}

/** A deleted session may still get texts; they go with the last of its transcripts. */
function holds({ endedAt, deletedAt }: WindowRow, at: number): boolean {
  return endedAt === null || at <= endedAt || deletedAt !== null;
}

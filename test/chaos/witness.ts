/** A witness beside the store: which parts of the outbox a gateway had in hand when it came to its end. */
import type { Store } from '../../src/store/store.ts';
import { writeLedger } from './ledger.ts';
import { replacing } from './replacing.ts';

/** Returns the store; each hand-over is in the ledger before it is committed, and again when its outcome is. */
export function witnessHandOvers(store: Store, ledger: string): Store {
  const { pid } = process;
  return replacing(store, {
    write: async (unit, fn) => {
      if (unit === 'delivery-sending') {
        return store.write(unit, async (tx) => {
          const row = await fn(tx);
          const { deliveryId } = (row ?? {}) as { deliveryId?: string };
          if (deliveryId !== undefined) writeLedger(ledger, { type: 'sending', pid, deliveryId });
          return row;
        });
      }
      if (unit !== 'delivery-booked') return store.write(unit, fn);
      let booked = '';
      const value = await store.write(unit, (tx) => {
        const update: typeof tx.deliveries.update = (deliveryId, patch) => {
          booked = deliveryId;
          return tx.deliveries.update(deliveryId, patch);
        };
        return fn(replacing(tx, { deliveries: replacing(tx.deliveries, { update }) }));
      });
      writeLedger(ledger, { type: 'booked', pid, deliveryId: booked });
      return value;
    },
  });
}

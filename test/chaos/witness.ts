/** A witness beside the store: which parts of the outbox a gateway had in hand when it came to its end. */
import type { Store, WriteTx } from '../../src/store/store.ts';
import { writeLedger } from './ledger.ts';
import { replacing } from './replacing.ts';

/** Returns the store; each hand-over is in the ledger before it is committed, and again when its outcome is. */
export function witnessHandOvers(store: Store, ledger: string): Store {
  const { pid } = process;
  const tell = (type: 'sending' | 'booked', ids: Iterable<string>): void => {
    for (const deliveryId of ids) writeLedger(ledger, { type, pid, deliveryId });
  };
  return replacing(store, {
    write: async (unit, fn) => {
      const type = LEDGER_TYPES[unit];
      if (type === undefined) return store.write(unit, fn);
      const changed = new Set<string>();
      const value = await store.write(unit, async (tx) => {
        const update: WriteTx['deliveries']['update'] = (deliveryId, patch) => {
          if (type === 'booked' || patch.state === 'sending') changed.add(deliveryId);
          return tx.deliveries.update(deliveryId, patch);
        };
        const deliveries = replacing(tx.deliveries, { update });
        const answer = await fn(replacing(tx, { deliveries }));
        // the process may not live to see the commit
        if (type === 'sending') tell(type, changed);
        return answer;
      });
      if (type === 'booked') tell(type, changed);
      return value;
    },
  });
}

const LEDGER_TYPES: Readonly<Record<string, 'sending' | 'booked'>> = {
  'delivery-sending': 'sending',
  'delivery-booked': 'booked',
};

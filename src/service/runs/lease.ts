import { GatewayError } from '../../protocol/errors.ts';
import type { Store } from '../../store/store.ts';

/**
 * Asked before each effect outside of the store: throws `fenced` when other gateways may go on with
 * this gateway's runs by now. What is written to the store is fenced by the store itself.
 */
export function mustHoldLease(store: Store): void {
  if (store.shared === undefined || store.shared.holdsLease()) return;
  throw new GatewayError(
    'fenced',
    'this gateway has lost touch with the database for too long; another one goes on with its work',
  );
}

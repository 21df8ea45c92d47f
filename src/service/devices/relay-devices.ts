/** Tells this gateway what another one decided about devices: a revoked one has no socket anywhere. */
import type { StoreSignal } from '../../store/store.ts';
import type { ServiceContext } from '../context.ts';
import { MAX_DEVICES } from './admit-device.ts';
import { toPairingView } from './device-rows.ts';

type Context = Pick<ServiceContext, 'store' | 'events' | 'logger'>;

/** Starts to relay; returns the way to stop. Does nothing where there is one gateway. */
export function relayDevices(context: Context): () => void {
  const { store, logger } = context;
  if (store.shared === undefined) return () => {};
  const safely = (work: Promise<void>): void =>
    void work.catch((err: unknown) => logger.warn({ err }, 'devices could not be looked at'));
  const stopRemote = store.shared.onRemoteSignal((signal) => safely(relay(context, signal)));
  const stopOwn = store.onSignal(({ type }) => {
    // a revocation may have been missed; the rows say which sockets must not be there
    if (type === 'resync') safely(closeRevoked(context));
  });
  return () => {
    stopRemote();
    stopOwn();
  };
}

async function relay({ store, events }: Context, signal: StoreSignal): Promise<void> {
  if (signal.type === 'device') {
    const row = await store.read((tx) => tx.devices.get(signal.deviceId));
    if (row?.revokedAt !== null) events.emit({ type: 'device_revoked', deviceId: signal.deviceId });
  }
  if (signal.type !== 'pairing') return;
  const { pairingId: requestId, deviceId, decision } = signal;
  if (deviceId !== undefined && decision !== undefined)
    return events.emit({ type: 'pairing_resolved', requestId, deviceId, decision });
  const row = await store.read((tx) => tx.pairings.get(requestId));
  if (row !== undefined) events.emit({ type: 'pairing_requested', pairing: toPairingView(row) });
}

async function closeRevoked({ store, events }: Context): Promise<void> {
  const page = { cursor: undefined, limit: MAX_DEVICES };
  for (const { id, revokedAt } of await store.read((tx) => tx.devices.page(page)))
    if (revokedAt !== null) events.emit({ type: 'device_revoked', deviceId: id });
}

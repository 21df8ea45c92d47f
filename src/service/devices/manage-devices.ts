/** The devices that were let in: list, revoke, give a new token. */
import { type OperatorCaller, operatorName } from '../../core/caller.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { DeviceRow } from '../../store/device-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import { audit } from '../audit.ts';
import type { ServiceContext } from '../context.ts';
import type { DeviceView } from '../../protocol/answers/device-answers.ts';
import { MAX_DEVICES } from './admit-device.ts';
import { refuseBeyondCaller } from './decide-pairings.ts';
import { newDeviceToken, scopesOf, toDeviceView } from './device-rows.ts';
import { briefly } from '../../util/briefly.ts';

type Context = Pick<ServiceContext, 'store' | 'events'>;

/** Returns every device, approved last first; there is a bound of how many are kept. */
export async function listDevices({ store }: Context): Promise<DeviceView[]> {
  const rows = await store.read((tx) => tx.devices.page({ cursor: undefined, limit: MAX_DEVICES }));
  return rows.map(toDeviceView);
}

/**
 * Revokes a device: its token is worth nothing from the commit on, its sockets are closed before this
 * resolves, and only a person lets it in again. Again it changes nothing.
 */
export async function revokeDevice(
  { store, events }: Context,
  caller: OperatorCaller,
  deviceId: string,
): Promise<DeviceView> {
  const device = await store.write('revoke-device', async (tx) => {
    const row = await knownDevice(tx, deviceId);
    if (row.revokedAt !== null) return row;
    const revoked = { revokedAt: tx.now, tokenHash: null, tokenUsedAt: null };
    await tx.devices.update(row.id, revoked);
    await note(tx, { caller, action: 'device.revoke', deviceId: row.id });
    tx.signal({ type: 'device', deviceId: row.id });
    return { ...row, ...revoked };
  });
  events.emit({ type: 'device_revoked', deviceId: device.id });
  return toDeviceView(device);
}

/** Gives a device a new token in place of its old one; open sockets, which proved the key, stay. */
export async function rotateDeviceToken(
  { store }: Context,
  caller: OperatorCaller,
  deviceId: string,
): Promise<DeviceView & { deviceToken: string }> {
  const { token, tokenHash } = newDeviceToken();
  const device = await store.write('rotate-device-token', async (tx) => {
    const row = await knownDevice(tx, deviceId);
    if (row.revokedAt !== null)
      throw new GatewayError(
        'invalid_request',
        `device ${row.id} is revoked; it has to be approved again`,
      );
    refuseBeyondCaller(caller, scopesOf(row));
    // counts as shown: a connection with the shared secret does not replace it
    const rotated = { tokenHash, tokenUsedAt: tx.now };
    await tx.devices.update(row.id, rotated);
    await note(tx, { caller, action: 'device.token.rotate', deviceId: row.id });
    return { ...row, ...rotated };
  });
  return { ...toDeviceView(device), deviceToken: token };
}

async function knownDevice(tx: WriteTx, deviceId: string): Promise<DeviceRow> {
  const row = await tx.devices.get(deviceId.toLowerCase());
  if (row !== undefined) return row;
  throw new GatewayError('not_found', `no device ${briefly(deviceId)}; see device.list`);
}

function note(
  tx: WriteTx,
  { caller, action, deviceId }: { caller: OperatorCaller; action: string; deviceId: string },
): Promise<void> {
  const actor = operatorName(caller);
  return audit(tx, { actor, action, subjectKind: 'device', subjectId: deviceId });
}

/** Whether a device that has proved its key is let in, and with which scopes (B10.2). */
import { randomUUID, timingSafeEqual } from 'node:crypto';
import { GatewayError } from '../../protocol/errors.ts';
import { grantScopes } from '../../protocol/scopes.ts';
import type { OperatorScope } from '../../protocol/scopes.ts';
import type { DeviceRow, PairingRow } from '../../store/device-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import { audit } from '../audit.ts';
import type { ServiceContext } from '../context.ts';
import type { AdmitDevice, DeviceAdmission } from './device-views.ts';
import { newDeviceToken, scopesOf, tokenHashOf, toPairingView } from './device-rows.ts';

/** Devices that are kept, revoked ones among them. */
export const MAX_DEVICES = 1000;
/** Requests that may be open at one time. */
export const MAX_PAIRINGS = 100;
/** ms that a request stays open after it was made last */
const PAIRING_LIFE_MS = 3_600_000;

interface Drawn {
  token: string;
  tokenHash: string;
  pairingId: string;
}

/**
 * Decides in one step, so that a revocation comes before or after it and never in between. A new device
 * is approved by itself only with the shared secret on this machine; a revoked one never is.
 */
export async function admitDevice(
  context: Pick<ServiceContext, 'store' | 'events'>,
  request: AdmitDevice,
): Promise<DeviceAdmission> {
  const drawn: Drawn = { ...newDeviceToken(), pairingId: randomUUID() };
  const { admission, asked } = await context.store.write('admit-device', async (tx) => {
    const row = await tx.devices.get(request.device.id);
    if (request.grant.type === 'token')
      return { admission: await admitByToken(tx, { request, row }), asked: undefined };
    if (row?.revokedAt === null)
      return { admission: await admitBySecret(tx, { request, row, drawn }), asked: undefined };
    if (row === undefined && request.isLocal)
      return { admission: await approveItself(tx, { request, drawn }), asked: undefined };
    return askForApproval(tx, { request, drawn, wasRevoked: row !== undefined });
  });
  if (asked !== undefined)
    context.events.emit({ type: 'pairing_requested', pairing: toPairingView(asked) });
  return admission;
}

async function admitByToken(
  tx: WriteTx,
  { request, row }: { request: AdmitDevice; row: DeviceRow | undefined },
): Promise<DeviceAdmission> {
  const { grant, device, asked } = request;
  if (grant.type !== 'token' || row === undefined || !holdsToken(row, grant.token))
    return { type: 'wrong_token' };
  await tx.devices.update(device.id, { tokenUsedAt: tx.now, lastSeenAt: tx.now });
  return { type: 'admitted', scopes: grantScopes({ asked, held: scopesOf(row) }) };
}

function holdsToken({ tokenHash, revokedAt }: DeviceRow, token: string): boolean {
  if (tokenHash === null || revokedAt !== null) return false;
  const [held, shown] = [Buffer.from(tokenHash), Buffer.from(tokenHashOf(token))];
  return held.length === shown.length && timingSafeEqual(held, shown);
}

async function admitBySecret(
  tx: WriteTx,
  { request, row, drawn }: { request: AdmitDevice; row: DeviceRow; drawn: Drawn },
): Promise<DeviceAdmission> {
  const approved = widened(request, row);
  // a token that nobody has shown may have been lost on its way, so it is given anew
  const token = row.tokenUsedAt === null ? drawn : undefined;
  await tx.devices.update(row.id, {
    lastSeenAt: tx.now,
    scopesJson: JSON.stringify(approved),
    ...(token === undefined ? {} : { tokenHash: token.tokenHash }),
  });
  return {
    type: 'admitted',
    scopes: grantScopes({ asked: request.asked, held: within(approved, heldOf(request)) }),
    ...(token === undefined ? {} : { deviceToken: token.token }),
  };
}

/** What was approved by itself grows by itself where that is done; what a person has narrowed stays so. */
function widened(request: AdmitDevice, row: DeviceRow): OperatorScope[] {
  const approved = scopesOf(row);
  if (row.approvedBy !== 'loopback' || !request.isLocal) return approved;
  const asked = grantScopes({ asked: request.asked, held: heldOf(request) });
  return grantScopes({ asked: undefined, held: [...approved, ...asked] });
}

async function approveItself(
  tx: WriteTx,
  { request, drawn }: { request: AdmitDevice; drawn: Drawn },
): Promise<DeviceAdmission> {
  await makeRoom(tx);
  const scopes = grantScopes({ asked: request.asked, held: heldOf(request) });
  const { id, publicKey, name, platform } = request.device;
  const open = await tx.pairings.ofDevice(id);
  if (open !== undefined) await tx.pairings.remove(open.id);
  await tx.devices.insert({
    id,
    publicKey,
    name,
    platform,
    scopesJson: JSON.stringify(scopes),
    approvedBy: 'loopback',
    approvedAt: tx.now,
    tokenHash: drawn.tokenHash,
    tokenUsedAt: null,
    lastSeenAt: tx.now,
    revokedAt: null,
  });
  await audit(tx, {
    actor: 'gateway',
    action: 'device.pair.approve',
    subjectKind: 'device',
    subjectId: id,
    detail: { by: 'loopback', scopes: scopes.join(' ') },
  });
  return { type: 'admitted', scopes, deviceToken: drawn.token };
}

/** The id of a request names exactly what it asks for: with other scopes it is another request. */
async function askForApproval(
  tx: WriteTx,
  { request, drawn, wasRevoked }: { request: AdmitDevice; drawn: Drawn; wasRevoked: boolean },
): Promise<{ admission: DeviceAdmission; asked: PairingRow | undefined }> {
  const { device, address } = request;
  const scopes = grantScopes({ asked: request.asked, held: heldOf(request) });
  const scopesJson = JSON.stringify(scopes);
  const expiresAt = tx.now + PAIRING_LIFE_MS;
  await tx.pairings.removeExpired(tx.now);
  const open = await tx.pairings.ofDevice(device.id);
  const why = wasRevoked ? 'revoked' : 'not_paired';
  if (open !== undefined && open.scopesJson === scopesJson) {
    await tx.pairings.update(open.id, { expiresAt, address });
    const { id: pairingId } = open;
    return { admission: { type: 'pairing_required', pairingId, why }, asked: undefined };
  }
  if (open !== undefined) await tx.pairings.remove(open.id);
  else if ((await tx.pairings.open(tx.now, MAX_PAIRINGS)).length >= MAX_PAIRINGS)
    throw new GatewayError(
      'unavailable',
      `${MAX_PAIRINGS} devices wait for approval already; approve or reject one first`,
      { details: { code: 'TOO_MANY_PAIRINGS' } },
    );
  const row: PairingRow = {
    id: drawn.pairingId,
    deviceId: device.id,
    publicKey: device.publicKey,
    name: device.name,
    platform: device.platform,
    address,
    scopesJson,
    createdAt: tx.now,
    expiresAt,
  };
  await tx.pairings.insert(row);
  tx.signal({ type: 'pairing', pairingId: row.id });
  return { admission: { type: 'pairing_required', pairingId: row.id, why }, asked: row };
}

/** Lets a new device in where there is room: the one revoked longest ago gives way. */
export async function makeRoom(tx: WriteTx): Promise<void> {
  if ((await tx.devices.count(MAX_DEVICES)) < MAX_DEVICES) return;
  const revoked = await tx.devices.oldestRevoked();
  if (revoked === undefined)
    throw new GatewayError(
      'unavailable',
      `${MAX_DEVICES} devices are approved already; revoke one that is no longer used`,
      { details: { code: 'TOO_MANY_DEVICES' } },
    );
  await tx.devices.remove(revoked.id);
}

function heldOf({ grant }: AdmitDevice): readonly OperatorScope[] {
  return grant.type === 'secret' ? grant.scopes : [];
}

function within(scopes: readonly OperatorScope[], held: readonly OperatorScope[]): OperatorScope[] {
  return grantScopes({ asked: scopes, held });
}

/** What an operator decides about devices that ask to be let in. */
import { type OperatorCaller, operatorName } from '../../core/caller.ts';
import { GatewayError } from '../../protocol/errors.ts';
import { expandScopes } from '../../protocol/scopes.ts';
import type { OperatorScope } from '../../protocol/scopes.ts';
import type { PairingRow } from '../../store/device-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import { audit } from '../audit.ts';
import type { ServiceContext } from '../context.ts';
import type { DeviceView, PairingView } from '../../protocol/answers/device-answers.ts';
import { makeRoom, MAX_PAIRINGS } from './admit-device.ts';
import { scopesOf, toDeviceView, toPairingView } from './device-rows.ts';
import { briefly } from '../../util/briefly.ts';

type Context = Pick<ServiceContext, 'store' | 'events' | 'clock'>;

/** Returns the open requests, those that end first first. */
export async function listPairings({ store, clock }: Context): Promise<PairingView[]> {
  const rows = await store.read((tx) => tx.pairings.open(clock.now(), MAX_PAIRINGS));
  return rows.map(toPairingView);
}

/**
 * Approves a request for the scopes it asks for, or for some of them. Nobody approves more than they
 * may do themselves. Rejects `not_found` for a request that is not open.
 */
export async function approvePairing(
  context: Context,
  caller: OperatorCaller,
  { requestId, scopes }: { requestId: string; scopes?: readonly string[] },
): Promise<DeviceView> {
  const device = await context.store.write('approve-pairing', async (tx) => {
    const pairing = await openPairing(tx, requestId);
    const approved = approvedScopes(pairing, scopes);
    refuseBeyondCaller(caller, approved);
    const { deviceId: id, publicKey, name, platform } = pairing;
    const known = await tx.devices.get(id);
    if (known === undefined) await makeRoom(tx);
    else await tx.devices.remove(id);
    const row = {
      id,
      publicKey,
      name,
      platform,
      scopesJson: JSON.stringify(approved),
      approvedBy: operatorName(caller),
      approvedAt: tx.now,
      tokenHash: null,
      tokenUsedAt: null,
      lastSeenAt: known?.lastSeenAt ?? null,
      revokedAt: null,
    };
    await tx.devices.insert(row);
    await resolve(tx, { pairing, caller, decision: 'approved', scopes: approved });
    return row;
  });
  tellResolved(context, { requestId, deviceId: device.id, decision: 'approved' });
  return toDeviceView(device);
}

/** Rejects a request; the device may ask again. Rejects `not_found` for a request that is not open. */
export async function rejectPairing(
  context: Context,
  caller: OperatorCaller,
  requestId: string,
): Promise<PairingView> {
  const pairing = await context.store.write('reject-pairing', async (tx) => {
    const found = await openPairing(tx, requestId);
    await resolve(tx, { pairing: found, caller, decision: 'rejected', scopes: [] });
    return found;
  });
  tellResolved(context, { requestId, deviceId: pairing.deviceId, decision: 'rejected' });
  return toPairingView(pairing);
}

/** Throws `forbidden` when a scope is not the caller's own. */
export function refuseBeyondCaller(caller: OperatorCaller, scopes: readonly OperatorScope[]): void {
  const beyond = scopes.filter((scope) => !caller.scopes.includes(scope));
  if (beyond.length === 0) return;
  throw new GatewayError(
    'forbidden',
    `this connection does not have ${beyond.join(', ')}, so it cannot give it to a device; approve fewer scopes`,
    { details: { code: 'MISSING_SCOPE', missingScope: beyond[0], requiredScopes: beyond } },
  );
}

async function openPairing(tx: WriteTx, requestId: string): Promise<PairingRow> {
  const pairing = await tx.pairings.get(requestId);
  if (pairing !== undefined && pairing.expiresAt > tx.now) return pairing;
  throw new GatewayError(
    'not_found',
    `no open request ${briefly(requestId)}; see device.pair.list`,
  );
}

function approvedScopes(
  pairing: PairingRow,
  chosen: readonly string[] | undefined,
): OperatorScope[] {
  const asked = scopesOf(pairing);
  if (chosen === undefined) return asked;
  const beyond = expandScopes(chosen).filter((scope) => !asked.includes(scope));
  if (beyond.length === 0) return expandScopes(chosen);
  throw new GatewayError(
    'invalid_request',
    `the device has not asked for ${beyond.join(', ')}; it asks for ${asked.join(', ') || 'nothing'}`,
  );
}

async function resolve(
  tx: WriteTx,
  decided: {
    pairing: PairingRow;
    caller: OperatorCaller;
    decision: 'approved' | 'rejected';
    scopes: readonly OperatorScope[];
  },
): Promise<void> {
  const { pairing, caller, decision, scopes } = decided;
  await tx.pairings.remove(pairing.id);
  await audit(tx, {
    actor: operatorName(caller),
    action: decision === 'approved' ? 'device.pair.approve' : 'device.pair.reject',
    subjectKind: 'device',
    subjectId: pairing.deviceId,
    detail: { requestId: pairing.id, scopes: scopes.join(' ') },
  });
  tx.signal({ type: 'pairing', pairingId: pairing.id, deviceId: pairing.deviceId, decision });
}

function tellResolved(
  { events }: Context,
  resolved: { requestId: string; deviceId: string; decision: 'approved' | 'rejected' },
): void {
  events.emit({ type: 'pairing_resolved', ...resolved });
}

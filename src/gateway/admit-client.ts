/** Who a client is and what it may do: by the shared secret, or by a device that was approved (B10.2). */
import { findDeviceFault } from '../core/device-proof.ts';
import type { DeviceFault } from '../core/device-proof.ts';
import { GatewayError } from '../protocol/errors.ts';
import type { ConnectParams } from '../protocol/frames.ts';
import { grantScopes } from '../protocol/scopes.ts';
import type { OperatorScope } from '../protocol/scopes.ts';
import type { AdmitDevice, DeviceAdmission } from '../service/devices/device-views.ts';
import type { Services } from '../service/services.ts';
import type { Clock } from '../util/clock.ts';
import { isLocalAddress } from './auth-limiter.ts';
import type { AuthPeer } from './auth-limiter.ts';
import type { SharedSecret } from './authenticate.ts';

export interface AdmitDeps {
  secret: SharedSecret;
  services: Pick<Services, 'admitDevice'>;
  clock: Clock;
}
/** What a client was let in as. */
export interface Admitted {
  scopes: OperatorScope[];
  deviceId?: string;
  /** the shared secret that was shown; absent = the token of its device */
  generation?: number;
  /** to be told to the client, once */
  deviceToken?: string;
}

type ConnectDevice = NonNullable<ConnectParams['device']>;

/** Resolves with what the client was let in as, or rejects `unauthorized` with a `details.code` of its own. */
export async function admitClient(
  params: ConnectParams,
  { deps, peer, nonce }: { deps: AdmitDeps; peer: AuthPeer; nonce: string },
): Promise<Admitted> {
  const { device, scopes: asked } = params;
  if (device === undefined) {
    const { generation } = deps.secret;
    const held = heldWithoutDevice(deps.secret, params);
    return { scopes: grantScopes({ asked, held }), generation };
  }
  proveDevice({ ...params, device }, { nonce, now: deps.clock.now() });
  const shown = shownBeside(deps.secret, params);
  const admission = await deps.services.admitDevice({
    device: describe(device, params),
    address: peer.address,
    isLocal: isLocalAddress(peer),
    asked,
    grant: shown.grant,
  });
  return {
    ...toAdmitted(admission, shown.refusal),
    deviceId: device.id.toLowerCase(),
    ...shown.by,
  };
}

function heldWithoutDevice(secret: SharedSecret, { auth = {} }: ConnectParams) {
  const { deviceToken, ...shared } = auth;
  if (deviceToken !== undefined && shared.token === undefined && shared.password === undefined)
    throw refused(
      'DEVICE_IDENTITY_REQUIRED',
      'a device token is worth nothing without the proof of its device; send connect.device',
      'send_device_identity',
    );
  return secret.check(shared);
}

function proveDevice(
  params: ConnectParams & { device: ConnectDevice },
  challenge: { nonce: string; now: number },
): void {
  const { device, client, scopes = [], auth = {}, role = 'operator' } = params;
  const token = auth.token ?? auth.deviceToken ?? '';
  const fault = findDeviceFault({ device, client, role, scopes, token }, challenge);
  if (fault !== undefined)
    throw refused(`DEVICE_AUTH_${fault}`, FAULTS[fault].message, FAULTS[fault].nextStep);
}

interface Shown {
  grant: AdmitDevice['grant'];
  by: Pick<Admitted, 'generation'>;
  /** what to say when the grant is a token that is wrong */
  refusal: () => unknown;
}

/** The shared secret counts first; without it, what was shown has to be the token of the device. */
function shownBeside(secret: SharedSecret, { auth = {} }: ConnectParams): Shown {
  const { deviceToken, ...shared } = auth;
  const { generation } = secret;
  try {
    const scopes = secret.check(shared);
    return { grant: { type: 'secret', scopes }, by: { generation }, refusal: wrongDeviceToken };
  } catch (error) {
    const token = deviceToken ?? shared.token;
    if (token === undefined || token === '') throw error;
    const refusal = deviceToken === undefined ? () => error : wrongDeviceToken;
    return { grant: { type: 'token', token }, by: {}, refusal };
  }
}

function describe({ id, publicKey }: ConnectDevice, { client }: ConnectParams) {
  const name = (client.displayName?.trim() || client.id).slice(0, 100);
  return { id: id.toLowerCase(), publicKey, name, platform: client.platform.slice(0, 100) };
}

function toAdmitted(admission: DeviceAdmission, refusal: () => unknown): Admitted {
  switch (admission.type) {
    case 'admitted': {
      const { scopes, deviceToken } = admission;
      return { scopes, ...(deviceToken === undefined ? {} : { deviceToken }) };
    }
    case 'pairing_required':
      throw pairingRequired(admission);
    case 'wrong_token':
      throw refusal();
  }
}

const FAULTS: Readonly<Record<DeviceFault, { message: string; nextStep: string }>> = {
  PUBLIC_KEY_INVALID: {
    message: 'device.publicKey must be the 32 bytes of an Ed25519 key as base64url',
    nextStep: 'review_device_identity',
  },
  DEVICE_ID_MISMATCH: {
    message: 'device.id must be the sha256 of the public key as hex',
    nextStep: 'review_device_identity',
  },
  NONCE_REQUIRED: {
    message: 'device.nonce must be the nonce of connect.challenge',
    nextStep: 'sign_challenge_nonce',
  },
  NONCE_MISMATCH: {
    message: 'device.nonce is not the nonce that this connection was given in connect.challenge',
    nextStep: 'sign_challenge_nonce',
  },
  SIGNATURE_EXPIRED: {
    message: 'device.signedAt is more than two minutes off; take the time of connect.challenge',
    nextStep: 'sign_challenge_time',
  },
  SIGNATURE_INVALID: {
    message: 'device.signature does not fit to this connect and its public key',
    nextStep: 'review_device_identity',
  },
};

function wrongDeviceToken(): GatewayError {
  return refused(
    'AUTH_DEVICE_TOKEN_MISMATCH',
    'the device token is wrong, was replaced, or its device was revoked',
    'drop_device_token',
  );
}

function pairingRequired({
  pairingId,
  why,
}: Extract<DeviceAdmission, { type: 'pairing_required' }>): GatewayError {
  const message = `this device ${why === 'revoked' ? 'was revoked and' : 'is new and'} has to be approved: trunkline devices approve ${pairingId}`;
  const details = { code: 'PAIRING_REQUIRED', requestId: pairingId, reason: why };
  return new GatewayError('unauthorized', message, {
    details: { ...details, recommendedNextStep: 'wait_then_retry' },
  });
}

function refused(code: string, message: string, recommendedNextStep: string): GatewayError {
  return new GatewayError('unauthorized', message, { details: { code, recommendedNextStep } });
}

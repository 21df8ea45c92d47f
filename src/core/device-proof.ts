/** The proof of a device: an Ed25519 signature over what it connects with and the nonce it was given (B10.2). */
import { createHash, createPublicKey, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

/** What a client says of its device, as it came. */
export interface DeviceClaim {
  id: string;
  /** the 32 bytes of an Ed25519 key, base64url */
  publicKey: string;
  /** base64url */
  signature: string;
  /** epoch ms */
  signedAt: number;
  nonce?: string | undefined;
}

/** What the signature binds the device to. */
export interface SignedConnect {
  device: DeviceClaim;
  client: { id: string; mode: string; platform: string; deviceFamily?: string | undefined };
  role: string;
  scopes: readonly string[];
  /** the token that is shown in `auth`, empty without one */
  token: string;
}

export type DeviceFault =
  | 'PUBLIC_KEY_INVALID'
  | 'DEVICE_ID_MISMATCH'
  | 'NONCE_REQUIRED'
  | 'NONCE_MISMATCH'
  | 'SIGNATURE_EXPIRED'
  | 'SIGNATURE_INVALID';

/** ms that `signedAt` may be off, either way */
export const SIGNATURE_LIFE_MS = 120_000;
const KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;

/** Returns what is wrong with the proof, or undefined when the device holds the key that its id names. */
export function findDeviceFault(
  signed: SignedConnect,
  challenge: { nonce: string; now: number },
): DeviceFault | undefined {
  const { device } = signed;
  const key = readKey(device.publicKey);
  if (key === undefined) return 'PUBLIC_KEY_INVALID';
  if (fingerprintOf(device.publicKey) !== device.id.toLowerCase()) return 'DEVICE_ID_MISMATCH';
  const nonce = device.nonce?.trim() ?? '';
  if (nonce === '') return 'NONCE_REQUIRED';
  if (nonce !== challenge.nonce) return 'NONCE_MISMATCH';
  if (Math.abs(challenge.now - device.signedAt) > SIGNATURE_LIFE_MS) return 'SIGNATURE_EXPIRED';
  const signature = Buffer.from(device.signature, 'base64url');
  if (signature.length !== SIGNATURE_BYTES || isAmbiguous(signed)) return 'SIGNATURE_INVALID';
  const fits = [payloadV3(signed), payloadV2(signed)].some((payload) =>
    verify(null, Buffer.from(payload), key, signature),
  );
  return fits ? undefined : 'SIGNATURE_INVALID';
}

/** Returns the id of a key: sha256 of its bytes, hex. */
export function fingerprintOf(publicKey: string): string {
  return createHash('sha256').update(Buffer.from(publicKey, 'base64url')).digest('hex');
}

/** The older payload: it leaves out where the client runs. */
export function payloadV2({ device, client, role, scopes, token }: SignedConnect): string {
  const { id, signedAt, nonce = '' } = device;
  const parts = [id, client.id, client.mode, role, scopes.join(','), signedAt, token, nonce.trim()];
  return ['v2', ...parts].join('|');
}

/** The payload of today: with platform and device family. */
export function payloadV3(signed: SignedConnect): string {
  const { platform, deviceFamily = '' } = signed.client;
  const rest = payloadV2(signed).slice('v2'.length);
  return `v3${rest}|${folded(platform)}|${folded(deviceFamily)}`;
}

/** Only the letters of ASCII: what both sides fold in the same way. */
function folded(text: string): string {
  return text.trim().replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** A separator in a part would let two different connects have one payload. */
function isAmbiguous({ client, scopes }: SignedConnect): boolean {
  const { id, platform, deviceFamily = '' } = client;
  return [id, platform, deviceFamily, ...scopes].some((part) => part.includes('|'));
}

function readKey(publicKey: string): KeyObject | undefined {
  const bytes = Buffer.from(publicKey, 'base64url');
  if (bytes.length !== KEY_BYTES) return undefined;
  try {
    const x = bytes.toString('base64url');
    return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  } catch {
    return undefined;
  }
}

import assert from 'node:assert/strict';
import { generateKeyPairSync, sign } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  findDeviceFault,
  fingerprintOf,
  payloadV2,
  payloadV3,
  SIGNATURE_LIFE_MS,
} from './device-proof.ts';
import type { SignedConnect } from './device-proof.ts';

const { publicKey: key, privateKey } = generateKeyPairSync('ed25519');
const publicKey = String(key.export({ format: 'jwk' }).x);
const NOW = 1_700_000_000_000;
const challenge = { nonce: 'the-nonce', now: NOW };

const base: SignedConnect = {
  device: {
    id: fingerprintOf(publicKey),
    publicKey,
    signature: '',
    signedAt: NOW,
    nonce: challenge.nonce,
  },
  client: { id: 'app', mode: 'ui', platform: 'macOS ', deviceFamily: 'MacBook' },
  role: 'operator',
  scopes: ['operator.read', 'operator.write'],
  token: 'secret',
};

function signed(connect: SignedConnect, payload: (of: SignedConnect) => string = payloadV3) {
  const signature = sign(null, Buffer.from(payload(connect)), privateKey).toString('base64url');
  return { ...connect, device: { ...connect.device, signature } };
}

test('[DV1] a proof of either form fits to the connect that it was made for', () => {
  assert.equal(payloadV3(base).split('|').slice(-2).join('|'), 'macos|macbook');
  assert.equal(findDeviceFault(signed(base), challenge), undefined);
  assert.equal(findDeviceFault(signed(base, payloadV2), challenge), undefined);
  const empty = { ...base, token: '', scopes: [] };
  assert.equal(findDeviceFault(signed(empty), challenge), undefined);
});

const { device, client } = base;
const bound: Record<string, Partial<SignedConnect>> = {
  'another client': { client: { ...client, id: 'other' } },
  'another mode': { client: { ...client, mode: 'cli' } },
  'another role': { role: 'node' },
  'more scopes': { scopes: ['operator.admin'] },
  'another token': { token: 'other' },
  'another time': { device: { ...device, signedAt: NOW + 1 } },
};
for (const [title, change] of Object.entries(bound))
  test(`[DV1] a proof does not fit to ${title}`, () => {
    for (const payload of [payloadV2, payloadV3]) {
      const { signature } = signed(base, payload).device;
      const changed = { ...base, ...change };
      const claim = { ...changed, device: { ...changed.device, signature } };
      assert.equal(findDeviceFault(claim, challenge), 'SIGNATURE_INVALID');
    }
  });

test('[DV1] only the newer form binds where the client runs', () => {
  const elsewhere = { ...client, platform: 'windows' };
  const { signature } = signed(base).device;
  const moved = { ...base, client: elsewhere, device: { ...device, signature } };
  assert.equal(findDeviceFault(moved, challenge), 'SIGNATURE_INVALID');
  const { signature: older } = signed(base, payloadV2).device;
  const movedOlder = { ...base, client: elsewhere, device: { ...device, signature: older } };
  assert.equal(findDeviceFault(movedOlder, challenge), undefined);
});

const other = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }).x;
const faults: { title: string; change: Partial<SignedConnect['device']>; fault: string }[] = [
  { title: 'no key', change: { publicKey: '' }, fault: 'PUBLIC_KEY_INVALID' },
  { title: 'a short key', change: { publicKey: 'AAAA' }, fault: 'PUBLIC_KEY_INVALID' },
  { title: 'a long key', change: { publicKey: `${publicKey}AA` }, fault: 'PUBLIC_KEY_INVALID' },
  {
    title: 'the key of another',
    change: { publicKey: String(other) },
    fault: 'DEVICE_ID_MISMATCH',
  },
  { title: 'another id', change: { id: 'ab'.repeat(32) }, fault: 'DEVICE_ID_MISMATCH' },
  { title: 'a blank nonce', change: { nonce: ' ' }, fault: 'NONCE_REQUIRED' },
  { title: 'no nonce', change: { nonce: undefined }, fault: 'NONCE_REQUIRED' },
  { title: 'the nonce of another socket', change: { nonce: 'x' }, fault: 'NONCE_MISMATCH' },
  {
    title: 'an old signature',
    change: { signedAt: NOW - SIGNATURE_LIFE_MS - 1 },
    fault: 'SIGNATURE_EXPIRED',
  },
  {
    title: 'a signature of the future',
    change: { signedAt: NOW + SIGNATURE_LIFE_MS + 1 },
    fault: 'SIGNATURE_EXPIRED',
  },
];
for (const { title, change, fault } of faults)
  test(`[DV1] ${title} is ${fault}`, () => {
    const claim = signed({ ...base, device: { ...device, ...change } });
    assert.equal(findDeviceFault(claim, challenge), fault);
  });

test('[DV1] a separator in a part is no way to another payload', () => {
  const split = signed({ ...base, client: { ...client, id: 'app|ui' } });
  assert.equal(findDeviceFault(split, challenge), 'SIGNATURE_INVALID');
  const scoped = signed({ ...base, scopes: ['operator.read|1'] });
  assert.equal(findDeviceFault(scoped, challenge), 'SIGNATURE_INVALID');
});

test('[DV1] whatever is shown as key, id or signature, the answer is a fault and nothing throws', () => {
  const text = fc.string({ unit: 'binary', maxLength: 120 });
  fc.assert(
    fc.property(text, text, text, fc.integer(), (id, shownKey, signature, signedAt) => {
      const claim = { id, publicKey: shownKey, signature, signedAt, nonce: challenge.nonce };
      assert.notEqual(findDeviceFault({ ...base, device: claim }, challenge), undefined);
      const own = { ...device, signature, signedAt: NOW };
      assert.equal(findDeviceFault({ ...base, device: own }, challenge), 'SIGNATURE_INVALID');
    }),
    { numRuns: 300 },
  );
});

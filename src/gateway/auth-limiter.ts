import { GatewayError } from '../protocol/errors.ts';
import type { Clock } from '../util/clock.ts';
import type { GatewayLimits } from './limits.ts';
import { isLoopbackAddress } from './origin-policy.ts';

/** Who is trying: programs on this machine are never locked out, pages are (BR-068). */
export interface AuthPeer {
  address: string;
  origin?: string | undefined;
}
export interface AuthLimiter {
  /** Throws `unavailable` (`AUTH_RATE_LIMITED`) while the peer is locked out. */
  check(peer: AuthPeer): void;
  fail(peer: AuthPeer): void;
}

const MAX_PEERS = 10_000;

interface Failures {
  count: number;
  since: number;
  lockedUntil: number;
}

/** Returns a limiter of wrong credentials that remembers a bounded number of peers. */
export function createAuthLimiter(
  limits: Pick<GatewayLimits, 'authFailures' | 'authWindowMs' | 'authLockoutMs'>,
  clock: Clock,
): AuthLimiter {
  const peers = new Map<string, Failures>();
  return {
    check: (peer) => {
      const leftMs = (peers.get(keyOf(peer))?.lockedUntil ?? 0) - clock.now();
      if (leftMs > 0) throw locked(leftMs);
    },
    fail: (peer) => {
      if (peer.origin === undefined && isLoopbackAddress(peer.address)) return;
      const now = clock.now();
      const key = keyOf(peer);
      const known = peers.get(key);
      const failures =
        known === undefined || now - known.since > limits.authWindowMs
          ? { count: 0, since: now, lockedUntil: 0 }
          : known;
      failures.count += 1;
      if (failures.count >= limits.authFailures) failures.lockedUntil = now + limits.authLockoutMs;
      peers.delete(key);
      peers.set(key, failures);
      const oldest = peers.keys().next().value;
      if (peers.size > MAX_PEERS && oldest !== undefined) peers.delete(oldest);
    },
  };
}

function keyOf({ address, origin }: AuthPeer): string {
  return `${address} ${origin ?? ''}`;
}

function locked(leftMs: number): GatewayError {
  const seconds = Math.ceil(leftMs / 1000);
  return new GatewayError('unavailable', `too many wrong credentials; try again in ${seconds} s`, {
    details: {
      code: 'AUTH_RATE_LIMITED',
      retryAfterMs: leftMs,
      recommendedNextStep: 'wait_then_retry',
    },
  });
}

import type { IncomingMessage } from 'node:http';
import { GatewayError } from '../protocol/errors.ts';
import type { Clock } from '../util/clock.ts';
import { isLoopbackAddress } from './origin-policy.ts';

/** Who is trying. */
export interface AuthPeer {
  address: string;
  origin?: string | undefined;
  /** a proxy speaks for somebody else, wherever the proxy itself is */
  isForwarded?: boolean | undefined;
}
/** `gateway.auth.rateLimit`: wrong credentials of one address. */
export interface AuthRateLimit {
  maxAttempts: number;
  windowMs: number;
  lockoutMs: number;
  /** programs on this machine are never locked out, pages are (BR-068) */
  exemptLoopback: boolean;
}
export interface AuthLimiter {
  /** Throws `unavailable` (`AUTH_RATE_LIMITED`) while the peer is locked out. */
  check(peer: AuthPeer): void;
  fail(peer: AuthPeer): void;
}

const MAX_PEERS = 10_000;
const FORWARDING_HEADERS = ['forwarded', 'x-forwarded-for', 'x-real-ip'];

interface Failures {
  count: number;
  since: number;
  lockedUntil: number;
}

/** Returns who a request comes from. */
export function peerOf(request: IncomingMessage): AuthPeer {
  return {
    address: request.socket.remoteAddress ?? '',
    origin: request.headers.origin,
    isForwarded: FORWARDING_HEADERS.some((name) => request.headers[name] !== undefined),
  };
}

/** Returns whether it is this machine that speaks, and for itself. */
export function isLocalAddress({ address, isForwarded }: AuthPeer): boolean {
  return isForwarded !== true && isLoopbackAddress(address);
}

/** Returns a limiter of wrong credentials that remembers a bounded number of peers; the limits may change. */
export function createAuthLimiter(limits: () => AuthRateLimit, clock: Clock): AuthLimiter {
  const peers = new Map<string, Failures>();
  return {
    check: (peer) => {
      const leftMs = (peers.get(keyOf(peer))?.lockedUntil ?? 0) - clock.now();
      if (leftMs > 0) throw locked(leftMs);
    },
    fail: (peer) => {
      const { maxAttempts, windowMs, lockoutMs, exemptLoopback } = limits();
      if (exemptLoopback && peer.origin === undefined && isLocalAddress(peer)) return;
      const now = clock.now();
      const key = keyOf(peer);
      const known = peers.get(key);
      const failures =
        known === undefined || now - known.since > windowMs
          ? { count: 0, since: now, lockedUntil: 0 }
          : known;
      failures.count += 1;
      if (failures.count >= maxAttempts) failures.lockedUntil = now + lockoutMs;
      peers.delete(key);
      peers.set(key, failures);
      const oldest = peers.keys().next().value;
      if (peers.size > MAX_PEERS && oldest !== undefined) peers.delete(oldest);
    },
  };
}

/** What comes through a proxy on this machine must not lock out the machine's own programs. */
function keyOf({ address, origin, isForwarded }: AuthPeer): string {
  return `${address} ${isForwarded === true ? 'proxied' : ''} ${origin ?? ''}`;
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

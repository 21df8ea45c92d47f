import { MAX_JSON_DEPTH } from '../protocol/json-depth.ts';
import type { AuthRateLimit } from './auth-limiter.ts';

/** Bounds of the door. Nothing a client does may grow without one. */
export interface GatewayLimits {
  /** one frame of a connected client, bytes */
  maxPayloadBytes: number;
  /** everything a client may send before it is connected, bytes */
  preAuthBytes: number;
  /** what may wait for one slow reader before it is cut off, bytes */
  maxBufferedBytes: number;
  /** nesting of a frame or body */
  maxJsonDepth: number;
  /** body of an HTTP call, bytes */
  httpBodyBytes: number;
  maxConnections: number;
  /** HTTP requests with credentials that are not answered yet */
  maxHttpRequests: number;
  /** unanswered requests of one connection */
  maxInFlight: number;
  /** sessions whose messages one connection follows */
  maxFeeds: number;
  handshakeTimeoutMs: number;
  tickIntervalMs: number;
  /** between two tellings of who is connected */
  presenceIntervalMs: number;
}

export const DEFAULT_LIMITS: GatewayLimits = {
  maxPayloadBytes: 25 * 1024 * 1024,
  preAuthBytes: 64 * 1024,
  maxBufferedBytes: 50 * 1024 * 1024,
  maxJsonDepth: MAX_JSON_DEPTH,
  httpBodyBytes: 2 * 1024 * 1024,
  maxConnections: 1000,
  maxHttpRequests: 1000,
  maxInFlight: 1000,
  maxFeeds: 100,
  handshakeTimeoutMs: 15_000,
  tickIntervalMs: 15_000,
  presenceIntervalMs: 2000,
};

/** Wrong credentials of one address (`gateway.auth.rateLimit`). */
export const DEFAULT_RATE_LIMIT: AuthRateLimit = {
  maxAttempts: 10,
  windowMs: 60_000,
  lockoutMs: 300_000,
  exemptLoopback: true,
};

import { GatewayError } from '../protocol/errors.ts';
import { EVENT_NAMES } from '../protocol/events.ts';
import type { ConnectParams, HelloOk, RequestFrame } from '../protocol/frames.ts';
import { METHOD_NAMES, parseConnectParams } from '../protocol/methods.ts';
import type { PresenceEntry, StateVersion } from '../protocol/presence.ts';
import { PROTOCOL_MAX, PROTOCOL_MIN, negotiateProtocol } from '../protocol/versions.ts';
import type { ProtocolVersion } from '../protocol/versions.ts';
import { briefly } from '../util/briefly.ts';
import { admitClient } from './admit-client.ts';
import type { AdmitDeps, Admitted } from './admit-client.ts';
import type { AuthLimiter, AuthPeer } from './auth-limiter.ts';
import type { GatewayLimits } from './limits.ts';

/** WebSocket close codes the gateway uses. */
export const CLOSE = {
  normal: 1000,
  protocolMismatch: 1002,
  notText: 1003,
  invalidFrame: 1007,
  refused: 1008,
  tooLarge: 1009,
  restart: 1012,
} as const;

/** What a connected client is. */
export interface ClientSession extends Admitted {
  protocol: ProtocolVersion;
  caps: ReadonlySet<string>;
  client: ConnectParams['client'];
}
/** Who is connected, as far as the client may know. */
export interface PresenceSnapshot {
  entries: PresenceEntry[];
  stateVersion: StateVersion;
}
export interface HandshakeDeps extends AdmitDeps {
  limiter: AuthLimiter;
}
export type HandshakeResult =
  | { ok: true; session: ClientSession }
  | { ok: false; error: unknown; closeCode: number };

/**
 * Judges the first frame of a connection. Order: it is `connect`, its parameters are well-formed, a
 * version is common, the device has proved its key, the credential is right, the device is approved;
 * nothing else is looked at before (BR-180). `onDevice` hears which device it says it is before anything is awaited.
 */
export async function judgeConnect(
  frame: RequestFrame,
  asked: {
    deps: HandshakeDeps;
    peer: AuthPeer;
    nonce: string;
    onDevice: (deviceId: string) => void;
  },
): Promise<HandshakeResult> {
  const { deps, peer, onDevice } = asked;
  try {
    if (frame.method !== 'connect') throw notConnected(frame.method);
    const params = parseConnectParams(frame.params ?? {});
    const protocol = negotiateProtocol(params);
    if (protocol === undefined)
      return { ok: false, error: noCommonVersion(params), closeCode: CLOSE.protocolMismatch };
    deps.limiter.check(peer);
    if (params.device !== undefined) onDevice(params.device.id.toLowerCase());
    const admitted = await admitClient(params, asked);
    const { client } = params;
    const caps = new Set(params.caps);
    return { ok: true, session: { ...admitted, protocol, caps, client } };
  } catch (error) {
    if (isWrongCredential(error)) deps.limiter.fail(peer);
    return { ok: false, error, closeCode: CLOSE.refused };
  }
}

/** Who waits for approval has shown the right credential. */
function isWrongCredential(error: unknown): boolean {
  if (!(error instanceof GatewayError) || error.code !== 'unauthorized') return false;
  const code = error.details?.['code'];
  return code !== 'PAIRING_REQUIRED' && code !== 'NOT_CONNECTED';
}

/** Returns the payload that answers `connect`. */
export function toHello(
  session: ClientSession,
  about: {
    connId: string;
    version: string;
    isReady: boolean;
    now: number;
    startedAt: number;
    limits: GatewayLimits;
    presence: PresenceSnapshot;
  },
): HelloOk {
  const { limits, now, presence } = about;
  return {
    type: 'hello-ok',
    protocol: session.protocol,
    server: { version: about.version, connId: about.connId },
    features: { methods: [...METHOD_NAMES], events: [...EVENT_NAMES] },
    snapshot: {
      presence: presence.entries,
      health: { ok: about.isReady, ts: now },
      stateVersion: presence.stateVersion,
      uptimeMs: now - about.startedAt,
    },
    auth: {
      role: 'operator',
      scopes: session.scopes,
      ...(session.deviceToken === undefined ? {} : { deviceToken: session.deviceToken }),
    },
    policy: {
      maxPayload: limits.maxPayloadBytes,
      maxBufferedBytes: limits.maxBufferedBytes,
      tickIntervalMs: limits.tickIntervalMs,
    },
  };
}

function notConnected(method: string): GatewayError {
  return new GatewayError('unauthorized', `${briefly(method)}: the first frame must be connect`, {
    details: { code: 'NOT_CONNECTED', recommendedNextStep: 'connect' },
  });
}

function noCommonVersion({ minProtocol, maxProtocol }: ConnectParams): GatewayError {
  return new GatewayError(
    'invalid_request',
    `no common protocol version: the client speaks ${minProtocol} to ${maxProtocol}, the gateway ${PROTOCOL_MIN} to ${PROTOCOL_MAX}`,
    {
      details: { code: 'PROTOCOL_MISMATCH', minProtocol: PROTOCOL_MIN, maxProtocol: PROTOCOL_MAX },
    },
  );
}

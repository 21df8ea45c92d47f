/**
 * The frames of the WebSocket protocol (SPEC B10.1, B10.2). One JSON object per text frame:
 * client → `req`; gateway → `res` (one per request, two for `agent`) and `event`.
 * The gateway speaks first (`connect.challenge`); the client's first frame is `connect`.
 */
import { z } from 'zod';
import type { EventName } from './events.ts';
import type { PresenceEntry, StateVersion } from './presence.ts';
import type { ProtocolVersion } from './versions.ts';

export const requestFrame = z.strictObject({
  type: z.literal('req'),
  id: z.string().min(1).max(256),
  method: z.string().min(1).max(128),
  params: z.record(z.string(), z.unknown()).exactOptional(),
});
export type RequestFrame = z.output<typeof requestFrame>;

export interface WireError {
  /** one of the wire codes of `ERROR_CODES` */
  code: string;
  message: string;
  /** `code` in it is always there and finer than the wire code */
  details?: Record<string, unknown>;
  retryable?: boolean;
  retryAfterMs?: number;
}
export type ResponseFrame =
  | { type: 'res'; id: string; ok: true; payload: unknown }
  | { type: 'res'; id: string; ok: false; error: WireError };
export interface EventFrame {
  type: 'event';
  event: EventName;
  payload?: unknown;
  /** counts the events of one connection, from 1, without gaps */
  seq: number;
  /** of `presence` */
  stateVersion?: StateVersion;
}
export type ServerFrame = ResponseFrame | EventFrame;

const CLIENT_MODES = [
  'ui',
  'webchat',
  'cli',
  'backend',
  'probe',
  'test',
  'node',
  'operator',
] as const;

/** Capabilities that change what a connection is sent; other names are taken and change nothing. */
export const CLIENT_CAPS = {
  /** tool calls of every run as `agent` events */
  toolEvents: 'tool-events',
  /** the text of every run as `agent` events too, beside `chat` */
  agentText: 'agent-text',
} as const;

const text = z.string().max(512);

export const connectParams = z.strictObject({
  minProtocol: z.int(),
  maxProtocol: z.int(),
  client: z.strictObject({
    id: text.min(1),
    version: text,
    platform: text,
    mode: z.enum(CLIENT_MODES),
    displayName: text.exactOptional(),
    instanceId: text.exactOptional(),
    // taken and without effect
    buildId: text.exactOptional(),
    timeZone: text.exactOptional(),
    deviceFamily: text.exactOptional(),
    modelIdentifier: text.exactOptional(),
  }),
  role: z.literal('operator').exactOptional(),
  scopes: z.array(text).max(64).exactOptional(),
  caps: z.array(text).max(64).exactOptional(),
  auth: z
    .strictObject({
      token: z.string().exactOptional(),
      password: z.string().exactOptional(),
      deviceToken: z.string().exactOptional(),
    })
    .exactOptional(),
  device: z
    .strictObject({
      id: text.min(1),
      publicKey: text,
      signature: text,
      signedAt: z.int(),
      nonce: text.exactOptional(),
    })
    .exactOptional(),
  locale: text.exactOptional(),
  userAgent: text.exactOptional(),
});
export type ConnectParams = z.output<typeof connectParams>;

/** The payload that answers `connect`. */
export interface HelloOk {
  type: 'hello-ok';
  protocol: ProtocolVersion;
  server: { version: string; connId: string };
  features: { methods: string[]; events: string[] };
  snapshot: {
    presence: PresenceEntry[];
    health: { ok: boolean; ts: number };
    stateVersion: StateVersion;
    uptimeMs: number;
  };
  auth: { role: 'operator'; scopes: string[]; deviceToken?: string };
  policy: { maxPayload: number; maxBufferedBytes: number; tickIntervalMs: number };
}

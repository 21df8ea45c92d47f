/** What the gateway sends unasked (SPEC B10.5). Events are live only; nobody may rely on one that a row does not also say. */
import type { Message } from './message.ts';
import type { PresenceEntry } from './presence.ts';
import type { RunOutcome } from './words.ts';

export const EVENT_NAMES = [
  'connect.challenge',
  'agent',
  'chat',
  'sessions.changed',
  'session.message',
  'presence',
  'tick',
  'shutdown',
  'device.pair.requested',
  'device.pair.resolved',
] as const;
export type EventName = (typeof EVENT_NAMES)[number];

/** A place in the transcripts of a session: after this message of this transcript. */
export interface MessagePosition {
  sessionId: string;
  /** grows within a transcript, and begins anew after a reset */
  seq: number;
}

/** Payloads of the events that are about the connection or a session, not about a run. `ts` is epoch ms. */
export interface PlainPayloads {
  'connect.challenge': { nonce: string; ts: number };
  /** who is connected; the frame has its `stateVersion` */
  presence: { presence: PresenceEntry[] };
  tick: { ts: number };
  shutdown: { reason: string };
  'sessions.changed': { sessionKey: string; ts: number };
  /** to who asked for it with `sessions.messages.subscribe`, once per message of the transcript, in order */
  'session.message': MessagePosition & {
    sessionKey: string;
    /** as stored; beyond 1 MiB with long texts cut and image data left out */
    message: Message;
    contentTruncated?: true;
    /** when it was committed */
    ts: number;
  };
  /** to connections with `operator.pairing` */
  'device.pair.requested': {
    requestId: string;
    deviceId: string;
    name: string;
    platform: string;
    address: string;
    scopes: string[];
    ts: number;
    expiresAt: number;
  };
  'device.pair.resolved': {
    requestId: string;
    deviceId: string;
    decision: 'approved' | 'rejected';
    ts: number;
  };
}

/** What each event tells. */
export interface EventPayloads extends PlainPayloads {
  agent: AgentPayload;
  chat: ChatPayload;
}

/** `seq` counts the events of one run and kind on one connection, from 1. */
interface OfRun {
  runId: string;
  sessionKey: string;
  seq: number;
}

export interface ChatMessage {
  role: 'assistant';
  content: { type: 'text'; text: string }[];
  timestamp: number;
}
export type ChatPayload = OfRun & {
  /** of a message that joined the turn of another run: that run, whose end this is */
  mergedInto?: string;
} & (
    | {
        state: 'delta';
        /** protocol 4: what to append; the whole text when `replace` is true, and in the first event */
        deltaText?: string;
        /** protocol 4: drop what was shown before */
        replace?: true;
        /** protocol 3: always, cumulative; protocol 4: only with `replace` */
        message?: ChatMessage;
      }
    | {
        state: 'final';
        /** absent = the run answered with silence */ message?: ChatMessage;
        deliveryId?: string;
      }
    | { state: 'error'; errorMessage: string; /** protocol 4 */ errorKind?: 'error' | 'timeout' }
    | { state: 'aborted'; message?: ChatMessage }
  );

export type AgentPayload = OfRun & { ts: number } & (
    | {
        stream: 'lifecycle';
        data:
          | { phase: 'start'; startedAt: number; attempt: number }
          | {
              phase: 'end' | 'error';
              outcome: RunOutcome;
              startedAt?: number;
              endedAt: number;
              error?: string;
              mergedInto?: string;
            };
      }
    | {
        stream: 'assistant';
        /** `text` is the whole text so far: protocol 3 always, protocol 4 after `replace` and at the end */
        data: { delta: string; text?: string; replace?: true; final?: true };
      }
    | {
        stream: 'tool';
        data: {
          phase: 'start' | 'end';
          name: string;
          toolCallId: string;
          args?: unknown;
          result?: unknown;
          isError?: boolean;
        };
      }
  );

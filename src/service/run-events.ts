/**
 * What happens while runs run, for whoever watches. Live only: nothing here is durable, and nobody
 * may rely on an event that a row does not also say.
 */
import type { AssistantMessage } from '../protocol/message.ts';
import type { RunOutcome } from '../protocol/words.ts';
import type { PairingView } from '../protocol/answers/device-answers.ts';

interface OfRun {
  runId: string;
  sessionKey: string;
}

export type RunEvent =
  | (OfRun & { type: 'started'; startedAt: number; attempt: number })
  /** `text` is cumulative; `replace` tells watchers to drop what an earlier attempt streamed */
  | (OfRun & { type: 'delta'; delta: string; text: string; replace: boolean })
  | (OfRun & {
      type: 'tool';
      phase: 'start' | 'end';
      toolCallId: string;
      name: string;
      args?: unknown;
      result?: unknown;
      isError?: boolean;
    })
  | (OfRun & {
      type: 'ended';
      state: RunOutcome;
      /** the final message as stored, absent when the run ended without one */
      message?: AssistantMessage;
      /** visible text after silence words are taken out */
      reply: string;
      error?: string;
      startedAt?: number;
      endedAt: number;
      /** true when the reply goes out as a delivery of its own, which then carries the final `chat` event */
      delivered: boolean;
      /** the run whose turn took the message in, and whose outcome this is */
      mergedInto?: string;
    })
  /** a webchat part whose row is committed: the offer of the outbox (A7) */
  | (OfRun & { type: 'chat_delivery'; deliveryId: string; text: string })
  /** the operator put it into the session as the agent's words; no run said it */
  | (OfRun & { type: 'chat_note'; text: string })
  | { type: 'session_changed'; sessionKey: string }
  /** to a transcript of this session; without a key: to those of any, look at the rows */
  | { type: 'messages_appended'; sessionKey?: string }
  /** a device asks to be let in */
  | { type: 'pairing_requested'; pairing: PairingView }
  | {
      type: 'pairing_resolved';
      requestId: string;
      deviceId: string;
      decision: 'approved' | 'rejected';
    }
  /** its sockets have to go */
  | { type: 'device_revoked'; deviceId: string };

export interface RunEvents {
  emit(event: RunEvent): void;
  subscribe(listener: (event: RunEvent) => void): () => void;
}

/** Returns an in-process event bus. A listener that throws is reported and does not stop the others. */
export function createRunEvents(report: (error: unknown) => void): RunEvents {
  const listeners = new Set<(event: RunEvent) => void>();
  return {
    emit: (event) => {
      for (const listener of listeners) {
        try {
          listener(event);
        } catch (error) {
          report(error);
        }
      }
    },
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

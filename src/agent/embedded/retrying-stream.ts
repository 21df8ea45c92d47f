import { setTimeout as delay } from 'node:timers/promises';
import type { StreamFn } from '@earendil-works/pi-agent-core';
import {
  createAssistantMessageEventStream,
  type AssistantMessage,
  type AssistantMessageEvent,
  type AssistantMessageEventStream,
} from '@earendil-works/pi-ai';

/** Pauses before the second and the third try: together 1.2 s, so a waiting sender learns of a failing model soon. */
const RETRY_DELAYS_MS: readonly number[] = [300, 900];
/** A provider that asks for a longer pause than this is not asked again in this attempt. */
const MAX_RETRY_AFTER_MS = 1_200;

/** What the HTTP side of one try was like. */
export interface Reply {
  /** absent when no response came at all */
  status?: number;
  retryAfterMs?: number;
}

export interface RetryOptions {
  onRetry(retry: {
    status: number | undefined;
    delayMs: number;
    /** what came of the failed try */
    message: AssistantMessage;
  }): void;
  /** text that a failed message carries in the end */
  describe(message: AssistantMessage, reply: Reply): string;
}

/**
 * Returns a stream function that asks again, twice at most, after a 429, a 5xx or a broken
 * connection, as long as nothing of the answer has been passed on. The context is never touched.
 */
export function withRetries(streamFn: StreamFn, options: RetryOptions): StreamFn {
  return (model, context, streamOptions) => {
    const outer = createAssistantMessageEventStream();
    const signal = streamOptions?.signal;
    const attempt = async (reply: Reply): Promise<AsyncIterable<AssistantMessageEvent>> =>
      streamFn(model, context, { ...streamOptions, fetch: recordingFetch(reply) });
    void forward(attempt, { outer, signal, ...options });
    return outer;
  };
}

type Attempt = (reply: Reply) => Promise<AsyncIterable<AssistantMessageEvent>>;

async function forward(
  attempt: Attempt,
  given: RetryOptions & { outer: AssistantMessageEventStream; signal: AbortSignal | undefined },
): Promise<void> {
  const { outer, signal } = given;
  let waitedMs = 0;
  for (let retry = 0; ; retry += 1) {
    const reply: Reply = {};
    const failed = await passOn(await attempt(reply), outer);
    if (failed === undefined) return;
    const delayMs = signal?.aborted ? undefined : retryDelay(failed, { reply, retry, waitedMs });
    if (delayMs !== undefined) {
      given.onRetry({ status: reply.status, delayMs, message: failed.message });
      await delay(delayMs, undefined, signal ? { signal } : {}).catch(() => {});
      waitedMs += delayMs;
      // Aborted while waiting: the next try ends at once and says so.
      continue;
    }
    if (failed.message.stopReason !== 'aborted') {
      failed.message.errorMessage = given.describe(failed.message, reply);
    }
    outer.push(failed.event);
    return;
  }
}

interface Failure {
  event: Extract<AssistantMessageEvent, { type: 'error' }>;
  message: AssistantMessage;
  /** part of the answer has been passed on */
  hasStarted: boolean;
}

/** Passes events on from the first piece of content; resolves with the failure that ended the stream, if one did. */
async function passOn(
  events: AsyncIterable<AssistantMessageEvent>,
  outer: AssistantMessageEventStream,
): Promise<Failure | undefined> {
  let start: AssistantMessageEvent | undefined;
  let hasStarted = false;
  for await (const event of events) {
    if (event.type === 'error') return { event, message: event.error, hasStarted };
    if (event.type === 'start') {
      start = event;
      continue;
    }
    if (!hasStarted && start !== undefined) outer.push(start);
    hasStarted = true;
    outer.push(event);
  }
  return undefined;
}

function retryDelay(
  { message, hasStarted }: Failure,
  { reply, retry, waitedMs }: { reply: Reply; retry: number; waitedMs: number },
): number | undefined {
  const usual = RETRY_DELAYS_MS[retry];
  // A raw stop reason means the provider did answer: with a refusal, which a repetition will not change.
  if (usual === undefined || hasStarted || message.rawStopReason !== undefined) return undefined;
  const status = reply.status ?? 0;
  if (status >= 400 && status < 500 && ![408, 409, 429].includes(status)) return undefined;
  const delayMs = reply.retryAfterMs ?? usual;
  return waitedMs + delayMs <= MAX_RETRY_AFTER_MS ? delayMs : undefined;
}

function recordingFetch(reply: Reply): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    reply.status = response.status;
    const retryAfterMs = parseRetryAfter(response.headers);
    if (retryAfterMs !== undefined) reply.retryAfterMs = retryAfterMs;
    return response;
  };
}

function parseRetryAfter(headers: Headers): number | undefined {
  const precise = Number.parseFloat(headers.get('retry-after-ms') ?? '');
  if (Number.isFinite(precise)) return Math.max(0, precise);
  const value = headers.get('retry-after');
  if (value === null) return undefined;
  const seconds = Number(value);
  const ms = Number.isFinite(seconds) ? seconds * 1_000 : Date.parse(value) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

/** `POST /v1/chat/completions`: a message to an agent, and its reply, whole or in pieces. */
import { randomUUID } from 'node:crypto';
import type { OperatorCaller } from '../../core/caller.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { RunOutcome } from '../../protocol/words.ts';
import type { Accepted } from '../../service/messages/accepted-message.ts';
import type { RunEvent, RunEvents } from '../../service/run-events.ts';
import type { Services } from '../../service/services.ts';
import { createRunText } from '../run-text.ts';
import { parseCompletionRequest } from './completion-request.ts';
import type { CompletionRequest } from './completion-request.ts';
import { targetOf } from './completion-target.ts';
import type { CompletionTarget } from './completion-target.ts';
import { chunkView, completionView, usageView } from './completion-views.ts';
import type { CompletionUsage } from './completion-views.ts';

export interface CompletionDeps {
  services: Services;
  events: RunEvents;
}
export interface CompletionCall {
  caller: OperatorCaller;
  headers: Headers;
  body: unknown;
  /** the client has gone: nobody waits any more, the run goes on */
  signal: AbortSignal;
}
/** A whole answer, or its pieces. Contract: the pieces reject like the whole does. */
export type Completion =
  | { kind: 'whole'; body: object }
  | { kind: 'pieces'; pieces: AsyncIterable<object> };

/** The message was accepted, and its run did not end `ok`: what was asked for is done, so nobody should ask again. */
export class FailedRun extends Error {
  readonly runId: string;
  readonly outcome: RunOutcome;

  constructor({ runId, outcome, error }: { runId: string; outcome: RunOutcome; error: string }) {
    super(error);
    this.runId = runId;
    this.outcome = outcome;
  }
}

/** A run may take longer than one wait. */
const WAIT_MS = 60_000;

/** Accepts the message; a refusal rejects before any effect. */
export async function completeChat(
  deps: CompletionDeps,
  call: CompletionCall,
): Promise<Completion> {
  const request = parseCompletionRequest(call.body);
  const configured = await deps.services.listConfiguredAgents();
  const target = targetOf(call.headers, { request, configured });
  const stream = request.stream ? openStream(deps.events) : undefined;
  try {
    const accepted = await accept(deps, { call, request, target });
    const answer = { ...accepted, model: request.model };
    if (stream !== undefined) {
      const pieces = piecesOf(deps, { answer, call, request, stream });
      return { kind: 'pieces', pieces };
    }
    const { reply, usage } = await outcomeOf(deps, { runId: accepted.runId, signal: call.signal });
    return { kind: 'whole', body: completionView(answer, { reply, usage }) };
  } catch (error) {
    stream?.close();
    throw error;
  }
}

function accept(
  { services }: CompletionDeps,
  {
    call,
    request,
    target,
  }: { call: CompletionCall; request: CompletionRequest; target: CompletionTarget },
): Promise<Accepted> {
  const { instructions } = request;
  const model = call.headers.get('x-openclaw-model');
  return services.acceptMessage(call.caller, {
    method: 'agent',
    sessionKey: target.sessionKey,
    agentId: target.agentId,
    message: target.isOnce ? withBefore(request) : request.message,
    deliver: false,
    idempotencyKey: call.headers.get('idempotency-key') ?? randomUUID(),
    ...(instructions === undefined ? {} : { extraSystemPrompt: instructions }),
    ...(model === null ? {} : { model }),
  });
}

/** A client without a session sends all that was said each time. */
function withBefore({ before, message }: CompletionRequest): string {
  if (before.length === 0) return message;
  const said = before.map(({ role, text }) => `${role}: ${text}`).join('\n');
  return `What was said before:\n${said}\n\nThe message to answer:\n${message}`;
}

async function outcomeOf(
  { services }: CompletionDeps,
  { runId, signal }: { runId: string; signal: AbortSignal },
): Promise<{ reply: string; usage: CompletionUsage }> {
  for (;;) {
    const waited = await services.waitForRun(runId, { timeoutMs: WAIT_MS, signal });
    if (signal.aborted) throw new GatewayError('unavailable', 'the client has gone');
    const { outcome, reply = '', error } = waited;
    if (outcome === undefined) continue;
    if (outcome === 'ok') return { reply, usage: await usageOf(services, runId) };
    throw new FailedRun({ runId, outcome, error: error ?? `the run ended ${outcome}` });
  }
}

async function usageOf(services: Services, runId: string): Promise<CompletionUsage> {
  const { total } = await services.readUsage({ runId });
  const completion = total?.outputTokens ?? 0;
  const all = total?.totalTokens ?? 0;
  return { prompt_tokens: all - completion, completion_tokens: completion, total_tokens: all };
}

interface Stream {
  /** Resolves when something has happened in this run since it was asked last. */
  next(runId: string): Promise<void>;
  /** Takes what was streamed of this run. */
  take(runId: string): Extract<RunEvent, { type: 'delta' }>[];
  close(): void;
}

/** Listens before the message is accepted, so that no piece is missed. */
function openStream(events: RunEvents): Stream {
  let kept: RunEvent[] = [];
  let wake = (): void => {};
  let only: string | undefined;
  const stop = events.subscribe((event) => {
    if (event.type !== 'delta' || (only !== undefined && event.runId !== only)) return;
    kept.push(event);
    wake();
  });
  return {
    next: (runId) => {
      only = runId;
      kept = kept.filter((event) => 'runId' in event && event.runId === runId);
      if (kept.length > 0) return Promise.resolve();
      const { promise, resolve } = Promise.withResolvers<void>();
      wake = resolve;
      return promise;
    },
    take: (runId) => {
      const taken = kept.filter((event) => event.type === 'delta' && event.runId === runId);
      kept = [];
      return taken as Extract<RunEvent, { type: 'delta' }>[];
    },
    close: stop,
  };
}

async function* piecesOf(
  deps: CompletionDeps,
  {
    answer,
    call,
    request,
    stream,
  }: {
    answer: Accepted & { model: string };
    call: CompletionCall;
    request: CompletionRequest;
    stream: Stream;
  },
): AsyncGenerator<object> {
  const { runId } = answer;
  const text = createRunText();
  const ended = outcomeOf(deps, { runId, signal: call.signal });
  const isOver = ended.then(
    () => true,
    () => true,
  );
  let shown = '';
  let isBroken = false;
  try {
    yield chunkView(answer, { delta: { role: 'assistant', content: '' } });
    for (let over = false; !over;) {
      over = (await Promise.race([isOver, stream.next(runId)])) === true;
      for (const event of stream.take(runId)) {
        const step = text.advance(event);
        // an answer that begins anew cannot take back what a reader has: the rest comes at the end
        isBroken ||= step?.replace === true;
        if (step === undefined || isBroken) continue;
        shown += step.delta;
        yield chunkView(answer, { delta: { content: step.delta } });
      }
    }
    const { reply, usage } = await ended;
    const rest = reply.startsWith(shown) ? reply.slice(shown.length) : `\n\n${reply}`;
    if (rest !== '') yield chunkView(answer, { delta: { content: rest } });
    yield chunkView(answer, { delta: {}, finish: true });
    if (request.includeUsage) yield usageView(answer, usage);
  } finally {
    stream.close();
  }
}

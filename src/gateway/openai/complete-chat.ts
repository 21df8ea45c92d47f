/** `POST /v1/chat/completions`: a message to an agent, and its reply, whole or in pieces. */
import { randomUUID } from 'node:crypto';
import type { OperatorCaller } from '../../core/caller.ts';
import { GatewayError } from '../../protocol/errors.ts';
import { parseMethodParams } from '../../protocol/methods.ts';
import type { RunOutcome } from '../../protocol/words.ts';
import type { Accepted } from '../../service/messages/accepted-message.ts';
import type { RunEvent, RunEvents } from '../../service/run-events.ts';
import type { Services } from '../../service/services.ts';
import { toAgentRequest, waitForEnd } from '../accept-message.ts';
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

/** Accepts the message; a refusal rejects before any effect. */
export async function completeChat(
  deps: CompletionDeps,
  call: CompletionCall,
): Promise<Completion> {
  const request = parseCompletionRequest(call.body);
  const configured = await deps.services.listConfiguredAgents();
  const target = targetOf(call.headers, { request, configured });
  const accepted = await accept(deps, { call, request, target });
  const answer = { ...accepted, model: request.model };
  if (request.stream) return { kind: 'pieces', pieces: piecesOf(deps, { answer, call, request }) };
  const outcome = await outcomeOf(deps, { runId: accepted.runId, signal: call.signal });
  return { kind: 'whole', body: completionView(answer, outcome) };
}

function accept(
  { services }: CompletionDeps,
  {
    call,
    request,
    target: { isOnce, ...place },
  }: { call: CompletionCall; request: CompletionRequest; target: CompletionTarget },
): Promise<Accepted> {
  const { instructions } = request;
  const model = call.headers.get('x-openclaw-model');
  const params = parseMethodParams('agent', {
    ...place,
    message: isOnce ? withBefore(request) : request.message,
    idempotencyKey: call.headers.get('idempotency-key') ?? randomUUID(),
    ...(instructions === undefined ? {} : { extraSystemPrompt: instructions }),
    ...(model === null ? {} : { model }),
  });
  return services.acceptMessage(call.caller, toAgentRequest(params));
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
  const ended = await waitForEnd(services, { runId, signal });
  if (ended === undefined) throw new GatewayError('unavailable', 'the client has gone');
  const { outcome = 'error', reply = '', error } = ended;
  if (outcome === 'ok') return { reply, usage: await usageOf(services, runId) };
  throw new FailedRun({ runId, outcome, error: error ?? `the run ended ${outcome}` });
}

async function usageOf(services: Services, runId: string): Promise<CompletionUsage> {
  const { total } = await services.readUsage({ runId });
  const completion = total?.outputTokens ?? 0;
  const all = total?.totalTokens ?? 0;
  return { prompt_tokens: all - completion, completion_tokens: completion, total_tokens: all };
}

type Delta = Extract<RunEvent, { type: 'delta' }>;

/** Pieces that wait for a slow client; beyond them the newest stands for what came before it. */
const MAX_WAITING = 16;

/** The text of a run as it grows, until `until` settles. Each piece holds the whole text so far: none has to be seen. */
async function* deltasOf(
  events: RunEvents,
  { runId, until }: { runId: string; until: Promise<unknown> },
): AsyncGenerator<Delta> {
  const waiting: Delta[] = [];
  let isOver = false;
  let wake = (): void => {};
  const stop = events.subscribe((event) => {
    if (event.type !== 'delta' || event.runId !== runId) return;
    const covered = waiting.length < MAX_WAITING ? undefined : waiting.pop();
    waiting.push({ ...event, replace: event.replace || covered?.replace === true });
    wake();
  });
  const end = (): void => {
    isOver = true;
    wake();
  };
  until.then(end, end);
  try {
    for (;;) {
      const piece = waiting.shift();
      if (piece !== undefined) yield piece;
      else if (isOver) return;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    stop();
  }
}

async function* piecesOf(
  deps: CompletionDeps,
  {
    answer,
    call,
    request,
  }: { answer: Accepted & { model: string }; call: CompletionCall; request: CompletionRequest },
): AsyncGenerator<object> {
  const { runId } = answer;
  const text = createRunText();
  let shown = '';
  let isBroken = false;
  yield chunkView(answer, { delta: { role: 'assistant', content: '' } });
  const ended = outcomeOf(deps, { runId, signal: call.signal });
  for await (const event of deltasOf(deps.events, { runId, until: ended })) {
    const step = text.advance(event);
    // an answer that begins anew cannot take back what a reader has: the rest comes at the end
    isBroken ||= step?.replace === true;
    if (step === undefined || isBroken) continue;
    shown += step.delta;
    yield chunkView(answer, { delta: { content: step.delta } });
  }
  const { reply, usage } = await ended;
  const rest = restOf(reply, shown);
  if (rest !== '') yield chunkView(answer, { delta: { content: rest } });
  yield chunkView(answer, { delta: {}, finish: true });
  if (request.includeUsage) yield usageView(answer, usage);
}

/** What is shown of the reply is not told again; a reply that is another than what was shown comes whole. */
function restOf(reply: string, shown: string): string {
  // a silence word that is taken out takes the white space before it along
  const seen = reply.startsWith(shown) ? shown : shown.trimEnd();
  return reply.startsWith(seen) ? reply.slice(seen.length) : `\n\n${reply}`;
}

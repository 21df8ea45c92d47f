/** `agent` and `chat.send`: a person's or operator's message into a session (B10.4, A13). */
import { randomUUID } from 'node:crypto';
import { type OperatorCaller, operatorName } from '../../core/caller.ts';
import { isSubagentKey } from '../../core/keys.ts';
import { resolveModel } from '../../core/models.ts';
import { OWNER_SCOPE } from '../../core/owner.ts';
import { queueSettings } from '../../core/queue-settings.ts';
import { routeOfParts } from '../../core/route-of-parts.ts';
import type { Config } from '../../protocol/options/config.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { Route } from '../../protocol/words.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import { must } from '../../util/assert.ts';
import {
  acceptRun,
  contentHashOf,
  findAccepted,
  type IdempotencyKey,
  type RunOptions,
} from '../runs/accept-run.ts';
import type { RunContext } from '../context.ts';
import { unplayedRun } from '../inbox/held-run.ts';
import type { RunEnd } from '../runs/close-run.ts';
import { closeUnplayed } from '../runs/close-unplayed.ts';
import { INTERRUPTED_TEXT } from '../runs/interrupts.ts';
import { isChatRoute, routeOf, toLastRoute } from '../delivery/outbox.ts';
import type { OperatorPlace } from '../sessions/operator-place.ts';
import { ensureSession } from '../sessions/session-rows.ts';
import { tellDropped } from '../runs/tell-dropped.ts';
import { interruptWaits } from '../runs/wait-in-run.ts';
import type { AcceptMessage, Accepted } from './accepted-message.ts';
import {
  acceptCommand,
  commandIn,
  type DoneCommand,
  type GivenCommand,
  refuseCommand,
  tellCommand,
} from './accept-command.ts';
import { closureRefusal, findPlace, messageRefusal, refusedOperator } from './check-message.ts';
import { queueMessage, type QueuedMessage } from './queue-message.ts';
import { briefly } from '../../util/briefly.ts';

const INTERRUPTED: RunEnd = { state: 'aborted', message: undefined, error: INTERRUPTED_TEXT };

/**
 * Accepts the message, or returns the first acceptance under its key. An owner's command is carried out
 * instead (A6). Rejects with what was wrong, before any effect.
 */
export async function acceptMessage(
  context: RunContext,
  caller: OperatorCaller,
  request: AcceptMessage,
): Promise<Accepted> {
  const options = optionsOf(context.config(), request);
  const given = commandIn(context.config(), { text: request.message, author: caller });
  const taken = await context.store.write(`accept-${request.method}`, (tx) =>
    take(tx, context, { caller, request, options, given }),
  );
  if (taken === 'refused') throw notOwner();
  if (taken.done !== undefined) tellCommand(context, taken.done);
  tellDropped(context, taken.dropped);
  return taken.accepted;
}

/** Refused only once it is written down who tried: a rejected unit would leave no line (BR-065). */
type Taken = 'refused' | { accepted: Accepted; dropped: RunRow[]; done?: DoneCommand };

async function take(
  tx: WriteTx,
  context: RunContext,
  {
    caller,
    request,
    options,
    given,
  }: Pick<NewMessage, 'request' | 'options'> & {
    caller: OperatorCaller;
    given: GivenCommand | undefined;
  },
): Promise<Taken> {
  const place = await findPlace(tx, context.config(), request);
  if ('rule' in place) throw refusedOperator(place);
  if (given !== undefined && !given.isOwners) {
    const { command } = given;
    await refuseCommand(tx, { command, actor: operatorName(caller), sessionKey: place.key });
    return 'refused';
  }
  const idempotency = keyOf(caller, request, place.key);
  const earlier = await findAccepted(tx, idempotency);
  if (earlier === 'conflict') {
    throw new GatewayError(
      'key_conflict',
      'this idempotencyKey was used for another message; use a new key for a new message',
    );
  }
  if (earlier !== undefined) {
    return { accepted: await earlierAcceptance(tx, earlier.inputId), dropped: [] };
  }
  // a reset does not take back what was accepted before it
  if (place.stale !== undefined) throw refusedOperator(place.stale);
  const message = { request, place, idempotency, options };
  return given === undefined
    ? acceptNew(tx, context, message)
    : carryOut(tx, context, { ...message, given, caller });
}

function notOwner(): GatewayError {
  return new GatewayError(
    'forbidden',
    `a command of the owner needs the scope ${OWNER_SCOPE}; nothing was changed, and no message was sent`,
    {
      details: {
        code: 'MISSING_SCOPE',
        missingScope: OWNER_SCOPE,
        requiredScopes: [OWNER_SCOPE],
      },
    },
  );
}

interface NewMessage {
  request: AcceptMessage;
  place: OperatorPlace;
  idempotency: IdempotencyKey;
  options: RunOptions;
}

/** A command is no message to the agent: it sets no route, waits for nothing and interrupts nothing. */
async function carryOut(
  tx: WriteTx,
  context: RunContext,
  {
    request,
    place,
    idempotency,
    given: { command },
    caller,
  }: NewMessage & { given: GivenCommand; caller: OperatorCaller },
): Promise<Taken> {
  const session = await ensureSession(tx, context.config(), place);
  const refusal = closureRefusal(context.config(), session);
  if (refusal !== undefined) throw refusedOperator(refusal);
  const route = replyRouteOf(context, { request, session });
  const actor = operatorName(caller);
  const text = request.message;
  const message = { command, session, text, actor, idempotency, route };
  const done = await acceptCommand(tx, context, message);
  const { runId, acceptedAt } = done.run;
  const accepted = {
    runId,
    sessionKey: session.key,
    acceptedAt,
    isNew: true,
    state: 'ok',
  } as const;
  return { accepted, dropped: [], done };
}

async function acceptNew(
  tx: WriteTx,
  context: RunContext,
  { request, place, idempotency, options }: NewMessage,
): Promise<{ accepted: Accepted; dropped: RunRow[] }> {
  const config = context.config();
  const label = request.label === undefined ? {} : { label: request.label };
  const session = await ensureSession(tx, config, { ...place, ...label });
  const refusal = messageRefusal(config, session);
  if (refusal !== undefined) throw refusedOperator(refusal);
  const reply = replyRouteOf(context, { request, session });
  await tx.sessions.update(session.key, { ...label, ...lastRouteOf(request, session) });
  const queued = await queue(tx, config, { request, session });
  const runId = randomUUID();
  const run = await acceptRun(tx, {
    runId,
    sessionKey: session.key,
    kind: 'message',
    text: request.message,
    purpose: 'message',
    runClass: isSubagentKey(session.key) ? 'subagent' : 'main',
    rootRunId: runId,
    hops: 0,
    idempotency,
    options,
    deliver: reply !== undefined,
    ...(reply === undefined ? {} : { route: reply }),
    ...(queued.place === undefined ? {} : { queue: queued.place }),
    timeoutMs: request.timeoutMs ?? config.agents.defaults.timeoutSeconds * 1000,
  });
  await interruptWaits(tx, { sessionKey: session.key, byRunId: runId });
  const dropped = [...queued.dropped, ...(await endInterrupted(tx, context, run))];
  const { acceptedAt } = run;
  return {
    accepted: { runId, sessionKey: session.key, acceptedAt, isNew: true, state: 'queued' },
    dropped,
  };
}

/** What a client has in hand is played by nobody who could hear of an interrupt (B12): it ends here. */
async function endInterrupted(
  tx: WriteTx,
  context: RunContext,
  { sessionKey, queueMode }: RunRow,
): Promise<RunRow[]> {
  const held = queueMode === 'interrupt' ? await unplayedRun(tx, sessionKey) : undefined;
  if (held === undefined) return [];
  return [(await closeUnplayed(tx, context, { run: held, end: INTERRUPTED })).run];
}

/** Only what people write waits in a mode; each `agent` call has a turn of its own. */
async function queue(
  tx: WriteTx,
  config: Config,
  { request, session }: { request: AcceptMessage; session: SessionRow },
): Promise<QueuedMessage> {
  if (request.method !== 'chat.send') return { place: undefined, dropped: [] };
  const { channel = 'webchat' } = givenRouteOf(request, session) ?? {};
  const settings = queueSettings(config, session, channel);
  return queueMessage(tx, { sessionKey: session.key, settings });
}

async function earlierAcceptance(tx: WriteTx, runId: string): Promise<Accepted> {
  const run = must(await tx.runs.get(runId), `accepted run ${runId} has no row`);
  const { sessionKey, acceptedAt, state, mergedInto } = run;
  const merged = mergedInto === null ? {} : { mergedInto };
  return { runId, sessionKey, acceptedAt, isNew: false, state, ...merged };
}

/** Where the reply goes; undefined = it stays in the session. */
function replyRouteOf(
  context: RunContext,
  { request, session }: { request: AcceptMessage; session: SessionRow },
): Route | undefined {
  if (!request.deliver) return undefined;
  const route = givenRouteOf(request, session) ?? routeOf(session);
  if (isChatRoute(route) && context.channels.has(route.channel)) return route;
  if (request.bestEffortDeliver === true) return undefined;
  throw new GatewayError(
    'invalid_request',
    isChatRoute(route)
      ? `deliver: no channel ${briefly(route.channel)} is set up here; pass bestEffortDeliver: true to keep the reply in the session`
      : `deliver: session ${session.key} has no chat yet; pass channel and to, or bestEffortDeliver: true`,
  );
}

function givenRouteOf(request: AcceptMessage, session: SessionRow): Route | undefined {
  if (request.method === 'chat.send') return { channel: 'webchat', to: session.key };
  if (request.channel === undefined) return undefined;
  return routeOfParts(request.channel, request);
}

/** Only a person's message sets the last route: `chat.send` always, `agent` when it names one (A7). */
function lastRouteOf(request: AcceptMessage, session: SessionRow): Partial<SessionRow> {
  const route = givenRouteOf(request, session);
  return route === undefined ? {} : toLastRoute(route);
}

function optionsOf(config: Config, request: AcceptMessage): RunOptions {
  const { model, thinking, extraSystemPrompt } = request;
  if (model !== undefined) {
    const resolved = resolveModel(config, model);
    if (!resolved.ok) throw new GatewayError('invalid_request', resolved.error);
  }
  return {
    ...(model === undefined ? {} : { model }),
    ...(thinking === undefined ? {} : { thinking }),
    ...(extraSystemPrompt === undefined ? {} : { extraSystemPrompt }),
  };
}

function keyOf(caller: OperatorCaller, request: AcceptMessage, sessionKey: string): IdempotencyKey {
  const { idempotencyKey, method, message, model, thinking, extraSystemPrompt } = request;
  return {
    scope: `${operatorName(caller)} ${method}`,
    key: idempotencyKey,
    contentHash: contentHashOf({ sessionKey, message, model, thinking, extraSystemPrompt }),
  };
}

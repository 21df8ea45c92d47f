/** `agent` and `chat.send`: a person's or operator's message into a session (B10.4, A13). */
import { randomUUID } from 'node:crypto';
import { closureOf } from '../../core/access.ts';
import { findAgent } from '../../core/agents.ts';
import { type OperatorCaller, operatorName } from '../../core/caller.ts';
import { isSubagentKey } from '../../core/keys.ts';
import { resolveModel } from '../../core/models.ts';
import { queueSettings } from '../../core/queue-settings.ts';
import { routeOfParts } from '../../core/route-of-parts.ts';
import { SEND_BLOCKED_TEXT } from '../../core/send-policy.ts';
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
import { heldRun } from '../inbox/held-run.ts';
import type { RunEnd } from '../runs/close-run.ts';
import { closeUnplayed, isUnplayed } from '../runs/close-unplayed.ts';
import { INTERRUPTED_TEXT } from '../runs/interrupts.ts';
import { keySettings } from '../sessions/key-settings.ts';
import { lookUpMain, lookUpSession, type LookUp } from '../sessions/look-up-session.ts';
import { isChatRoute, routeOf, sendPolicyOf, toLastRoute } from '../delivery/outbox.ts';
import { newPlaceOf, type OperatorPlace, refuseOtherAgent } from '../sessions/operator-place.ts';
import { ensureSession } from '../sessions/session-rows.ts';
import { tellDropped } from '../runs/tell-dropped.ts';
import { interruptWaits } from '../runs/wait-in-run.ts';
import type { AcceptMessage, Accepted } from './accepted-message.ts';
import { queueMessage, type QueuedMessage } from './queue-message.ts';
import { briefly } from '../../util/briefly.ts';

const INTERRUPTED: RunEnd = { state: 'aborted', message: undefined, error: INTERRUPTED_TEXT };

/** Accepts the message, or returns the first acceptance under its key. Rejects with what was wrong, before any effect. */
export async function acceptMessage(
  context: RunContext,
  caller: OperatorCaller,
  request: AcceptMessage,
): Promise<Accepted> {
  const options = optionsOf(context.config(), request);
  const { accepted, dropped } = await context.store.write(
    `accept-${request.method}`,
    async (tx) => {
      const place = await placeOf(tx, context.config(), request);
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
      return acceptNew(tx, context, { request, place, idempotency, options });
    },
  );
  tellDropped(context, dropped);
  return accepted;
}

async function acceptNew(
  tx: WriteTx,
  context: RunContext,
  {
    request,
    place,
    idempotency,
    options,
  }: {
    request: AcceptMessage;
    place: OperatorPlace;
    idempotency: IdempotencyKey;
    options: RunOptions;
  },
): Promise<{ accepted: Accepted; dropped: RunRow[] }> {
  const config = context.config();
  const label = request.label === undefined ? {} : { label: request.label };
  const session = await ensureSession(tx, config, { ...place, ...label });
  refuseClosed(config, session);
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
  const lane = queueMode === 'interrupt' ? await tx.lanes.get(sessionKey) : undefined;
  const held = lane && (await heldRun(tx, lane));
  if (lane === undefined || held === undefined || !isUnplayed(held, lane)) return [];
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

/** Returns the session the message goes to; one that is not there is made only where an operator may (A4). */
async function placeOf(
  tx: WriteTx,
  config: Config,
  request: AcceptMessage,
): Promise<OperatorPlace> {
  const { defaultAgentId } = keySettings(config);
  const agentId = request.agentId ?? defaultAgentId;
  const text = request.sessionKey ?? request.sessionId;
  const viewer = { agentId, currentKey: undefined };
  const found: LookUp =
    text === undefined
      ? await lookUpMain(tx, config, agentId)
      : await lookUpSession(tx, config, { text, viewer });
  if (found.type === 'malformed') throw new GatewayError('invalid_request', found.error);
  if (found.type === 'session') {
    refuseOtherAgent(request.agentId, found);
    if (found.session !== undefined && found.sessionId !== found.session.sessionId) {
      throw new GatewayError(
        'invalid_request',
        `sessionId ${found.sessionId} is from before a reset; the current sessionId is ${found.session.sessionId}`,
      );
    }
    return { key: found.key, agentId: found.agentId };
  }
  if (request.sessionKey === undefined || found.canonicalKey === undefined) {
    const list = text === undefined ? 'agents.list' : 'sessions.list';
    throw new GatewayError('not_found', `${found.what} not found; see ${list}`);
  }
  return refuseOtherAgent(request.agentId, newPlaceOf(config, found.canonicalKey));
}

function refuseClosed(config: Config, session: SessionRow): void {
  const closure = closureOf(session);
  if (closure !== undefined) {
    throw new GatewayError(
      'invalid_request',
      `session ${session.key} is ${closure}; it takes no messages`,
    );
  }
  if (findAgent(config, session.agentId) === undefined) {
    throw new GatewayError(
      'invalid_request',
      `agent ${session.agentId} of session ${session.key} is not configured; add it to agents.list`,
    );
  }
  const policy = sendPolicyOf(config, session);
  if (!policy.allowed) {
    throw new GatewayError('invalid_request', `${SEND_BLOCKED_TEXT} (${policy.rule})`);
  }
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

/** `sessions_send`: a message to another session, and the wait for its outcome (A9–A13). */
import { randomUUID } from 'node:crypto';
import type { SessionCaller } from '../../core/caller.ts';
import { faultOf, type Refusal, toldOf } from '../../core/refusals.ts';
import { ERROR_CODES, toGatewayError } from '../../protocol/errors.ts';
import type { Provenance } from '../../protocol/message.ts';
import { WAIT_TIMEOUT_DEFAULT } from '../../protocol/tools/tool-limits.ts';
import type { SessionsSendAnswer } from '../../protocol/tools/session-tool-answers.ts';
import type { SessionsSendArgs } from '../../protocol/tools/session-tool-args.ts';
import type { ToolRefusal } from '../../protocol/tools/session-tools.ts';
import type { InputRow } from '../../store/input-repository.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import {
  acceptNote,
  acceptRun,
  contentHashOf,
  findAccepted,
  isNote,
  type IdempotencyKey,
} from '../runs/accept-run.ts';
import { channelOf } from '../../core/keys.ts';
import type { RunServices } from '../context.ts';
import type { ResolvedTarget, TargetAddress } from '../sessions/resolve-target.ts';
import { ensureSession } from '../sessions/session-rows.ts';
import { lockCaller } from '../runs/lock-caller.ts';
import { tellDropped } from '../runs/tell-dropped.ts';
import { openExchange } from '../exchange/open-exchange.ts';
import { openWait } from '../runs/wait-in-run.ts';
import { awaitReply } from './await-reply.ts';
import { findRecipient, sendRefusal } from './check-send.ts';

interface SendOrder {
  caller: SessionCaller;
  args: SessionsSendArgs;
  /** 0 = do not wait */
  timeoutMs: number;
  runId: string;
  rootRunId: string;
  hops: number;
}

type Acceptance =
  | { type: 'refused'; answer: ToolRefusal }
  | {
      type: 'accepted';
      runId: string;
      sessionKey: string;
      shownKey: string;
      /** turns of older exchanges that it superseded before they began */
      withdrawn: RunRow[];
    };

/** Accepts the message in one transaction, then waits as long as the caller asked. */
export async function sendMessage(
  services: RunServices,
  caller: SessionCaller,
  args: SessionsSendArgs,
): Promise<SessionsSendAnswer> {
  const order = toOrder(caller, args);
  const accepted = await services.store.write('accept-send', (tx) => accept(tx, services, order));
  if (accepted.type === 'refused') return accepted.answer;
  const { runId, shownKey } = accepted;
  tellDropped(services, accepted.withdrawn);
  const onlyAccepted = {
    runId,
    status: 'accepted',
    sessionKey: shownKey,
    messageState: 'queued',
  } as const;
  const { timeoutMs } = order;
  if (timeoutMs === 0 || args.mode === 'note') return onlyAccepted;
  try {
    return { ...(await awaitReply(services, { runId, caller, timeoutMs })), sessionKey: shownKey };
  } catch (cause) {
    if (isDoneAgain(caller, cause)) throw cause;
    // The message stands: an error without its runId would only have it sent a second time.
    services.logger.error({ runId, err: cause }, 'the wait for an accepted message failed');
    return onlyAccepted;
  }
}

/** Inside a run such a call stays open and finds its message again by its key (DESIGN 4). */
function isDoneAgain({ run }: SessionCaller, cause: unknown): boolean {
  return (
    run !== undefined && (run.signal.aborted || ERROR_CODES[toGatewayError(cause).code].retryable)
  );
}

function toOrder(caller: SessionCaller, args: SessionsSendArgs): SendOrder {
  const runId = randomUUID();
  return {
    caller,
    args,
    timeoutMs: (args.timeoutSeconds ?? WAIT_TIMEOUT_DEFAULT) * 1000,
    runId,
    // A call from outside a run is a root of its own (A11).
    rootRunId: caller.run?.rootRunId ?? runId,
    hops: (caller.run?.hops ?? 0) + 1,
  };
}

/** Every check and every row of the acceptance, so that a refusal leaves nothing and an answer needs nothing more. */
async function accept(tx: WriteTx, services: RunServices, order: SendOrder): Promise<Acceptance> {
  await lockCaller(tx, services, order.caller);
  const { caller, args, rootRunId, hops } = order;
  const address = addressOf(args);
  const target = await findRecipient(tx, services.config(), { caller, address });
  if ('error' in target) return refuse(target);
  const idempotency = keyOf(order, target.key);
  const earlier = await findAccepted(tx, idempotency);
  if (earlier === 'conflict') {
    const error = 'this idempotencyKey was used for another message; use a new key';
    return { type: 'refused', answer: faultOf('key_used', error) };
  }
  if (earlier !== undefined) return rejoin(tx, services, { order, target, earlier });
  const place = { caller, target, rootRunId, hops, isNote: args.mode === 'note' };
  const refusal = await sendRefusal(tx, services.config(), place);
  if (refusal !== undefined) return refuse(refusal);
  return write(tx, services, { order, target, idempotency });
}

/** The same job again: the first acceptance stands, and a wait of a run goes on where it was. */
async function rejoin(
  tx: WriteTx,
  services: RunServices,
  { order, target, earlier }: { order: SendOrder; target: ResolvedTarget; earlier: InputRow },
): Promise<Acceptance> {
  const accepted = acceptedAs(target, earlier.inputId);
  if (!isNote(earlier)) await openWaitOf(tx, services, { order, target, runId: earlier.inputId });
  return accepted;
}

async function write(
  tx: WriteTx,
  services: RunServices,
  {
    order,
    target,
    idempotency,
  }: { order: SendOrder; target: ResolvedTarget; idempotency: IdempotencyKey | undefined },
): Promise<Acceptance> {
  const { args, caller, runId, rootRunId, hops } = order;
  const config = services.config();
  const cycle = await openWaitOf(tx, services, { order, target, runId });
  if (cycle !== undefined) return refuse(cycle);
  const session = await ensureSession(tx, config, { key: target.key, agentId: target.agentId });
  const provenance = await provenanceOf(tx, order);
  const shared = { sessionKey: session.key, text: args.message, provenance, rootRunId };
  const keyed = idempotency === undefined ? {} : { idempotency };
  if (args.mode === 'note') {
    await acceptNote(tx, { ...shared, ...keyed, inputId: runId, kind: 'note' });
    return acceptedAs(target, runId);
  }
  const { exchangeId, withdrawn } = await openExchange(tx, services, {
    caller,
    session,
    args,
    runId,
    rootRunId,
    hops,
  });
  await acceptRun(tx, {
    ...shared,
    ...keyed,
    runId,
    kind: 'inter_session',
    purpose: 'message',
    runClass: 'nested',
    hops,
    ...(caller.run === undefined ? {} : { parentRunId: caller.run.runId }),
    ...(exchangeId === undefined ? {} : { exchangeId }),
    timeoutMs: config.agents.defaults.timeoutSeconds * 1000,
  });
  return { ...acceptedAs(target, runId), withdrawn };
}

async function openWaitOf(
  tx: WriteTx,
  services: RunServices,
  { order, target, runId }: { order: SendOrder; target: ResolvedTarget; runId: string },
): Promise<Refusal | undefined> {
  if (order.timeoutMs === 0 || order.args.mode === 'note') return undefined;
  return openWait(tx, services, {
    caller: order.caller,
    targets: [{ runId, key: target.key }],
    mode: 'all',
    timeoutMs: order.timeoutMs,
  });
}

function addressOf(args: SessionsSendArgs): TargetAddress {
  if (args.sessionKey !== undefined) return { sessionKey: args.sessionKey };
  if (args.label !== undefined) return { label: args.label, agentId: args.agentId };
  return { agentId: args.agentId ?? '' };
}

/** Inside a run the place of the call is the key, never the provider's id of it (A13). */
function keyOf(order: SendOrder, targetKey: string): IdempotencyKey | undefined {
  const { caller, args } = order;
  const key =
    caller.run === undefined
      ? caller.idempotencyKey
      : `${caller.run.runId}:${caller.run.position}:${caller.run.callIndex}`;
  if (key === undefined) return undefined;
  return {
    scope: `${caller.sessionKey} sessions_send`,
    key,
    contentHash: contentHashOf({ targetKey, message: args.message, mode: args.mode ?? 'run' }),
  };
}

async function provenanceOf(tx: WriteTx, order: SendOrder): Promise<Provenance> {
  const source: SessionRow | undefined = await tx.sessions.get(order.caller.sessionKey);
  const channel = source === undefined ? 'unknown' : channelOf(source);
  return {
    kind: 'inter_session',
    sourceSessionKey: order.caller.sessionKey,
    ...(channel === 'unknown' ? {} : { sourceChannel: channel }),
    sourceTool: 'sessions_send',
    rootRunId: order.rootRunId,
    hops: order.hops,
  };
}

function acceptedAs(
  { key, shownKey }: ResolvedTarget,
  runId: string,
): Extract<Acceptance, { type: 'accepted' }> {
  return { type: 'accepted', runId, sessionKey: key, shownKey, withdrawn: [] };
}

function refuse(refusal: Refusal): Acceptance {
  return { type: 'refused', answer: toldOf(refusal) };
}

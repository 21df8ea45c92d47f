/** `calls.start`: a call that waits, answered by a handle on it that outlives connections and restarts. */
import { createHash, randomUUID } from 'node:crypto';
import type { SessionCaller } from '../../core/caller.ts';
import { toldOf } from '../../core/refusals.ts';
import type { CallRead, CallStarted } from '../../protocol/answers/call-answers.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { SessionsSendArgs, SessionsWaitArgs } from '../../protocol/tools/session-tool-args.ts';
import {
  CALL_KEPT_MS,
  CALL_TTL_MAX_MS,
  CALLS_MAX,
  WAIT_TIMEOUT_DEFAULT,
} from '../../protocol/tools/tool-limits.ts';
import type { DeferredCallRow } from '../../store/call-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import { wholeUpTo } from '../../util/bounded.ts';
import type { RunServices } from '../context.ts';
import { sendMessage } from '../messages/send-message.ts';
import { sessionTargets } from '../runs/wait-targets.ts';
import { lookAtCall } from './look-at-call.ts';

/** A call, checked and parsed, of one of the tools that wait. */
export type DeferrableCall = (
  | { tool: 'sessions_send'; args: SessionsSendArgs }
  | { tool: 'sessions_wait'; args: SessionsWaitArgs }
) & {
  /** for how long from now on it is asked to be kept */
  ttlMs?: number | undefined;
};

/** How many expired calls the start of another one removes. */
const SWEPT = 20;

/**
 * Does what the call does at once, and keeps what it waits for. The same key is the same call. Rejects,
 * before any effect, a call that waits for nothing and one too many.
 */
export async function deferCall(
  services: RunServices,
  caller: SessionCaller,
  call: DeferrableCall,
): Promise<CallStarted> {
  requireWait(call);
  await requireRoom(services, caller, call);
  const begun = await begin(services, caller, call);
  if ('result' in begun) return begun;
  const kept = await services.store.write('defer-call', (tx) =>
    keep(tx, services, { caller, call, runIds: begun.runIds }),
  );
  return { call: kept };
}

function requireWait({ tool, args }: DeferrableCall): void {
  if (args.timeoutSeconds !== 0 && args.mode !== 'note') return;
  throw new GatewayError(
    'invalid_request',
    `${tool} waits for nothing with these arguments; make the call as it is, without a task`,
  );
}

async function requireRoom(
  { store, clock }: RunServices,
  caller: SessionCaller,
  call: DeferrableCall,
): Promise<void> {
  const { sessionKey } = caller;
  const isFull = await store.read(async (tx) => {
    const full = { sessionKey, count: CALLS_MAX, now: clock.now() };
    if (!(await tx.calls.hasAtLeast(full))) return false;
    // one that is there already takes no room
    return (await tx.calls.get(idOf(caller, call))) === undefined;
  });
  if (!isFull) return;
  throw new GatewayError(
    'forbidden',
    `${CALLS_MAX} calls of session ${sessionKey} are kept, as many as may be; make this one without a task, or ask for a shorter ttl`,
  );
}

async function begin(
  services: RunServices,
  caller: SessionCaller,
  call: DeferrableCall,
): Promise<{ runIds: string[] } | { result: object }> {
  if (call.tool === 'sessions_send') {
    const sent = await sendMessage(services, caller, { ...call.args, timeoutSeconds: 0 });
    return 'runId' in sent ? { runIds: [sent.runId] } : { result: sent };
  }
  const { args } = call;
  const found = await services.store.read((tx) => sessionTargets(tx, services, { caller, args }));
  if ('error' in found) return { result: toldOf(found) };
  return { runIds: found.targets.map(({ runId }) => runId) };
}

async function keep(
  tx: WriteTx,
  services: RunServices,
  given: { caller: SessionCaller; call: DeferrableCall; runIds: string[] },
): Promise<CallRead> {
  for (const expired of await tx.calls.expired(tx.now, SWEPT)) await tx.calls.remove(expired);
  const { caller } = given;
  const { now } = tx;
  const made = toRow(now, given);
  const earlier = await tx.calls.get(made.callId);
  if (earlier !== undefined && earlier.expiresAt > now)
    return lookAtCall(tx, services, { caller, row: earlier, now });
  if (earlier !== undefined) await tx.calls.remove(earlier.callId);
  await tx.calls.insert(made);
  return lookAtCall(tx, services, { caller, row: made, now });
}

function toRow(
  now: number,
  { caller, call, runIds }: { caller: SessionCaller; call: DeferrableCall; runIds: string[] },
): DeferredCallRow {
  const { tool, args, ttlMs } = call;
  const waitMs = Math.ceil((args.timeoutSeconds ?? WAIT_TIMEOUT_DEFAULT) * 1000);
  return {
    callId: idOf(caller, call),
    sessionKey: caller.sessionKey,
    tool,
    runIdsJson: JSON.stringify(runIds),
    mode: call.tool === 'sessions_wait' ? (call.args.mode ?? 'all') : 'all',
    createdAt: now,
    deadlineAt: now + waitMs,
    expiresAt: now + ttlOf(waitMs, ttlMs),
    cancelledAt: null,
  };
}

/** Long enough to fetch the answer once the wait is over. */
function ttlOf(waitMs: number, askedMs: number = waitMs + CALL_KEPT_MS): number {
  return wholeUpTo(Math.max(askedMs, waitMs + CALL_KEPT_MS / 10), CALL_TTL_MAX_MS);
}

/** The key of a job names its call, so that the job is found again. A message has a key of its own; a wait is named by all of it. */
function idOf(
  { sessionKey, idempotencyKey }: SessionCaller,
  { tool, args }: DeferrableCall,
): string {
  if (idempotencyKey === undefined) return randomUUID();
  const named = [sessionKey, tool, idempotencyKey, tool === 'sessions_wait' ? args : undefined];
  return createHash('sha256').update(JSON.stringify(named)).digest('base64url');
}

/** `sessions_spawn`: a task in a session of its own, answered at once; the result is announced later (A16, B7). */
import { randomUUID } from 'node:crypto';
import type { SessionCaller } from '../../core/caller.ts';
import { childTitle } from '../../core/child-title.ts';
import { channelOf } from '../../core/keys.ts';
import { faultOf, toldOf } from '../../core/refusals.ts';
import type { Config } from '../../protocol/options/config.ts';
import type { SessionsSpawnAnswer, SessionsSpawnArgs } from '../../protocol/tools/session-tools.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import { must } from '../../util/assert.ts';
import { acceptRun, contentHashOf, findAccepted, type IdempotencyKey } from '../runs/accept-run.ts';
import type { RunContext, RunServices } from '../context.ts';
import { lockCaller } from '../runs/lock-caller.ts';
import { isChatRoute, routeOf } from '../delivery/outbox.ts';
import { newSessionRow } from '../sessions/session-rows.ts';
import { missingRequester, planSpawn, type SpawnPlan } from './plan-spawn.ts';

/** Checks in the order of B7.3 and writes the child in the same transaction: a refused spawn leaves nothing. */
export function spawnSession(
  services: RunServices,
  caller: SessionCaller,
  args: SessionsSpawnArgs,
): Promise<SessionsSpawnAnswer> {
  return services.store.write('accept-spawn', async (tx) => {
    await lockCaller(tx, services, caller);
    const requester = await tx.sessions.get(caller.sessionKey);
    if (requester === undefined) {
      return toldOf(missingRequester(caller));
    }
    const idempotency = keyOf(caller, args);
    const earlier = await findAccepted(tx, idempotency);
    if (earlier === 'conflict') {
      return faultOf('key_used', 'this idempotencyKey was used for another task; use a new key');
    }
    if (earlier !== undefined) return earlierAnswer(tx, args, earlier.inputId);
    const plan = await planSpawn(tx, services.config(), { caller, requester, args });
    if ('status' in plan) return toldOf(plan);
    return writeSpawn(tx, services, { caller, requester, args, plan, idempotency });
  });
}

async function writeSpawn(
  tx: WriteTx,
  context: RunContext,
  {
    caller,
    requester,
    args,
    plan,
    idempotency,
  }: {
    caller: SessionCaller;
    requester: SessionRow;
    args: SessionsSpawnArgs;
    plan: SpawnPlan;
    idempotency: IdempotencyKey | undefined;
  },
): Promise<SessionsSpawnAnswer> {
  const config = context.config();
  const { archiveAfterMinutes, announce, runTimeoutSeconds } = config.agents.defaults.subagents;
  const childKey = `agent:${plan.agent.id}:subagent:${randomUUID()}`;
  const runId = randomUUID();
  const rootRunId = caller.run?.rootRunId ?? runId;
  const hops = (caller.run?.hops ?? 0) + 1;
  const route = routeOf(requester);
  await tx.sessions.insert(childRow(config, { tx, childKey, requester, plan, args }));
  await tx.spawns.insert({
    childKey,
    runId,
    requesterKey: requester.key,
    requesterRunId: caller.run?.runId ?? null,
    task: args.task,
    label: args.label ?? null,
    cleanup: args.cleanup ?? 'keep',
    announceMode: announce.mode,
    archiveAfterMinutes,
    // Captured now: where people talk later does not move the announce (BR-083).
    routeJson: isChatRoute(route) ? JSON.stringify(route) : null,
    state: 'running',
    createdAt: tx.now,
    settledAt: null,
  });
  const channel = channelOf(requester);
  await acceptRun(tx, {
    runId,
    sessionKey: childKey,
    kind: 'task',
    text: args.task,
    provenance: {
      kind: 'inter_session',
      sourceSessionKey: requester.key,
      ...(channel === 'unknown' ? {} : { sourceChannel: channel }),
      sourceTool: 'sessions_spawn',
      rootRunId,
      hops,
    },
    purpose: 'task',
    runClass: 'subagent',
    rootRunId,
    hops,
    spawnKey: childKey,
    ...(caller.run === undefined ? {} : { parentRunId: caller.run.runId }),
    ...(idempotency === undefined ? {} : { idempotency }),
    timeoutMs: (args.runTimeoutSeconds ?? runTimeoutSeconds) * 1000,
  });
  tx.signal({ type: 'session', sessionKey: childKey });
  return answerFor(args, { runId, childKey, plan });
}

function childRow(
  config: Config,
  {
    tx,
    childKey,
    requester,
    plan,
    args,
  }: {
    tx: WriteTx;
    childKey: string;
    requester: SessionRow;
    plan: SpawnPlan;
    args: SessionsSpawnArgs;
  },
): SessionRow {
  return newSessionRow(config, {
    key: childKey,
    agentId: plan.agent.id,
    now: tx.now,
    label: args.label ?? null,
    displayName: args.label ?? childTitle(args.task),
    model: plan.model,
    thinkingLevel: plan.thinking,
    spawnedBy: requester.key,
    rootKey: requester.rootKey,
    spawnDepth: requester.spawnDepth + 1,
    lastChannel: requester.lastChannel,
    lastTo: requester.lastTo,
    lastAccountId: requester.lastAccountId,
    lastThreadId: requester.lastThreadId,
  });
}

async function earlierAnswer(
  tx: WriteTx,
  args: SessionsSpawnArgs,
  runId: string,
): Promise<SessionsSpawnAnswer> {
  const run = must(await tx.runs.get(runId), `accepted run ${runId} has no row`);
  // The key outlives the child: of one that was purged the run is left, and names it (A13).
  const child = await tx.sessions.get(run.sessionKey);
  return answerFor(args, {
    runId,
    childKey: run.sessionKey,
    plan: child && { model: child.model ?? '', thinking: child.thinkingLevel ?? 'off' },
  });
}

function answerFor(
  args: SessionsSpawnArgs,
  {
    runId,
    childKey,
    plan,
  }: { runId: string; childKey: string; plan: Omit<SpawnPlan, 'agent'> | undefined },
): SessionsSpawnAnswer {
  return {
    status: 'accepted',
    runId,
    childSessionKey: childKey,
    mode: 'run',
    ...(plan === undefined ? {} : { modelApplied: plan.model, thinkingApplied: plan.thinking }),
    ...(args.attachAs === undefined ? {} : { note: 'attachAs is reserved and has no effect' }),
  };
}

function keyOf(caller: SessionCaller, args: SessionsSpawnArgs): IdempotencyKey | undefined {
  const key =
    caller.run === undefined
      ? caller.idempotencyKey
      : `${caller.run.runId}:${caller.run.position}:${caller.run.callIndex}`;
  if (key === undefined) return undefined;
  const { idempotencyKey: _, ...content } = args;
  return {
    scope: `${caller.sessionKey} sessions_spawn`,
    key,
    contentHash: contentHashOf(content),
  };
}

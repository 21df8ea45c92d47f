/** `sessions_spawn`: a task in a session of its own, answered at once; the result is announced later (A16, B7). */
import { randomUUID } from 'node:crypto';
import { workspaceOf } from '../../core/agents.ts';
import type { ReadAttachments } from '../../core/attachments.ts';
import type { SessionCaller } from '../../core/caller.ts';
import { childTitle } from '../../core/child-title.ts';
import { channelOf } from '../../core/keys.ts';
import { redactAttachments } from '../../core/redact-attachments.ts';
import { faultOf, toldOf } from '../../core/refusals.ts';
import type { Config } from '../../protocol/options/config.ts';
import type { SessionsSpawnAnswer } from '../../protocol/tools/session-tool-answers.ts';
import type { SessionsSpawnArgs } from '../../protocol/tools/session-tool-args.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { ReadTx, WriteTx } from '../../store/store.ts';
import { must } from '../../util/assert.ts';
import {
  type AttachedFolder,
  attachFiles,
  filesOf,
  receiptOf,
  takeBack,
  toFilesJson,
} from '../attachments/attach-files.ts';
import { relDirOf } from '../attachments/attachment-folder.ts';
import { acceptRun, contentHashOf, findAccepted, type IdempotencyKey } from '../runs/accept-run.ts';
import type { RunServices } from '../context.ts';
import { lockCaller } from '../runs/lock-caller.ts';
import { isChatRoute, routeOf } from '../delivery/outbox.ts';
import { giveBudget } from '../budgets/budget-rows.ts';
import { newSessionRow } from '../sessions/session-rows.ts';
import { attachmentsOf, missingRequester, planSpawn, type SpawnPlan } from './plan-spawn.ts';

/** A spawn as it was asked for, under the configuration of that moment. */
interface SpawnRequest {
  config: Config;
  caller: SessionCaller;
  args: SessionsSpawnArgs;
  idempotency: IdempotencyKey | undefined;
  attached: ReadAttachments;
}

/**
 * Checks in the order of B7.3 and writes the child in the same transaction: a refused spawn leaves nothing.
 * Attachments are on the disk before that transaction, whose row names them, and only once all is checked.
 */
export async function spawnSession(
  services: RunServices,
  caller: SessionCaller,
  args: SessionsSpawnArgs,
): Promise<SessionsSpawnAnswer> {
  const config = services.config();
  const attached = attachmentsOf(config, args);
  const request = { config, caller, args, idempotency: keyOf(caller, args), attached };
  if (!attached.ok || attached.files.length === 0) return acceptSpawn(services, request);
  const judged = await services.store.read((tx) => judge(tx, request));
  if ('status' in judged) return judged;
  const { agent } = judged.plan;
  const place = { agentId: agent.id, stateDir: services.stateDir };
  const workspace = workspaceOf(config, place);
  const folder = await attachFiles(services, {
    workspace,
    agentId: agent.id,
    files: attached.files,
  });
  if (typeof folder === 'string') return faultOf('attachments', folder);
  // A commit that fails may have been done all the same: then the folder is left to the sweep.
  const answer = await acceptSpawn(services, request, folder);
  if (!isOf(answer, folder)) await takeBack(services, { workspace, folder });
  return answer;
}

function acceptSpawn(
  services: RunServices,
  request: SpawnRequest,
  folder?: AttachedFolder,
): Promise<SessionsSpawnAnswer> {
  return services.store.write('accept-spawn', async (tx) => {
    await lockCaller(tx, services, request.caller);
    const judged = await judge(tx, request);
    return 'status' in judged ? judged : writeSpawn(tx, { ...request, ...judged, folder });
  });
}

/** Returns what the spawn is to be; or its answer, when it is refused or was accepted before. */
async function judge(
  tx: ReadTx,
  { config, caller, args, idempotency, attached }: SpawnRequest,
): Promise<{ requester: SessionRow; plan: SpawnPlan } | SessionsSpawnAnswer> {
  const requester = await tx.sessions.get(caller.sessionKey);
  if (requester === undefined) {
    return toldOf(missingRequester(caller));
  }
  const earlier = await findAccepted(tx, idempotency);
  if (earlier === 'conflict') {
    return faultOf('key_used', 'this idempotencyKey was used for another task; use a new key');
  }
  if (earlier !== undefined) return earlierAnswer(tx, args, earlier.inputId);
  const plan = await planSpawn(tx, config, { caller, requester, args, attached });
  return 'status' in plan ? toldOf(plan) : { requester, plan };
}

/** Another spawn under the same key may have been first. */
function isOf(answer: SessionsSpawnAnswer, { folderId }: AttachedFolder): boolean {
  return 'attachments' in answer && answer.attachments?.relDir === relDirOf(folderId);
}

async function writeSpawn(
  tx: WriteTx,
  {
    config,
    caller,
    requester,
    args,
    plan,
    idempotency,
    folder,
  }: SpawnRequest & {
    requester: SessionRow;
    plan: SpawnPlan;
    folder: AttachedFolder | undefined;
  },
): Promise<SessionsSpawnAnswer> {
  const { archiveAfterMinutes, announce, runTimeoutSeconds } = config.agents.defaults.subagents;
  const childKey = `agent:${plan.agent.id}:subagent:${randomUUID()}`;
  const runId = randomUUID();
  const rootRunId = caller.run?.rootRunId ?? runId;
  const hops = (caller.run?.hops ?? 0) + 1;
  const route = routeOf(requester);
  await tx.windows.countChild(requester.sessionId);
  await tx.sessions.insert(childRow(config, { tx, childKey, requester, plan, args }));
  const { limits } = plan;
  if (limits !== undefined) await giveBudget(tx, { ownerKey: childKey, limits });
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
    attachAsJson: args.attachAs === undefined ? null : JSON.stringify(args.attachAs),
    state: 'running',
    createdAt: tx.now,
    settledAt: null,
  });
  if (folder !== undefined) {
    await tx.attachments.insert({
      folderId: folder.folderId,
      childKey,
      agentId: plan.agent.id,
      filesJson: toFilesJson(folder.files),
      state: 'kept',
      createdAt: tx.now,
    });
  }
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
  return answerFor(args, { runId, childKey, plan, folder });
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
  tx: ReadTx,
  args: SessionsSpawnArgs,
  runId: string,
): Promise<SessionsSpawnAnswer> {
  const run = must(await tx.runs.get(runId), `accepted run ${runId} has no row`);
  // The key outlives the child: of one that was purged the run is left, and names it (A13).
  const child = await tx.sessions.get(run.sessionKey);
  const row = await tx.attachments.ofChild(run.sessionKey);
  return answerFor(args, {
    runId,
    childKey: run.sessionKey,
    plan: child && { model: child.model ?? '', thinking: child.thinkingLevel ?? 'off' },
    folder: row && { folderId: row.folderId, files: filesOf(row) },
  });
}

function answerFor(
  args: SessionsSpawnArgs,
  {
    runId,
    childKey,
    plan,
    folder,
  }: {
    runId: string;
    childKey: string;
    plan: Pick<SpawnPlan, 'model' | 'thinking'> | undefined;
    folder: AttachedFolder | undefined;
  },
): SessionsSpawnAnswer {
  return {
    status: 'accepted',
    runId,
    childSessionKey: childKey,
    mode: 'run',
    ...(plan === undefined ? {} : { modelApplied: plan.model, thinkingApplied: plan.thinking }),
    ...(folder === undefined ? {} : { attachments: receiptOf(folder.folderId, folder.files) }),
    ...(args.attachAs === undefined ? {} : { note: 'attachAs is reserved and has no effect' }),
  };
}

function keyOf(caller: SessionCaller, args: SessionsSpawnArgs): IdempotencyKey | undefined {
  const key =
    caller.run === undefined
      ? caller.idempotencyKey
      : `${caller.run.runId}:${caller.run.position}:${caller.run.callIndex}`;
  if (key === undefined) return undefined;
  const { idempotencyKey: _, attachments, ...content } = args;
  return {
    scope: `${caller.sessionKey} sessions_spawn`,
    key,
    contentHash: contentHashOf({
      ...content,
      ...(attachments === undefined ? {} : { attachments: redactAttachments(attachments) }),
    }),
  };
}

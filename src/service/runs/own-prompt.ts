/** What the model is told of the run's own message: who sent it, what is asked of it (A10, A15, A18). */
import { channelOf, isSubagentKey } from '../../core/keys.ts';
import type { OwnPrompt } from '../../core/model-context.ts';
import {
  exchangeAnnouncePrompt,
  exchangeTurnContext,
  primaryContext,
  relayContext,
  spawnAnnouncePrompt,
  taskContext,
} from '../../core/prompts.ts';
import { parseStoredObject } from '../../core/stored-message.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { ReadTx } from '../../store/store.ts';
import { must } from '../../util/assert.ts';
import { lastWorkOf } from '../spawn/last-work.ts';

/** Returns a session's key as the model is told it. */
export type TellKey = (key: string) => string;

interface Told {
  run: RunRow;
  tell: TellKey;
}

/** Returns the prompt of a run, made from its rows. */
export async function ownPromptOf(tx: ReadTx, told: Told): Promise<OwnPrompt> {
  const { run } = told;
  switch (run.purpose) {
    case 'message':
      return primaryPrompt(tx, told);
    case 'task':
    case 'spawn_announce':
    case 'spawn_relay':
      return spawnPrompt(tx, told);
    case 'exchange_turn':
    case 'exchange_announce':
      return exchangePrompt(tx, told);
    default:
      return { runId: run.runId };
  }
}

async function primaryPrompt(tx: ReadTx, { run, tell }: Told): Promise<OwnPrompt> {
  const input = await tx.inputs.get(run.runId);
  if (input?.kind !== 'inter_session' || input.sourceKey === null) return { runId: run.runId };
  const prefix = primaryContext({
    requesterKey: tell(input.sourceKey),
    requesterChannel: await channelNameOf(tx, input.sourceKey),
    targetKey: tell(run.sessionKey),
    targetChannel: await channelNameOf(tx, run.sessionKey),
  });
  return { runId: run.runId, prefix };
}

async function spawnPrompt(tx: ReadTx, { run, tell }: Told): Promise<OwnPrompt> {
  const spawn = must(await tx.spawns.get(run.spawnKey ?? ''), `run ${run.runId} has no spawn`);
  const { requesterKey, label } = spawn;
  if (run.purpose === 'task')
    return { runId: run.runId, prefix: taskContext({ requesterKey: tell(requesterKey), label }) };
  if (run.purpose === 'spawn_relay') {
    const channel = run.deliver ? channelOfRoute(run) : undefined;
    const { childKey } = spawn;
    return { runId: run.runId, prefix: relayContext({ childKey, label, channel }) };
  }
  const task = must(await tx.runs.get(spawn.runId), `child ${spawn.childKey} has no run`);
  const replace = spawnAnnouncePrompt({
    requesterKey: tell(requesterKey),
    // a sub-agent has no chat, it has that of its root in its row
    channel: isSubagentKey(requesterKey) ? undefined : await channelNameOf(tx, requesterKey),
    task: spawn.task,
    reply: (await lastWorkOf(tx, { spawn, task })).reply ?? '',
  });
  return { runId: run.runId, replace };
}

function channelOfRoute({ routeJson }: RunRow): string {
  const channel = routeJson === null ? undefined : parseStoredObject(routeJson)?.['channel'];
  return typeof channel === 'string' ? channel : 'chat';
}

async function exchangePrompt(tx: ReadTx, { run, tell }: Told): Promise<OwnPrompt> {
  const exchange = must(
    await tx.exchanges.get(run.exchangeId ?? ''),
    `run ${run.runId} has no exchange`,
  );
  const { requesterKey, targetKey, maxTurns } = exchange;
  if (run.purpose === 'exchange_turn') {
    const role = run.sessionKey === requesterKey ? 'requester' : 'target';
    const prefix = exchangeTurnContext({
      role,
      requesterKey: tell(requesterKey),
      requesterChannel: await channelNameOf(tx, requesterKey),
      targetKey: tell(targetKey),
      targetChannel: await channelNameOf(tx, targetKey),
      turn: exchange.turns + 1,
      maxTurns,
    });
    return { runId: run.runId, prefix };
  }
  const replace = exchangeAnnouncePrompt({
    requesterKey: tell(requesterKey),
    channel: (await channelNameOf(tx, targetKey)) ?? 'chat',
    requestText: exchange.requestText,
    firstReply: exchange.firstReply ?? '',
    latestReply: exchange.latestReply,
  });
  return { runId: run.runId, replace };
}

async function channelNameOf(tx: ReadTx, key: string): Promise<string | undefined> {
  const session = await tx.sessions.get(key);
  if (session === undefined) return undefined;
  const channel = channelOf(session);
  return channel === 'unknown' ? undefined : channel;
}

/** Telling a requester how its child ended (A18, B7.7): does what `nextSpawnStep` decides. */
import { SPAWN_ANNOUNCE_TEXT } from '../../core/prompts.ts';
import { nextSpawnStep, type SpawnStep } from '../../core/spawn-state.ts';
import type { WriteTx } from '../../store/store.ts';
import { must } from '../../util/assert.ts';
import { startArchiveClock } from '../archive/archive-clock.ts';
import { acceptRun, type NewRun } from '../runs/accept-run.ts';
import type { RunContext } from '../context.ts';
import { announceOf } from './announce-of.ts';
import { placeOf, provenanceOf } from './announce-provenance.ts';
import { addAnnounceJob, announceRunIdOf, relayRunIdOf } from './follow-spawn.ts';
import { readSpawn, type SpawnView } from './read-spawn.ts';
import { tellRequester } from './tell-requester.ts';

/** One model call without tools: when it takes longer, the child's last reply is announced without it. */
const ANNOUNCE_LIMIT_MS = 300_000;

/** Handles the job `announce-spawn`: one step, and the end of the job, in one transaction. */
export async function announceSpawn(context: RunContext, childKey: string): Promise<void> {
  const told = await context.store.write('announce-spawn', async (tx) => {
    await tx.jobs.remove(`announce-spawn:${childKey}`);
    const view = await readSpawn(tx, context, childKey);
    if (view === undefined) return undefined;
    const step = nextSpawnStep(view.facts);
    await takeStep(tx, context, { view, step });
    return { step, requester: view.requester };
  });
  if (told?.step.do === 'settle' && told.requester.kind === 'gone') {
    context.logger.warn(
      { childKey },
      'nobody above this sub-agent is left to be told how it ended',
    );
  }
}

async function takeStep(
  tx: WriteTx,
  context: RunContext,
  { view, step }: { view: SpawnView; step: SpawnStep },
): Promise<void> {
  switch (step.do) {
    case 'rest':
      // What it waits for adds this job again when it ends.
      return;
    case 'announce-turn':
      return queueAnnounceTurn(tx, context, view);
    case 'relay-turn':
      return queueRelayTurn(tx, context, { view, deliver: step.deliver });
    case 'settle':
      await tellRequester(tx, context, { view, step });
      return settle(tx, view);
  }
}

async function queueAnnounceTurn(tx: WriteTx, context: RunContext, view: SpawnView): Promise<void> {
  const { spawn } = view;
  const turn = turnOf(context, view);
  await acceptRun(tx, {
    ...turn,
    timeoutMs: Math.min(turn.timeoutMs, ANNOUNCE_LIMIT_MS),
    runId: announceRunIdOf(spawn.runId),
    sessionKey: spawn.childKey,
    text: SPAWN_ANNOUNCE_TEXT,
    provenance: provenanceOf(view, spawn.requesterKey),
    purpose: 'spawn_announce',
    runClass: 'subagent',
  });
}

/** The announce is the message of this turn; what the requester makes of it goes to the captured chat. */
async function queueRelayTurn(
  tx: WriteTx,
  context: RunContext,
  { view, deliver }: { view: SpawnView; deliver: boolean },
): Promise<void> {
  const { spawn, route, requester } = view;
  const session = must(requester.session, `nobody is left to relay ${spawn.childKey}`);
  const turn = turnOf(context, view);
  // One more in the chain, so that relays and spawns in turns come to an end (A11).
  const hops = turn.hops + 1;
  await acceptRun(tx, {
    ...turn,
    hops,
    runId: relayRunIdOf(spawn.runId),
    sessionKey: session.key,
    text: await announceOf(tx, context, view),
    provenance: { ...provenanceOf(view, spawn.childKey), hops },
    purpose: 'spawn_relay',
    runClass: 'nested',
    deliver,
    ...(deliver && route !== undefined ? { route } : {}),
  });
}

function turnOf(
  context: RunContext,
  view: SpawnView,
): Pick<NewRun, 'kind' | 'rootRunId' | 'hops' | 'spawnKey' | 'timeoutMs'> {
  return {
    kind: 'prompt',
    ...placeOf(view),
    spawnKey: view.spawn.childKey,
    timeoutMs: context.config().agents.defaults.timeoutSeconds * 1000,
  };
}

/** A parent that is a child itself is announced after its children: the last one to settle asks for it. */
async function settle(tx: WriteTx, { spawn }: SpawnView): Promise<void> {
  await tx.spawns.update(spawn.childKey, { state: 'settled', settledAt: tx.now });
  await startArchiveClock(tx, spawn);
  const parent = await tx.spawns.get(spawn.requesterKey);
  if (parent?.state === 'announcing') await addAnnounceJob(tx, parent.childKey);
}

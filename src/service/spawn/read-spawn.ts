/** What the store knows of a spawn, as the facts that decide what follows (A18). */
import { closureOf } from '../../core/access.ts';
import { completeRoute } from '../../core/announce-route.ts';
import { isOutcome } from '../../core/run-state.ts';
import { hasAnnounceTurn, type SpawnFacts, type TurnFact } from '../../core/spawn-state.ts';
import type { Route } from '../../protocol/words.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { SpawnRow } from '../../store/follow-up-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import type { RunContext } from '../context.ts';
import { isChatRoute, routeOf, storedRoute } from '../delivery/outbox.ts';
import type { EndedChild } from './announce-of.ts';
import { findRequester, type Requester } from './find-requester.ts';
import { announceRunIdOf, relayRunIdOf } from './follow-spawn.ts';
import { lastWorkOf, textOfRun } from './last-work.ts';

/** A spawn with all that belongs to it, and what it says to `nextSpawnStep`. */
export interface SpawnView extends EndedChild {
  relayTurn: RunRow | undefined;
  requester: Requester;
  /** where the announce goes, undefined = no chat is known */
  route: Route | undefined;
  facts: SpawnFacts;
}

/** Returns the view of a spawn in this unit, or undefined when there is none. */
export async function readSpawn(
  tx: WriteTx,
  context: RunContext,
  childKey: string,
): Promise<SpawnView | undefined> {
  const spawn = await tx.spawns.get(childKey);
  if (spawn === undefined) return undefined;
  const child = await tx.sessions.get(childKey);
  const task = await tx.runs.get(spawn.runId);
  const announceTurn = await tx.runs.get(announceRunIdOf(spawn.runId));
  const relayTurn = await tx.runs.get(relayRunIdOf(spawn.runId));
  const isStopped = [task, announceTurn].some((run) => run !== undefined && isStop(run));
  const requester = await findRequester(tx, { spawn, child, isStopped });
  const route = announceRoute(context, { spawn, requester });
  const base = { spawn, child, task, announceTurn, relayTurn, requester, route };
  return { ...base, facts: await factsOf(tx, context, base) };
}

async function factsOf(
  tx: WriteTx,
  context: RunContext,
  view: Omit<SpawnView, 'facts'>,
): Promise<SpawnFacts> {
  const { spawn, child, task, announceTurn, requester, route } = view;
  return {
    mode: spawn.announceMode,
    isSettled: spawn.state === 'settled',
    task: task === undefined ? 'gone' : turnFactOf(task),
    isChildOpen: child !== undefined && closureOf(child) === undefined,
    hasOpenChildren: await tx.spawns.hasUnsettled(spawn.childKey),
    announceTurn: announceTurn === undefined ? undefined : turnFactOf(announceTurn),
    isSilent: await isSilent(tx, view),
    requester: requester.kind,
    hasChat: isChatRoute(route) && context.channels.has(route.channel),
    relayTurn: await relayFactOf(tx, view),
  };
}

/** The words that are announced: the announce turn's, or the child's last where there is no such turn. */
async function isSilent(tx: WriteTx, view: Omit<SpawnView, 'facts'>): Promise<boolean> {
  const { spawn, task, announceTurn } = view;
  if (task?.state !== 'ok' || spawn.state === 'settled') return false;
  if (announceTurn === undefined && hasAnnounceTurn(spawn.announceMode)) return false;
  const run = announceTurn ?? (await lastWorkOf(tx, { spawn, task }));
  // its visible reply is empty, but something was said
  return run.state === 'ok' && run.reply === '' && (await hasSpoken(tx, run));
}

/** A text, or a silence word. */
async function hasSpoken(tx: WriteTx, run: RunRow): Promise<boolean> {
  if (run.reply !== null && run.reply !== '') return true;
  const said = await textOfRun(tx, { run, role: 'assistant' });
  return said !== undefined && said.trim() !== '';
}

async function relayFactOf(
  tx: WriteTx,
  { relayTurn, requester }: Omit<SpawnView, 'facts'>,
): Promise<SpawnFacts['relayTurn']> {
  if (relayTurn === undefined) return undefined;
  return {
    turn: turnFactOf(relayTurn),
    isDelivered: relayTurn.deliver,
    hasSpoken: await hasSpoken(tx, relayTurn),
    wasRead: (await tx.inputs.get(relayTurn.runId))?.state === 'appended',
    isHere: requester.session?.key === relayTurn.sessionKey,
  };
}

function turnFactOf(run: RunRow): TurnFact {
  if (!isOutcome(run.state)) return 'going';
  if (run.state === 'ok') return 'ok';
  return isStop(run) ? 'stopped' : 'failed';
}

/** Somebody stopped it; an interrupt by a person's next message is none. */
function isStop({ state, stoppedBy }: RunRow): boolean {
  return state === 'aborted' && stoppedBy !== null;
}

/** Captured at the spawn, so that where people talk later does not move it (BR-083). */
function announceRoute(
  context: RunContext,
  { spawn, requester: { session } }: { spawn: SpawnRow; requester: Requester },
): Route | undefined {
  const last = session === undefined ? undefined : routeOf(session);
  const { routeJson, childKey: id } = spawn;
  if (routeJson === null) return last;
  const captured = storedRoute(context, { routeJson, column: 'spawns.route_json', id });
  return captured === undefined ? undefined : completeRoute(captured, last);
}

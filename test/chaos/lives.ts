/**
 * The lives of the gateways of a campaign: one after another in each seat, each killed at a moment of
 * chance; some stop in order, and where there are two, one is now and then paused beyond its lease.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Address, Seat, World } from './chaos-world.ts';
import type { ChildProgram } from './child-program.ts';
import { HANG_SIGNAL } from './late-units.ts';
import { type GatewayEntry, readLedger, writeLedger } from './ledger.ts';
import { createRandom, type Random } from './random.ts';

export interface Fates {
  kills: number;
  /** gateways that stand still beyond their lease, then go on */
  pauses: number;
  seed: number;
  /** nothing more befalls anybody after this */
  seconds: number;
  /** told now and then how far it is */
  onProgress?: ((line: string) => void) | undefined;
}

/** What befell the gateways. */
export interface Befallen {
  kills: number;
  drains: number;
  pauses: number;
}

const READY_MS = 90_000;
/** A life in which nothing goes forward ends all the same. */
const LONGEST_LIFE_MS = 8000;
/** An orderly stop takes 5 s for the runs, and as much for the rest on a busy machine. */
const LONGEST_STOP_MS = 20_000;
/** The lease is 10 s; others look every second. */
const PAUSE_MS = [11_500, 13_500] as const;
/** Before a pause, so that it finds much under way. */
const LONGEST_HANG_MS = 10_000;
/** Of the lives that may end in any way. */
const DRAIN_SHARE = 0.12;

/** Resolves with what befell them, once it has; one gateway is alive in each seat then. */
export async function liveAndDie(
  world: World,
  fates: Fates,
): Promise<Befallen & { last: ChildProgram<Address>[] }> {
  const befallen: Befallen = { kills: 0, drains: 0, pauses: 0 };
  const endAt = performance.now() + fates.seconds * 1000;
  const run: Run = { world, fates, befallen, endAt, isPausing: false, doom: undefined };
  const last = await Promise.all(
    world.seats.map((seat, at) => liveInSeat(run, { seat, random: createRandom(fates.seed + at) })),
  );
  return { ...befallen, last };
}

interface Run {
  world: World;
  fates: Fates;
  befallen: Befallen;
  endAt: number;
  /** one at a time, so that somebody can go on */
  isPausing: boolean;
  /** set while whoever is not paused has to die; resolves when the next one may begin */
  doom: Promise<void> | undefined;
}

async function liveInSeat(
  run: Run,
  { seat, random }: { seat: Seat; random: Random },
): Promise<ChildProgram<Address>> {
  const { befallen, fates, endAt } = run;
  let gateway = seat.first;
  let isFirst = true;
  while (performance.now() < endAt || run.doom !== undefined) {
    if (befallen.pauses < fates.pauses && !run.isPausing && random.chance(pauseShare(run)))
      await pause(run, { gateway, random });
    if (befallen.kills >= fates.kills && run.doom === undefined) {
      if (befallen.pauses >= fates.pauses) break;
      await delay(50);
      continue;
    }
    const next = seat.load();
    await live(run, { gateway, next, random, isFirst });
    await die(run, { gateway, random });
    await within(next.loaded, READY_MS);
    await run.doom;
    next.begin();
    [gateway, isFirst] = [next, false];
  }
  return gateway;
}

/** Pauses are spread over the kills; when these are done, the rest comes at once. */
function pauseShare({ befallen, fates }: Run): number {
  const [kills, pauses] = [fates.kills - befallen.kills, fates.pauses - befallen.pauses];
  return kills <= 0 ? 1 : Math.min(1, pauses / kills);
}

/**
 * Lets it stand still, amid its work, until its lease is over. In between the other one goes on with that
 * work, or is dead, by turns: then the one that wakes up has its lanes again, at their next epoch.
 */
async function pause(
  run: Run,
  { gateway, random }: { gateway: ChildProgram<Address>; random: Random },
): Promise<void> {
  run.isPausing = true;
  const { ledgers } = run.world;
  await within(gateway.ready, READY_MS);
  await moreJobs(run, 30);
  const over = Promise.withResolvers<void>();
  if (run.befallen.pauses % 2 === 1) run.doom = over.promise;
  const ms = random.between(...PAUSE_MS);
  process.kill(gateway.pid, HANG_SIGNAL);
  await hanging(ledgers.gateway, gateway.pid);
  process.kill(gateway.pid, 'SIGSTOP');
  writeLedger(ledgers.gateway, { type: 'paused', pid: gateway.pid, ms });
  await delay(ms);
  process.kill(gateway.pid, 'SIGCONT');
  over.resolve();
  run.doom = undefined;
  run.befallen.pauses += 1;
  run.isPausing = false;
  // what it does with what it wakes up with is to be seen
  await moreJobs(run, 20);
}

/** Resolves when enough is under way in that gateway, or will not be. */
async function hanging(ledger: string, pid: number): Promise<void> {
  const endAt = performance.now() + LONGEST_HANG_MS;
  const isHanging = (): boolean =>
    readLedger<GatewayEntry>(ledger).some((entry) => entry.type === 'hanging' && entry.pid === pid);
  while (!isHanging() && performance.now() < endAt) await delay(100);
}

async function die(
  { befallen, fates, world, doom }: Run,
  { gateway, random }: { gateway: ChildProgram<Address>; random: Random },
): Promise<void> {
  const { driver, ledgers } = world;
  const { pid } = gateway;
  if (doom === undefined && random.chance(DRAIN_SHARE)) {
    writeLedger(ledgers.gateway, { type: 'drained', pid, code: await stopInOrder(gateway) });
    befallen.drains += 1;
    return;
  }
  await gateway.end('SIGKILL');
  writeLedger(ledgers.gateway, { type: 'killed', pid });
  befallen.kills += 1;
  if (befallen.kills % 10 === 0) fates.onProgress?.(`${befallen.kills} kills, ${driver.jobs} jobs`);
}

/** Resolves with its exit code; null when it did not end by itself. */
export async function stopInOrder(gateway: ChildProgram<Address>): Promise<number | null> {
  // one that is told before it listens to the signal dies of it
  await within(gateway.ready, READY_MS);
  const timer = setTimeout(() => void gateway.end('SIGKILL'), LONGEST_STOP_MS);
  const code = await gateway.end('SIGTERM');
  clearTimeout(timer);
  return code;
}

/**
 * Resolves at the moment of its death: now and then within its start or soon after, mostly in the
 * middle of its work, when the next one is loaded already and its absence short.
 */
async function live(run: Run, { gateway, random, next, isFirst }: Life): Promise<void> {
  const kind = random.pick(['start', 'soon', 'work', 'work', 'work', 'work', 'work'] as const);
  const [afterMs, afterJobs] = [random.between(0, 300), random.between(0, 30)];
  if (kind !== 'start' || isFirst) await within(gateway.ready, READY_MS);
  if (kind === 'work') {
    await within(next.loaded, READY_MS);
    await moreJobs(run, afterJobs);
  }
  await delay(afterMs);
}

interface Life {
  gateway: ChildProgram<Address>;
  /** the one after it, being loaded */
  next: ChildProgram<Address>;
  random: Random;
  isFirst: boolean;
}

/** Resolves when there is so much more work, or at once when it is doomed. */
async function moreJobs(run: Run, count: number): Promise<void> {
  const { driver } = run.world;
  const enough = driver.jobs + count;
  const endAt = performance.now() + LONGEST_LIFE_MS;
  const isOver = (): boolean => driver.jobs >= enough || run.doom !== undefined;
  while (!isOver() && performance.now() < endAt) await delay(10);
}

/** Rejects when a gateway is not where it should be by then. */
export async function within(promise: Promise<unknown>, limitMs: number): Promise<void> {
  const limit = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => limit.reject(new Error(`the gateway was not ready within ${limitMs} ms`)),
    limitMs,
  );
  await Promise.race([promise, limit.promise]).finally(() => clearTimeout(timer));
}

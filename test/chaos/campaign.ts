/** A campaign: work, kills at moments of chance, a last recovery, and the verdict from the ledgers and the store. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Break, POSTGRES_BREAKS } from './breaks.ts';
import { type Address, openWorld, type StoreKind, type World } from './chaos-world.ts';
import type { ChildProgram } from './child-program.ts';
import { writeLedger } from './ledger.ts';
import { type Befallen, liveAndDie, stopInOrder, within } from './lives.ts';
import { pendingNotes, workLeft } from './store-state.ts';
import { judge, type Verdict } from './verdict.ts';

export interface CampaignOptions {
  /** SQLite with one gateway when it is not given; on Postgres there are two */
  store?: StoreKind | undefined;
  kills: number;
  /** gateways that are paused beyond their lease, on Postgres; one for twelve kills when it is not given */
  pauses?: number | undefined;
  seed: number;
  /** no more kills after this; what follows takes as long as the recovery takes */
  seconds: number;
  /** asks at least for so many jobs, if need be after the last kill */
  jobs?: number | undefined;
  broken?: Break | undefined;
  /** told now and then how far it is */
  onProgress?: (line: string) => void;
  /** keeps the state directory and the ledgers, for a look at what went wrong */
  keep?: boolean | undefined;
  /** by then everything must have ended after the last kill, two minutes when it is not given */
  settleMs?: number | undefined;
}

export interface CampaignReport extends Verdict, Befallen {
  seed: number;
  /** where state and ledgers are, when they were kept */
  folder: string | undefined;
  ms: number;
}

const SETTLE_MS = 120_000;
const READY_MS = 90_000;
const LOOK_MS = 100;
const KILLS_PER_PAUSE = 12;

/** Runs a campaign and ends all that it started. */
export async function runCampaign(options: CampaignOptions): Promise<CampaignReport> {
  const startedAt = performance.now();
  const folder = mkdtempSync(join(tmpdir(), 'chaos-'));
  const ends: (() => Promise<unknown>)[] = [];
  const { store = 'sqlite', kills, seed } = options;
  try {
    const cleanUp = (end: () => Promise<unknown>): void => void ends.push(end);
    const world = await openWorld(folder, { ...options, store, cleanUp });
    const { pauses = Math.ceil(kills / KILLS_PER_PAUSE) } = options;
    const fates = { ...options, pauses: store === 'postgres' ? pauses : 0 };
    const { last, ...befallen } = await liveAndDie(world, fates);
    const verdict = await lastRecovery(world, { gateways: last, options });
    const ms = Math.round(performance.now() - startedAt);
    return { ...verdict, ...befallen, seed, ms, folder: options.keep ? folder : undefined };
  } finally {
    for (const end of ends.reverse()) await end();
    if (options.keep !== true) rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Returns the store on which this safeguard can be missed. */
export function storeOfBreak(broken: Break): StoreKind {
  return POSTGRES_BREAKS.has(broken) ? 'postgres' : 'sqlite';
}

async function lastRecovery(
  world: World,
  { gateways, options }: { gateways: ChildProgram<Address>[]; options: CampaignOptions },
): Promise<Verdict> {
  const { jobs = 0, settleMs = SETTLE_MS } = options;
  await Promise.all(gateways.map((gateway) => within(gateway.ready, READY_MS)));
  const { database, driver, ledgers } = world;
  const endAt = performance.now() + settleMs;
  const settled = async (): Promise<void> => {
    while ((await workLeft(database)) && performance.now() < endAt) await delay(LOOK_MS);
  };
  while (driver.jobs < jobs && performance.now() < endAt) await delay(LOOK_MS);
  await driver.finish(settleMs);
  for (let round = 0; round < 10 && performance.now() < endAt; round += 1) {
    await settled();
    // A note joins the next turn of its session, so there must be one.
    const sessions = await pendingNotes(database);
    if (sessions.length === 0) break;
    await driver.poke(sessions);
    await driver.finish(settleMs);
  }
  for (const gateway of gateways) {
    const code = await stopInOrder(gateway);
    writeLedger(ledgers.gateway, { type: 'drained', pid: gateway.pid, code });
  }
  return judge(world);
}

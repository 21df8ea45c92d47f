/** A campaign: work, kills at moments of chance, a last recovery, and the verdict from the ledgers and the store. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { databaseOf } from '../helpers/open-gateway.ts';
import type { Break } from './breaks.ts';
import { type ChildProgram, startChildProgram } from './child-program.ts';
import { Driver } from './driver.ts';
import { AGENTS, workspaceFolder } from './jobs.ts';
import { createRandom, type Random } from './random.ts';
import { pendingNotes, workLeft } from './store-state.ts';
import { judge, type Verdict } from './verdict.ts';

export interface CampaignOptions {
  kills: number;
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
}

export interface CampaignReport extends Verdict {
  seed: number;
  kills: number;
  /** where state and ledgers are, when they were kept */
  folder: string | undefined;
  ms: number;
}

interface Address {
  url: string;
  port: number;
  token: string;
}

/** After the last start everything must have ended by then. */
const SETTLE_MS = 120_000;
const READY_MS = 30_000;
/** A life in which nothing goes forward ends all the same. */
const LONGEST_LIFE_MS = 8000;

/** Runs a campaign and ends all that it started. */
export async function runCampaign(options: CampaignOptions): Promise<CampaignReport> {
  const startedAt = performance.now();
  const folder = mkdtempSync(join(tmpdir(), 'chaos-'));
  const programs: ChildProgram<unknown>[] = [];
  try {
    const world = await openWorld(folder, { options, programs });
    const { kills, last } = await killAgainAndAgain(world, options);
    const report = await lastRecovery(world, { gateway: last, jobs: options.jobs ?? 0 });
    const ms = Math.round(performance.now() - startedAt);
    return { ...report, kills, seed: options.seed, ms, folder: options.keep ? folder : undefined };
  } finally {
    await Promise.all(programs.map((program) => program.end()));
    if (options.keep !== true) rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

interface World {
  stateDir: string;
  ledgers: Record<'driver' | 'model' | 'channel', string>;
  /** Loads another gateway for the same state and port; it begins when it is told, and the one before is gone. */
  load(): ChildProgram<Address>;
  /** runs from the first gateway on */
  driver: Driver;
  first: ChildProgram<Address>;
}

async function openWorld(
  folder: string,
  { options, programs }: { options: CampaignOptions; programs: ChildProgram<unknown>[] },
): Promise<World> {
  const { seed, broken } = options;
  const [stateDir, compileCache] = [join(folder, 'state'), join(folder, 'compiled')];
  mkdirSync(stateDir);
  const ledgerOf = (name: string): string => join(folder, `${name}.jsonl`);
  const ledgers = {
    driver: ledgerOf('driver'),
    model: ledgerOf('model'),
    channel: ledgerOf('channel'),
  };
  const start = <Ready>(program: string, args: Record<string, string>): ChildProgram<Ready> => {
    const started = startChildProgram<Ready>(program, { args, compileCache });
    programs.push(started);
    return started;
  };
  const shared = { seed: String(seed) };
  const model = start<{ url: string }>('chaos-model', { ...shared, ledger: ledgers.model });
  const channel = start<{ url: string }>('chaos-channel', { ...shared, ledger: ledgers.channel });
  const config = configOf((await model.ready).url);
  writeFileSync(join(stateDir, 'trunkline.json'), JSON.stringify(config));
  const channels = (await channel.ready).url;
  const gatewayArgs = {
    'state-dir': stateDir,
    channels,
    ...(broken === undefined ? {} : { break: broken }),
  };
  const first = start<Address>('chaos-gateway', gatewayArgs);
  first.begin();
  const address = await first.ready;
  const workspaceOf = (agentId: string): string => workspaceFolder(stateDir, agentId);
  return {
    stateDir,
    ledgers,
    first,
    load: () => start('chaos-gateway', { ...gatewayArgs, port: String(address.port) }),
    driver: new Driver({ address, ledger: ledgers.driver, seed, workspaceOf }),
  };
}

/** Agents that may reach and spawn each other, on the model of the campaign. */
function configOf(modelUrl: string): Record<string, unknown> {
  const provider = { baseUrl: `${modelUrl}/v1`, apiKey: 'k', models: [{ id: 'fake-1' }] };
  const list = AGENTS.map((id, at) => ({
    id,
    default: at === 0,
    subagents: { allowAgents: ['*'] },
  }));
  return {
    agents: { defaults: { maxConcurrent: 8 }, list },
    session: { agentToAgent: { maxPingPongTurns: 2 } },
    tools: { sessions: { visibility: 'all' }, agentToAgent: { enabled: true } },
    // each message has a turn of its own, and as many wait as the campaign sends
    messages: { queue: { mode: 'followup', debounceMs: 0, cap: 500 } },
    models: { providers: { fake: provider } },
  };
}

/** Returns how many gateways were killed, and the one that is to be the last. */
async function killAgainAndAgain(
  world: World,
  options: CampaignOptions,
): Promise<{ kills: number; last: ChildProgram<Address> }> {
  const random = createRandom(options.seed);
  const endAt = performance.now() + options.seconds * 1000;
  let [gateway, kills] = [world.first, 0];
  while (kills < options.kills && performance.now() < endAt) {
    const next = world.load();
    await live(world, { gateway, next, random, isFirst: kills === 0 });
    await gateway.end('SIGKILL');
    kills += 1;
    if (kills % 10 === 0) options.onProgress?.(`${kills} kills, ${world.driver.jobs} jobs`);
    await within(next.loaded, READY_MS);
    next.begin();
    gateway = next;
  }
  return { kills, last: gateway };
}

/**
 * Resolves at the moment of its death: now and then within its start or soon after, mostly in the
 * middle of its work, when the next one is loaded already and its absence short.
 */
async function live({ driver }: World, { gateway, random, next, isFirst }: Life): Promise<void> {
  const kind = random.pick(['start', 'soon', 'work', 'work', 'work', 'work', 'work'] as const);
  const [afterMs, afterJobs] = [random.between(0, 300), random.between(0, 30)];
  if (kind !== 'start' || isFirst) await within(gateway.ready, READY_MS);
  if (kind === 'work') {
    await within(next.loaded, READY_MS);
    const enough = driver.jobs + afterJobs;
    const endAt = performance.now() + LONGEST_LIFE_MS;
    while (driver.jobs < enough && performance.now() < endAt) await delay(10);
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

async function lastRecovery(
  world: World,
  { gateway, jobs }: { gateway: ChildProgram<Address>; jobs: number },
): Promise<Verdict> {
  await within(gateway.ready, READY_MS);
  const database = databaseOf(world.stateDir);
  const endAt = performance.now() + SETTLE_MS;
  while (world.driver.jobs < jobs && performance.now() < endAt) await delay(50);
  await world.driver.finish(SETTLE_MS);
  for (let round = 0; round < 10 && performance.now() < endAt; round += 1) {
    while (workLeft(database) && performance.now() < endAt) await delay(50);
    // A note joins the next turn of its session, so there must be one.
    const sessions = pendingNotes(database);
    if (sessions.length === 0) break;
    await world.driver.poke(sessions);
    await world.driver.finish(SETTLE_MS);
  }
  await gateway.end('SIGTERM');
  return judge({ database, ledgers: world.ledgers, stateDir: world.stateDir });
}

async function within(promise: Promise<unknown>, limitMs: number): Promise<void> {
  const limit = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => limit.reject(new Error(`the gateway was not ready within ${limitMs} ms`)),
    limitMs,
  );
  await Promise.race([promise, limit.promise]).finally(() => clearTimeout(timer));
}

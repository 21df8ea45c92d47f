/** The processes of a campaign: model, chats, driver, and one gateway on SQLite or two on one Postgres database. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { databaseOf } from '../helpers/open-gateway.ts';
import { startPostgres } from '../../src/store/postgres/postgres-server.suite.ts';
import type { Break } from './breaks.ts';
import { type ChildProgram, startChildProgram } from './child-program.ts';
import { Driver } from './driver.ts';
import { AGENTS, workspaceFolder } from './jobs.ts';
import type { Ledgers } from './ledger.ts';
import type { Database } from './store-state.ts';

export type StoreKind = 'sqlite' | 'postgres';

export interface Address {
  url: string;
  port: number;
  token: string;
}

/** A place with a state directory and a port, where one gateway runs after another. */
export interface Seat {
  first: ChildProgram<Address>;
  /** Loads the next gateway of this place; it begins when it is told, and the one before is gone. */
  load(): ChildProgram<Address>;
}

export interface World {
  database: Database;
  ledgers: Ledgers;
  seats: Seat[];
  /** runs from the first gateways on */
  driver: Driver;
  workspaceOf(agentId: string): string;
}

interface WorldOptions {
  store: StoreKind;
  seed: number;
  broken?: Break | undefined;
  /** Told what has to be ended, in the order of its making. */
  cleanUp(end: () => Promise<unknown>): void;
}

type Start = <Ready>(program: string, args: Record<string, string>) => ChildProgram<Ready>;

const TOKEN = 'chaos';

/** Starts everything in this folder, and resolves once the first gateways answer. */
export async function openWorld(folder: string, options: WorldOptions): Promise<World> {
  const { seed, broken, store } = options;
  const ledgers = ledgersIn(folder);
  const compileCache = join(folder, 'compiled');
  const start: Start = (program, args) => {
    const started = startChildProgram<never>(program, { args, compileCache });
    options.cleanUp(() => started.end());
    return started;
  };
  const shared = { seed: String(seed) };
  const model = start<{ url: string }>('chaos-model', { ...shared, ledger: ledgers.model });
  const channel = start<{ url: string }>('chaos-channel', { ...shared, ledger: ledgers.channel });
  const database = await openDatabase(join(folder, 'seat-1'), options);
  const gatewayArgs = {
    channels: (await channel.ready).url,
    ledger: ledgers.gateway,
    ...(database.kind === 'postgres' ? { database: database.url } : {}),
    ...(broken === undefined ? {} : { break: broken }),
  };
  const names = store === 'postgres' ? ['seat-1', 'seat-2'] : ['seat-1'];
  const modelUrl = (await model.ready).url;
  const config = configOf({ modelUrl, folder, isAlone: names.length === 1 });
  const opened = await Promise.all(
    names.map((name) => openSeat(join(folder, name), { config, start, gatewayArgs })),
  );
  const workspaceOf = (agentId: string): string => workspaceFolder(folder, agentId);
  const addresses = opened.map(({ address }) => address);
  return {
    database,
    ledgers,
    seats: opened.map(({ seat }) => seat),
    driver: new Driver({ addresses, ledger: ledgers.driver, seed, workspaceOf }),
    workspaceOf,
  };
}

function ledgersIn(folder: string): Ledgers {
  const ledgerOf = (name: string): string => join(folder, `${name}.jsonl`);
  return {
    driver: ledgerOf('driver'),
    model: ledgerOf('model'),
    channel: ledgerOf('channel'),
    gateway: ledgerOf('gateway'),
  };
}

async function openDatabase(stateDir: string, { store, cleanUp }: WorldOptions): Promise<Database> {
  if (store === 'sqlite') return { kind: 'sqlite', path: databaseOf(stateDir) };
  const server = await startPostgres();
  cleanUp(() => server.stop());
  return { kind: 'postgres', url: await server.createDatabase('chaos') };
}

async function openSeat(
  stateDir: string,
  {
    config,
    start,
    gatewayArgs,
  }: { config: object; start: Start; gatewayArgs: Record<string, string> },
): Promise<{ seat: Seat; address: Address }> {
  mkdirSync(stateDir);
  writeFileSync(join(stateDir, 'trunkline.json'), JSON.stringify(config));
  const args = { ...gatewayArgs, 'state-dir': stateDir };
  const first = start<Address>('chaos-gateway', args);
  first.begin();
  const address = await first.ready;
  const load = (): ChildProgram<Address> =>
    start('chaos-gateway', { ...args, port: String(address.port) });
  return { seat: { first, load }, address };
}

/** Agents that may reach and spawn each other, on the model of the campaign and in folders that all gateways share. */
function configOf({
  modelUrl,
  folder,
  isAlone,
}: {
  modelUrl: string;
  folder: string;
  isAlone: boolean;
}): object {
  const provider = { baseUrl: `${modelUrl}/v1`, apiKey: 'k', models: [{ id: 'fake-1' }] };
  const list = AGENTS.map((id, at) => ({
    id,
    default: at === 0,
    subagents: { allowAgents: ['*'] },
  }));
  return {
    gateway: { auth: { token: TOKEN } },
    agents: {
      // two gateways share the lanes: else the first to hear of one would take them all
      defaults: { maxConcurrent: isAlone ? 8 : 4, workspace: workspaceFolder(folder, AGENTS[0]) },
      list,
    },
    session: { agentToAgent: { maxPingPongTurns: 2 } },
    tools: {
      allow: ['*', 'sessions_wait', 'sessions_stop'],
      sessions: { visibility: 'all' },
      agentToAgent: { enabled: true },
    },
    // each message has a turn of its own, and as many wait as the campaign sends, unless its session says otherwise
    messages: { queue: { mode: 'followup', debounceMs: 0, cap: 500 } },
    models: { providers: { fake: provider } },
  };
}

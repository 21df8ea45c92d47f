/** Several gateway processes on one Postgres database, with one model behind them all. */
import { setTimeout as delay } from 'node:timers/promises';
import type { TestContext } from 'node:test';
import { connectGateway } from '../../src/client/gateway-client.ts';
import type { PostgresServer } from '../../src/store/postgres/postgres-server.suite.ts';
import { type FakeModel, startFakeModel } from './fake-model.ts';
import { CRASH_CONFIG, makeStateDir, startGatewayProcess } from './gateway-process.ts';
import { type Life, toLife } from './kill-world.ts';
import { PATIENCE_MS } from './patience.ts';

type Row = Record<string, unknown>;

export interface PostgresWorld {
  /** address of the database */
  database: string;
  model: FakeModel;
  /** Starts one more gateway, with a state directory of its own. */
  start(options?: { crash?: string; chat?: string }): Promise<Life>;
  query(sql: string): Promise<Row[]>;
  /** Resolves when the query has this as its only value. */
  becomes(sql: string, value: unknown): Promise<void>;
  /** Role and text of each message of a session, in order. */
  transcript(sessionKey: string): Promise<string[]>;
  /** Resolves when nothing is open any more. */
  settled(): Promise<void>;
}

/** Work that is not done by then is stuck. */
const END_MS = 30_000;
/** Two of them start one after another, and one is paused beyond its lease. */
const LONGEST_LIFE_MS = 150_000;

let databases = 0;

/** Makes an empty database whose gateways have the agents main and scout, with these settings beside the usual ones. */
export async function makePostgresWorld(
  t: TestContext,
  server: PostgresServer,
  settings: Record<string, unknown> = {},
): Promise<PostgresWorld> {
  const model = await startFakeModel();
  t.after(() => model.close());
  const provider = { baseUrl: `${model.url}/v1`, apiKey: 'k', models: [{ id: 'fake-1' }] };
  const config = { ...CRASH_CONFIG, models: { providers: { fake: provider } }, ...settings };
  const database = await server.createDatabase(`world-${(databases += 1)}`);
  const query = (sql: string): Promise<Row[]> => server.query(database, sql);
  const becomes = async (sql: string, value: unknown): Promise<void> => {
    const deadline = performance.now() + END_MS;
    for (;;) {
      const rows = await query(sql);
      const found = Object.values(rows[0] ?? {})[0];
      if (found === value) return;
      if (performance.now() > deadline) throw new Error(`still ${String(found)}: ${sql}`);
      await delay(50);
    }
  };
  return {
    database,
    model,
    query,
    becomes,
    start: async (options = {}) => {
      const stateDir = makeStateDir(t, { config });
      const gateway = startGatewayProcess(t, {
        stateDir,
        database,
        longestLifeMs: LONGEST_LIFE_MS,
        ...options,
      });
      const address = await gateway.ready;
      const client = await connectGateway({ ...address, timeoutMs: PATIENCE_MS });
      t.after(() => client.close());
      return toLife({ process: gateway, address, client });
    },
    transcript: async (sessionKey) => {
      const rows = await query(`select json from entries
        join windows on windows.session_id = entries.session_id
        where windows.session_key = '${sessionKey}' order by seq`);
      return rows.map(({ json }) => {
        const { role, content } = JSON.parse(String(json)) as {
          role: string;
          content: string | { text?: string }[];
        };
        const parts = typeof content === 'string' ? [{ text: content }] : content;
        return `${role}: ${parts.map(({ text = '' }) => text).join('')}`;
      });
    },
    settled: () => becomes(OPEN, 0),
  };
}

const OPEN = `select ((select count(*) from runs where state in ('queued', 'running', 'waiting'))
  + (select count(*) from lanes where owner is not null or pending <> 0 or state <> 'idle')
  + (select count(*) from deliveries where state in ('queued', 'sending'))
  + (select count(*) from graphile_worker._private_jobs jobs
    join graphile_worker._private_tasks tasks on tasks.id = jobs.task_id
    where tasks.identifier not in ('archive-session', 'maintain-sessions')))::int as open`;

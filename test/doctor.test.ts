/** `trunkline doctor` on state directories. */
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { type DoctorReport, examineState } from '../src/app/examine-state.ts';
import { startGateway } from '../src/app/start-gateway.ts';
import { jsonChecks } from '../src/store/sql/doctor/json-checks.ts';
import { sqliteDoctorDialect } from '../src/store/sqlite/doctor/doctor-dialect.ts';
import { silentLogger } from '../src/util/logger.ts';
import { doctorRules, forgetModels, live, type Patient, statesOf } from './doctor-rules.suite.ts';
import { runCli } from './helpers/captured-io.ts';
import { startWorld } from './helpers/test-world.ts';

const root = mkdtempSync(join(tmpdir(), 'doctor-'));
const lived = join(root, 'lived');
after(() => rmSync(root, { recursive: true, force: true }));

before(async (t) => {
  const world = await startWorld(t as never, { talk: true });
  await live(world);
  cpSync(world.gateway.stateDir, lived, { recursive: true });
});

let copies = 0;
function freshCopy(): string {
  copies += 1;
  const stateDir = join(root, `copy-${copies}`);
  cpSync(lived, stateDir, { recursive: true });
  return stateDir;
}
function run(stateDir: string, ...statements: string[]): void {
  const db = new DatabaseSync(join(stateDir, 'trunkline.db'));
  try {
    for (const sql of statements) {
      const { changes } = db.prepare(sql).run();
      assert.ok(Number(changes) > 0, `changes something: ${sql}`);
    }
  } finally {
    db.close();
  }
}
const examine = (stateDir: string, fix = false): Promise<DoctorReport> =>
  examineState({ stateDir, fix, env: {} });
const JOB_FOR_NOTHING =
  "insert into jobs (job_key, kind, payload_json, run_at, attempts) values ('deliver:x', 'deliver', '{}', 1, 0)";

doctorRules('SQLite', () => Promise.resolve(patientAt(freshCopy())));

function patientAt(stateDir: string): Patient {
  const inStore = <T>(use: (db: DatabaseSync) => T): T => {
    const db = new DatabaseSync(join(stateDir, 'trunkline.db'));
    try {
      return use(db);
    } finally {
      db.close();
    }
  };
  return {
    run: async (sql) => inStore((db) => Number(db.prepare(sql).run().changes)),
    sum: async (sql) => inStore((db) => Number(Object.values(db.prepare(sql).get() ?? {})[0])),
    columnsOf: async (table) =>
      inStore((db) => db.prepare('select name from pragma_table_info(?)').all(table)).map(
        (column) => String(column['name']),
      ),
    addJob: JOB_FOR_NOTHING,
    dropJob: (jobKey) => `delete from jobs where job_key = '${jobKey}'`,
    examine: (options = { fix: false }) => examine(stateDir, options.fix),
    doctor: (...flags) => runCli(['doctor', ...flags, '--state-dir', stateDir]),
    start: () => {
      forgetModels(stateDir);
      return startGateway({ stateDir, port: 0, env: {}, logger: silentLogger });
    },
  };
}

test('[DC1] a store that was used and stopped in order is clean, and is not changed by a look', async () => {
  const stateDir = freshCopy();
  const bytes = readFileSync(join(stateDir, 'trunkline.db'));
  const result = await runCli(['doctor', '--state-dir', stateDir]);
  assert.equal(result.exitCode, 0, result.out + result.notes);
  assert.match(result.out, /trunkline\.db: nothing is wrong$/);
  assert.deepEqual(readFileSync(join(stateDir, 'trunkline.db')), bytes);
});

test('[DC2] the doctor finds and heals a job that cannot be read, of whatever kind', async () => {
  const stateDir = freshCopy();
  const torn = (key: string, kind: string) =>
    `insert into jobs (job_key, kind, payload_json, run_at, attempts)
      select ${key}, '${kind}', '{"deli', 1, 0`;
  run(
    stateDir,
    "update deliveries set state = 'queued' where state = 'sent'",
    "insert into attachments values ('f', 'child', 'a', '{}', 'leaving', 1)",
    `${torn("'deliver:' || route_key", 'deliver')} from deliveries where state = 'queued' group by 1`,
    torn("'remove-attachments:f'", 'remove-attachments'),
    torn("'expire-inbox:r'", 'expire-inbox'),
    "update jobs set payload_json = '{\"to' where kind = 'maintain-sessions'",
  );
  const found = await examine(stateDir);
  assert.deepEqual(new Set(statesOf(found)), new Set(['unreadable-jobs-payload-json healable']));
  assert.equal((await examine(stateDir, true)).outcome, 'healed');
  assert.deepEqual(statesOf(await examine(stateDir)), []);
  const db = new DatabaseSync(join(stateDir, 'trunkline.db'));
  const payloads = db
    .prepare(
      "select payload_json as p from jobs where kind not in ('deliver', 'archive-session') order by kind",
    )
    .all();
  const left = db.prepare('select job_key from jobs where not json_valid(payload_json)').all();
  db.close();
  assert.deepEqual(left, []);
  assert.deepEqual(
    payloads.map(({ p }) => p),
    ['{"runId":"r"}', '{}', '{"folderId":"f"}'],
  );
});

test('[DC3] every column that holds JSON is looked at', () => {
  const db = new DatabaseSync(join(lived, 'trunkline.db'));
  const columns = db
    .prepare(
      `select m.name || '-' || replace(c.name, '_', '-') as name
      from sqlite_master m join pragma_table_info(m.name) c
      where m.type = 'table' and (c.name like '%\\_json' escape '\\' or c.name = 'json')`,
    )
    .all();
  db.close();
  const { ownChecks } = sqliteDoctorDialect;
  assert.deepEqual(
    new Set(columns.map(({ name }) => `unreadable-${String(name)}`)),
    new Set(
      [...jsonChecks(sqliteDoctorDialect), ...ownChecks]
        .map(({ name }) => name)
        .filter((name) => name.startsWith('unreadable-')),
    ),
  );
});

const NEWEST = 'select max(id) from search_entries where words > 0';
for (const [fault, sql] of [
  ['a message that it lacks', `delete from search_entries where id = (${NEWEST})`],
  ['a message whose terms are gone', `delete from search_terms where rowid = (${NEWEST})`],
  [
    'terms of a message that is not there',
    `insert into search_terms (rowid, terms) values (9000, 'chat')`,
  ],
] as const) {
  test(`[SR10, DC2] the doctor finds and heals the index of a search: ${fault}`, async () => {
    const stateDir = freshCopy();
    run(stateDir, sql);
    assert.deepEqual(statesOf(await examine(stateDir)), ['search-index healable']);
    assert.equal((await examine(stateDir, true)).outcome, 'healed');
    assert.deepEqual(statesOf(await examine(stateDir)), []);
  });
}

test('[DC5] an index that does not fit its table is made again; other damage of the file is reported and left', async () => {
  const stateDir = freshCopy();
  const path = join(stateDir, 'trunkline.db');
  truncateSync(path, readFileSync(path).length / 2);
  const bytes = readFileSync(path);
  const { exitCode, out } = await runCli(['doctor', '--fix', '--state-dir', stateDir]);
  assert.equal(exitCode, 3);
  assert.match(out, /^file: left as it is: the file is damaged; "trunkline restore FILE"/);
  assert.deepEqual(readFileSync(path), bytes);
  const indexed = freshCopy();
  const db = new DatabaseSync(join(indexed, 'trunkline.db'));
  db.enableDefensive(false);
  db.exec('pragma writable_schema = on');
  // an index over rows that were written while it was away
  const { sql } = db.prepare("select sql from sqlite_schema where name = 'runs_state'").get() as {
    sql: string;
  };
  const rootPage = db.prepare("select rootpage from sqlite_schema where name = 'runs_state'").get();
  db.prepare("delete from sqlite_schema where name = 'runs_state'").run();
  db.close();
  const without = new DatabaseSync(join(indexed, 'trunkline.db'));
  without.enableDefensive(false);
  without.exec("delete from tool_calls; update runs set state = 'timeout' where seq = 1");
  without.exec('pragma writable_schema = on');
  without
    .prepare("insert into sqlite_schema values ('index', 'runs_state', 'runs', ?, ?)")
    .run(Number(rootPage?.['rootpage']), sql);
  without.close();
  const healed = await examine(indexed, true);
  assert.ok(statesOf(healed).includes('file healed'), statesOf(healed).join());
  assert.ok(!statesOf(await examine(indexed)).some((state) => state.startsWith('file')));
});

test('[CA9] backup and restore name the command that does the same on Postgres', async () => {
  const env = { TRUNKLINE_DATABASE_URL: 'postgres://u:secret@127.0.0.1/d' };
  const commands = { backup: /use pg_dump --format=custom/, restore: /use pg_restore --clean/ };
  for (const [command, instead] of Object.entries(commands)) {
    const { exitCode, notes } = await runCli([command, 'x', '--state-dir', freshCopy()], env);
    assert.equal(exitCode, 1);
    assert.match(notes, /names a Postgres database/);
    assert.match(notes, instead);
    assert.doesNotMatch(notes, /secret/);
  }
});

test('[DC6] the doctor needs the state for itself, a store, and no newer schema', async (t) => {
  const none = await runCli(['doctor', '--state-dir', join(root, 'none')]);
  assert.deepEqual([none.exitCode, /there is no store/.test(none.notes)], [1, true]);
  const newer = freshCopy();
  run(newer, "insert into schema_version (version, name, applied_at) values (99, 'later', 1)");
  const refused = await runCli(['doctor', '--fix', '--state-dir', newer]);
  assert.equal(refused.exitCode, 1);
  assert.match(refused.notes, /schema version 99/);
  const stateDir = freshCopy();
  const gateway = await startGateway({ stateDir, port: 0, env: {}, logger: silentLogger });
  t.after(() => gateway.stop());
  const busy = await runCli(['doctor', '--state-dir', stateDir]);
  assert.equal(busy.exitCode, 1);
  assert.match(busy.notes, /in use by another gateway/);
});

test('[DC7] the doctor compares every transcript file with the store and writes anew what differs', async () => {
  const stateDir = freshCopy();
  const db = new DatabaseSync(join(stateDir, 'trunkline.db'), { readOnly: true });
  const file = (key: string): string => {
    const row = db.prepare('select agent_id, session_id from sessions where key = ?').get(key);
    return join(
      stateDir,
      'agents',
      String(row?.['agent_id']),
      'sessions',
      `${String(row?.['session_id'])}.jsonl`,
    );
  };
  const [a, b] = [file('agent:a:main'), file('agent:b:main')];
  db.close();
  const whole = readFileSync(a, 'utf8');
  writeFileSync(a, whole.replace('here is a chat', 'here was a chat'));
  rmSync(b);
  assert.deepEqual(statesOf(await examine(stateDir)), [
    'mirror-missing healable',
    'mirror-different healable',
  ]);
  assert.equal((await examine(stateDir, true)).outcome, 'healed');
  const entries = (text: string): string[] => text.split('\n').slice(1);
  assert.deepEqual(entries(readFileSync(a, 'utf8')), entries(whole));
  assert.deepEqual(statesOf(await examine(stateDir)), []);
});

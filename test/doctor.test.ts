/** `trunkline doctor` on stores that were damaged by hand, one fault each. */
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { type DoctorReport, examineState } from '../src/app/examine-state.ts';
import { startGateway } from '../src/app/start-gateway.ts';
import { connectGateway } from '../src/client/gateway-client.ts';
import { silentLogger } from '../src/util/logger.ts';
import { runCli } from './helpers/captured-io.ts';
import { call, startWorld } from './helpers/test-world.ts';

const root = mkdtempSync(join(tmpdir(), 'doctor-'));
const lived = join(root, 'lived');
after(() => rmSync(root, { recursive: true, force: true }));

/** A state in which agents have talked, spawned and announced. */
before(async (t) => {
  const world = await startWorld(t as never, { talk: true });
  await world.say('main', 'SAY: here is a chat');
  const send = call('sessions_send', { sessionKey: 'agent:b:main', message: 'SAY: hello' });
  await world.say('main', `${send}\nSAY: sent`);
  await world.say('main', `${call('sessions_spawn', { task: 'SAY: result' })}\nSAY: spawned`);
  await world.quiet();
  await world.say('main', 'SAY: the note is in');
  await world.quiet();
  await world.gateway.stop();
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
const statesOf = (report: DoctorReport): string[] =>
  report.findings.map(({ check, state }) => `${check} ${state}`);

/** Returns an insertion of a run as the store has them, with these columns changed. */
function copyRun(changes: Record<string, string>): string {
  const db = new DatabaseSync(join(lived, 'trunkline.db'), { readOnly: true });
  const columns = db.prepare('select name from pragma_table_info(?)').all('runs');
  db.close();
  const names = columns.map((column) => String(column['name']));
  const values = names.map((name) => changes[name] ?? name);
  return `insert into runs (${names.join(', ')}) select ${values.join(', ')} from runs
    where session_key = 'agent:a:main' and purpose = 'message' order by seq limit 1`;
}
const QUEUED = { run_id: "'r-new'", state: "'queued'", seq: '900', session_id: 'null' };
const RUNNING = { ...QUEUED, state: "'running'", session_id: 'session_id' };
const QUEUED_RUN = 'a queued run';
const RUNNING_RUN = 'a running run';
const INPUT = `insert into inputs (input_id, session_key, seq, kind, run_id, text, state, root_run_id, accepted_at)
  values ('r-new', 'agent:a:main', 900, 'message', 'r-new', 'SAY: late', 'pending', 'r-new', 1)`;
const NEXT_SEQ = "update lanes set next_seq = 901 where session_key = 'agent:a:main'";

test('[DC1] a store that was used and stopped in order is clean, and is not changed by a look', async () => {
  const stateDir = freshCopy();
  const bytes = readFileSync(join(stateDir, 'trunkline.db'));
  const result = await runCli(['doctor', '--state-dir', stateDir]);
  assert.equal(result.exitCode, 0, result.out + result.notes);
  assert.match(result.out, /trunkline\.db: nothing is wrong$/);
  assert.deepEqual(readFileSync(join(stateDir, 'trunkline.db')), bytes);
});

const HEALED: [title: string, damage: string[], findings: string[]][] = [
  [
    'a lane that counts too much',
    [
      "update lanes set pending = 3, state = 'queued', head_class = 'main' where session_key = 'agent:a:main'",
    ],
    ['lane-counts'],
  ],
  ['a lane that forgot a queued run', [QUEUED_RUN, INPUT, NEXT_SEQ], ['lane-counts']],
  [
    'a lane that is gone',
    [QUEUED_RUN, INPUT, "delete from lanes where session_key = 'agent:a:main'"],
    ['lane-missing', 'lane-counts'],
  ],
  [
    'a lane that holds an ended run',
    [
      "update lanes set current_run_id = (select run_id from runs limit 1), state = 'running' where session_key = 'agent:a:main'",
    ],
    ['lane-current', 'lane-counts'],
  ],
  ['a run that its lane does not hold', [RUNNING_RUN], ['run-lane', 'lane-counts']],
  [
    'a message that joined the turn of a run that has ended',
    [
      RUNNING_RUN,
      "update runs set merged_into = (select run_id from runs where state = 'ok' limit 1) where state = 'running'",
    ],
    ['run-merged'],
  ],
  [
    'a queued run without its message',
    [
      QUEUED_RUN,
      "update lanes set pending = 1, state = 'queued', head_class = 'main' where session_key = 'agent:a:main'",
    ],
    ['run-input', 'lane-counts'],
  ],
  [
    'a lane whose next message would stand before an earlier one',
    ["update lanes set next_seq = 1 where session_key = 'agent:a:main'"],
    ['lane-next-seq'],
  ],
  [
    'a session without its window',
    ["delete from windows where session_key = 'agent:a:main'"],
    ['session-window'],
  ],
  [
    'a window that is closed though its session points at it',
    ["update windows set ended_at = 1 where session_key = 'agent:a:main'"],
    ['window-open'],
  ],
  [
    'a window that would write over its entries',
    ["update windows set next_seq = 2 where session_key = 'agent:a:main'"],
    ['window-next-seq'],
  ],
  [
    'a window that forgot its last entry',
    ["update windows set last_entry_id = null where session_key = 'agent:a:main'"],
    ['window-last-entry'],
  ],
  [
    'an exchange that is due without a job',
    ["update exchanges set state = 'due', ended_at = null, end_reason = 'max_turns'"],
    ['exchange-job'],
  ],
  [
    'an exchange that waits for a turn that is over',
    ["update exchanges set state = 'turn', ended_at = null, end_reason = null"],
    ['exchange-run', 'exchange-job'],
  ],
  [
    'a child that has ended and is still running',
    ["update spawns set state = 'running', settled_at = null"],
    ['spawn-state', 'spawn-job'],
  ],
  [
    'an announce that nothing does',
    ["update spawns set state = 'announcing', settled_at = null"],
    ['spawn-job'],
  ],
  [
    'a text that nothing sends',
    [
      "update deliveries set state = 'queued' where delivery_id = (select delivery_id from deliveries where state = 'sent' limit 1)",
    ],
    ['delivery-job'],
  ],
  [
    'a job for nothing',
    [
      "insert into jobs (job_key, kind, payload_json, run_at, attempts) values ('deliver:x', 'deliver', '{}', 1, 0)",
    ],
    ['job-deliveries'],
  ],
  [
    'a job that cannot be read',
    [
      "update deliveries set state = 'queued' where state = 'sent'",
      "insert into jobs (job_key, kind, payload_json, run_at, attempts) select distinct 'deliver:' || route_key, 'deliver', '{\"deli', 1, 0 from deliveries where state = 'queued'",
    ],
    ['unreadable-jobs-payload-json'],
  ],
  [
    'a wait of a run that has ended',
    [
      `insert into waits (wait_id, waiter_run_id, waiter_key, target_run_id, target_key, deadline_at, state, created_at)
         select 'w', run_id, session_key, run_id, session_key, 1, 'open', 1 from runs limit 1`,
    ],
    ['wait-run'],
  ],
  [
    'a descendant that does not count as one',
    ['delete from session_ancestors'],
    ['lineage-missing'],
  ],
  [
    'a session that counts as a descendant and is none',
    [
      "insert into session_ancestors (session_key, ancestor_key, updated_at) select key, 'agent:a:main', updated_at from sessions where key = 'agent:b:main'",
    ],
    ['lineage-wrong'],
  ],
  [
    'a session that stands in another place below its ancestors',
    ['update session_ancestors set updated_at = 1'],
    ['lineage-order'],
  ],
  [
    'a child under another root',
    ["update sessions set root_key = 'elsewhere', spawn_depth = 7 where spawned_by is not null"],
    ['lineage-root'],
  ],
];
/** The columns of a run are known once there is a store. */
const withRuns = (sql: string): string => {
  if (sql === QUEUED_RUN) return copyRun(QUEUED);
  return sql === RUNNING_RUN ? copyRun(RUNNING) : sql;
};
for (const [title, damage, findings] of HEALED) {
  test(`[DC2] the doctor finds and heals ${title}`, async () => {
    const stateDir = freshCopy();
    run(stateDir, ...damage.map(withRuns));
    const found = await examine(stateDir);
    assert.equal(found.outcome, 'left');
    assert.ok(
      found.findings.every(({ state }) => state === 'healable'),
      statesOf(found).join(),
    );
    assert.ok(statesOf(found).includes(`${findings[0]} healable`), statesOf(found).join());
    const healed = await examine(stateDir, true);
    assert.equal(healed.outcome, 'healed');
    for (const check of findings) {
      assert.ok(
        statesOf(healed).includes(`${check} healed`),
        `${check} in ${statesOf(healed).join()}`,
      );
    }
    assert.deepEqual(statesOf(await examine(stateDir)), []);
  });
}

const LEFT: [title: string, damage: string, finding: string][] = [
  ['a gap in a transcript', 'delete from entries where seq = 2', 'entry-gap'],
  [
    'a transcript without its end',
    'delete from entries where (session_id, seq) in (select session_id, next_seq - 1 from windows)',
    'entry-end',
  ],
  [
    'entries of no transcript',
    "update entries set session_id = 'lost' where session_id = (select session_id from sessions where key = 'agent:b:main')",
    'entry-window',
  ],
  [
    'a transcript of no session',
    "delete from sessions where key like '%subagent%'",
    'window-session',
  ],
  [
    'an entry that cannot be read',
    'update entries set json = \'{"role"\' where seq = 1',
    'unreadable-entries-json',
  ],
  ['a message without its run', `${INPUT}`, 'input-run'],
  [
    'a child whose run is gone',
    "update spawns set state = 'announcing', settled_at = null, run_id = 'gone'",
    'spawn-run',
  ],
];
for (const [title, damage, finding] of LEFT) {
  test(`[DC3, BR-053] the doctor reports ${title} and removes nothing`, async () => {
    const stateDir = freshCopy();
    run(stateDir, damage);
    const earlier = countRows(stateDir);
    const { outcome, findings } = await examine(stateDir, true);
    assert.equal(outcome, 'left');
    assert.equal(findings.find(({ check }) => check === finding)?.state, 'left');
    const now = countRows(stateDir);
    for (const table of ['sessions', 'windows', 'entries', 'inputs', 'runs'])
      assert.equal(now[table], earlier[table], table);
  });
}

function countRows(stateDir: string): Record<string, number> {
  const db = new DatabaseSync(join(stateDir, 'trunkline.db'), { readOnly: true });
  const tables = ['sessions', 'windows', 'entries', 'inputs', 'runs'];
  const counts = tables.map((table) => {
    const row = db.prepare(`select count(*) as total from ${table}`).get();
    return [table, Number(row?.['total'])] as const;
  });
  db.close();
  return Object.fromEntries(counts);
}

test('[DC4] what the doctor has put back in order goes on at the next start', async (t) => {
  const stateDir = freshCopy();
  run(stateDir, copyRun(QUEUED), INPUT, "delete from lanes where session_key = 'agent:a:main'");
  const config = JSON.parse(readFileSync(join(stateDir, 'trunkline.json'), 'utf8'));
  delete config.models;
  writeFileSync(join(stateDir, 'trunkline.json'), JSON.stringify(config));
  assert.equal((await examine(stateDir, true)).outcome, 'healed');
  const gateway = await startGateway({ stateDir, port: 0, env: {}, logger: silentLogger });
  t.after(() => gateway.stop());
  const { url, token } = gateway;
  const client = await connectGateway({ url, token, clientName: 'test' });
  t.after(() => client.close());
  const wait = { runId: 'r-new', timeoutMs: 20_000 };
  const { messageState } = await client.request('agent.wait', wait);
  assert.equal(messageState, 'done');
});

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

test('[DC6] the doctor needs the state for itself, a store, and no newer schema', async (t) => {
  const none = await runCli(['doctor', '--state-dir', join(root, 'none')]);
  assert.deepEqual([none.exitCode, /there is no store/.test(none.notes)], [1, true]);
  const env = { TRUNKLINE_DATABASE_URL: 'postgres://u:secret@127.0.0.1/d' };
  for (const argv of [['doctor'], ['backup', 'x'], ['restore', 'x']]) {
    const { exitCode, notes } = await runCli([...argv, '--state-dir', freshCopy()], env);
    assert.equal(exitCode, 1);
    assert.match(notes, /names a Postgres database/);
    assert.doesNotMatch(notes, /secret/);
  }
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

test('[DC1] the report says what was found, on which rows, and what to do', async () => {
  const stateDir = freshCopy();
  run(stateDir, "update lanes set pending = 3 where session_key = 'agent:a:main'");
  const look = await runCli(['doctor', '--state-dir', stateDir]);
  assert.equal(look.exitCode, 3);
  assert.equal(
    look.out,
    'lane-counts: can be healed: a lane counts its work wrongly; counted again\n' +
      '    agent:a:main\n\ntrunkline doctor --fix heals what can be healed',
  );
  const fixed = await runCli(['doctor', '--fix', '--json', '--state-dir', stateDir]);
  assert.equal(fixed.exitCode, 3);
  const { outcome, findings } = JSON.parse(fixed.out);
  assert.equal(outcome, 'healed');
  assert.deepEqual(findings[0].rows, ['agent:a:main']);
  assert.equal((await runCli(['doctor', '--state-dir', stateDir])).exitCode, 0);
});

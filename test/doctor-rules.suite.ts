/** The rules of `trunkline doctor`, on stores that were damaged by hand, one fault each: the same for every database. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { DoctorReport } from '../src/app/examine-state.ts';
import type { RunningGateway } from '../src/app/start-gateway.ts';
import { connectGateway } from '../src/client/gateway-client.ts';
import type { runCli } from './helpers/captured-io.ts';
import { call, type TestWorld } from './helpers/test-world.ts';

/** A copy of a store in which agents have talked, spawned and announced; nobody uses it. */
export interface Patient {
  /** Changes rows behind the store's back; returns how many. */
  run(sql: string): Promise<number>;
  /** Returns the one number that a query selects. */
  sum(sql: string): Promise<number>;
  columnsOf(table: string): Promise<string[]>;
  /** a statement that adds a due job of the kind `deliver` for nothing */
  addJob: string;
  /** Returns a statement that takes a job away. */
  dropJob(jobKey: string): string;
  examine(options?: { fix: boolean }): Promise<DoctorReport>;
  doctor(...flags: string[]): ReturnType<typeof runCli>;
  /** Starts a gateway on it, with the scripted runtime. */
  start(): Promise<RunningGateway>;
}

/** Has agents talk, spawn and announce, and stops the gateway. */
export async function live(world: TestWorld): Promise<void> {
  await world.say('main', 'SAY: here is a chat');
  const send = call('sessions_send', { sessionKey: 'agent:b:main', message: 'SAY: hello' });
  await world.say('main', `${send}\nSAY: sent`);
  await world.say('main', `${call('sessions_spawn', { task: 'SAY: result' })}\nSAY: spawned`);
  await world.quiet();
  await world.say('main', 'SAY: the note is in');
  await world.quiet();
  await world.gateway.stop();
}

/** The model endpoint of the life before is gone. */
export function forgetModels(stateDir: string): void {
  const path = join(stateDir, 'trunkline.json');
  const { models: _, ...config } = JSON.parse(readFileSync(path, 'utf8')) as { models: unknown };
  writeFileSync(path, JSON.stringify(config));
}

/** Returns what a report found, each with what became of it. */
export function statesOf(report: DoctorReport): string[] {
  return report.findings.map(({ check, state }) => `${check} ${state}`);
}

/** Runs statements that each must change something. */
export async function damage(patient: Patient, ...statements: string[]): Promise<void> {
  for (const sql of statements)
    assert.ok((await patient.run(sql)) > 0, `changes something: ${sql}`);
}

const QUEUED = { run_id: "'r-new'", state: "'queued'", seq: '900', session_id: 'null' };
const RUNNING = { ...QUEUED, state: "'running'", session_id: 'session_id' };
const QUEUED_RUN = 'a queued run';
const RUNNING_RUN = 'a running run';
const A_JOB = 'a job';
const NO_MAINTENANCE = 'no job that purges';
const INPUT = `insert into inputs (input_id, session_key, seq, kind, run_id, text, state, root_run_id, accepted_at)
  values ('r-new', 'agent:a:main', 900, 'message', 'r-new', 'SAY: late', 'pending', 'r-new', 1)`;
const NEXT_SEQ = "update lanes set next_seq = 901 where session_key = 'agent:a:main'";

/** a statement that adds a budget */
const budgetOf = (has: { reserved: number; going: number; countedTo: number }): string =>
  `insert into budgets (owner_key, spent_tokens, spent_nanos, spent_runs, spent_ms, reserved_tokens,
     reserved_nanos, going, counted_to, created_at)
   values ('k', 1, 1, 1, 1, ${has.reserved}, 0, ${has.going}, ${has.countedTo}, 1)`;

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
    'a child whose run is gone',
    ["update spawns set state = 'running', settled_at = null, run_id = 'gone'"],
    ['spawn-run', 'spawn-job'],
  ],
  [
    'a text that nothing sends',
    [
      "update deliveries set state = 'queued' where delivery_id = (select delivery_id from deliveries where state = 'sent' limit 1)",
    ],
    ['delivery-job'],
  ],
  ['a job for nothing', [A_JOB], ['job-deliveries']],
  [
    'files of a sub-agent that nothing removes',
    [
      "insert into attachments (folder_id, child_key, agent_id, files_json, state, created_at) values ('f', 'agent:a:subagent:x', 'a', '{\"files\":[]}', 'leaving', 1)",
    ],
    ['attachments-job'],
  ],
  [
    'a message that a client has and whose time nothing keeps',
    [
      RUNNING_RUN,
      "update runs set run_class = 'inbox', deadline_at = 5 where run_id = 'r-new'",
      "update lanes set current_run_id = 'r-new', pending = 1, state = 'running', head_class = 'inbox' where session_key = 'agent:a:main'",
    ],
    ['inbox-job'],
  ],
  [
    'a session whose time to be archived nothing keeps',
    ["update sessions set archive_at = 5 where key = 'agent:b:main'"],
    ['archive-job'],
  ],
  [
    'an archived session whose clock runs on',
    ["update sessions set archive_at = 5, archived_at = 4 where key = 'agent:b:main'"],
    ['archive-clock'],
  ],
  [
    'a deleted session that counts as open',
    ["update sessions set deleted_at = 5 where key = 'agent:b:main'"],
    ['archive-deleted', 'window-deleted', 'window-open'],
  ],
  [
    'a purge that nothing does',
    ["update windows set purge_at = 5 where session_key = 'agent:b:main'", NO_MAINTENANCE],
    ['purge-job'],
  ],
  [
    'a day whose sums hold more than its calls used',
    ["update usage_days set input_tokens = input_tokens + 5 where session_key = 'agent:a:main'"],
    ['usage-sums'],
  ],
  [
    'a day whose sums lack a call',
    ["update usage_days set calls = calls - 1 where session_key = 'agent:a:main'"],
    ['usage-sums'],
  ],
  [
    'an ended run that holds a part of a budget',
    [
      budgetOf({ reserved: 5, going: 1, countedTo: 1 }),
      "insert into budget_holds (run_id, owner_key, tokens, nanos) select run_id, 'k', 5, 0 from runs limit 1",
    ],
    ['budget-hold-run', 'budget-sums'],
  ],
  [
    'a budget whose time goes by although nobody holds a part of it',
    [budgetOf({ reserved: 0, going: 0, countedTo: 1 })],
    ['budget-sums'],
  ],
  ['calls that no sum has', ['delete from usage_days'], ['usage-missing', 'usage-sums']],
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
/** Some damage depends on the store. */
async function toSql(patient: Patient, what: string): Promise<string> {
  if (what === A_JOB) return patient.addJob;
  if (what === NO_MAINTENANCE) return patient.dropJob('maintain-sessions');
  if (what === QUEUED_RUN) return copyRun(patient, QUEUED);
  return what === RUNNING_RUN ? copyRun(patient, RUNNING) : what;
}

/** Returns an insertion of a run as the store has them, with these columns changed. */
async function copyRun(patient: Patient, changes: Record<string, string>): Promise<string> {
  const names = await patient.columnsOf('runs');
  const values = names.map((name) => changes[name] ?? name);
  return `insert into runs (${names.join(', ')}) select ${values.join(', ')} from runs
    where session_key = 'agent:a:main' and purpose = 'message' order by seq limit 1`;
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
];
const KEPT = ['sessions', 'windows', 'entries', 'inputs', 'runs'];

/** Registers the tests for one kind of store; `open` returns a fresh copy. */
export function doctorRules(store: string, open: () => Promise<Patient>): void {
  for (const [title, faults, findings] of HEALED) {
    test(`[DC2] on ${store} the doctor finds and heals ${title}`, async () => {
      const patient = await open();
      for (const fault of faults) await damage(patient, await toSql(patient, fault));
      const found = await patient.examine();
      const states = statesOf(found);
      assert.equal(found.outcome, 'left');
      assert.ok(
        found.findings.every(({ state }) => state === 'healable'),
        states.join(),
      );
      assert.ok(states.includes(`${findings[0]} healable`), states.join());
      const healed = await patient.examine({ fix: true });
      assert.equal(healed.outcome, 'healed', statesOf(healed).join());
      for (const check of findings) {
        const healedStates = statesOf(healed);
        assert.ok(healedStates.includes(`${check} healed`), `${check} in ${healedStates.join()}`);
      }
      assert.deepEqual(statesOf(await patient.examine()), []);
    });
  }

  for (const [title, fault, finding] of LEFT) {
    test(`[DC3, BR-053] on ${store} the doctor reports ${title} and removes nothing`, async () => {
      const patient = await open();
      await damage(patient, fault);
      const counts = () =>
        Promise.all(KEPT.map((table) => patient.sum(`select count(*) from ${table}`)));
      const earlier = await counts();
      const { outcome, findings } = await patient.examine({ fix: true });
      assert.equal(outcome, 'left');
      assert.equal(findings.find(({ check }) => check === finding)?.state, 'left');
      assert.deepEqual(await counts(), earlier);
    });
  }

  test(`[US15, DC2] on ${store} sums whose calls were purged, or are gone, are kept by the doctor`, async () => {
    const patient = await open();
    const column = (name: string) => patient.sum(`select sum(${name}) from usage_days`);
    const spent = [await column('calls'), await column('input_tokens')];
    assert.ok(spent.every((number) => number > 0));
    await damage(
      patient,
      "update usage_days set purged_calls = calls where session_key = 'agent:b:main'",
      "delete from model_calls where run_id in (select run_id from runs where session_key = 'agent:b:main')",
    );
    assert.deepEqual(statesOf(await patient.examine()), [], 'they were purged');
    await damage(patient, 'delete from model_calls');
    assert.deepEqual(statesOf(await patient.examine()), ['usage-sums healable']);
    assert.equal((await patient.examine({ fix: true })).outcome, 'healed');
    assert.deepEqual(statesOf(await patient.examine()), []);
    assert.deepEqual([await column('calls'), await column('input_tokens')], spent);
    assert.equal(await column('purged_calls'), spent[0]);
  });

  test(`[DC4] on ${store} what the doctor has put back in order goes on at the next start`, async (t) => {
    const patient = await open();
    const lost = "delete from lanes where session_key = 'agent:a:main'";
    await damage(patient, await copyRun(patient, QUEUED), INPUT, lost);
    assert.equal((await patient.examine({ fix: true })).outcome, 'healed');
    const gateway = await patient.start();
    t.after(() => gateway.stop());
    const { url, token } = gateway;
    const client = await connectGateway({ url, token, clientName: 'test' });
    t.after(() => client.close());
    const wait = { runId: 'r-new', timeoutMs: 20_000 };
    const { messageState } = await client.request('agent.wait', wait);
    assert.equal(messageState, 'done');
  });

  test(`[DC1] on ${store} the report says what was found, on which rows, and what to do`, async () => {
    const patient = await open();
    assert.equal((await patient.doctor()).exitCode, 0);
    await damage(patient, "update lanes set pending = 3 where session_key = 'agent:a:main'");
    const look = await patient.doctor();
    assert.equal(look.exitCode, 3);
    assert.equal(
      look.out,
      'lane-counts: can be healed: a lane counts its work wrongly; counted again\n' +
        '    agent:a:main\n\ntrunkline doctor --fix heals what can be healed',
    );
    const fixed = await patient.doctor('--fix', '--json');
    assert.equal(fixed.exitCode, 3);
    const { outcome, findings } = JSON.parse(fixed.out);
    assert.equal(outcome, 'healed');
    assert.deepEqual(findings[0].rows, ['agent:a:main']);
    assert.equal((await patient.doctor()).exitCode, 0);
  });
}

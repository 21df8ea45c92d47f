/** What is done at a start, at a stop, by an import and by the doctor, killed in the middle of it. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { it } from 'node:test';
import { examineState } from '../../src/app/examine-state.ts';
import { importIntoState } from '../../src/app/import-state.ts';
import { connectGateway, type GatewayClient } from '../../src/client/gateway-client.ts';
import { CRASH_CONFIG, makeStateDir, startGatewayProcess } from '../helpers/gateway-process.ts';
import { databaseOf, openGateway } from '../helpers/open-gateway.ts';
import { callTools } from './scenarios.ts';
import { PATIENCE_MS } from '../helpers/patience.ts';

const DOCTOR_PROGRAM = join(import.meta.dirname, '../helpers/crash-doctor.ts');
const IMPORT_PROGRAM = join(import.meta.dirname, '../helpers/crash-import.ts');
const CLOCKS = `select archive_at as archives, run_at as due from sessions
  left join jobs on job_key = 'archive-session:' || key where archive_at is not null`;

for (const when of ['before', 'after'] as const) {
  it(`[RC2] just ${when} rearm-clocks: every session that is to be archived has its job after the next start`, async (t) => {
    const stateDir = makeStateDir(t, { config: CRASH_CONFIG });
    const gateway = await openGateway(t, stateDir);
    await send(gateway.client, `${callTools(['sessions_spawn', { task: 'SAY: done' }])}\nSAY: ok`);
    await gateway.settled();
    await gateway.close();
    const [clock] = query(stateDir, CLOCKS);
    assert.ok(clock?.['archives'] !== undefined && clock['archives'] === clock['due']);
    // as a restored store may be
    query(stateDir, "delete from jobs where kind = 'archive-session'");

    const killed = startGatewayProcess(t, { stateDir, crash: `rearm-clocks:${when}:1` });
    assert.equal((await killed.exited).signal, 'SIGKILL');
    assert.deepEqual(query(stateDir, CLOCKS), [when === 'after' ? clock : { ...clock, due: null }]);

    await (await openGateway(t, stateDir)).close();
    assert.deepEqual(query(stateDir, CLOCKS), [clock]);
  });
}

for (const when of ['before', 'after'] as const) {
  it(`[RC2] just ${when} the commit of a rule of the doctor: all of its rows are healed, or none, and the doctor run again heals them`, async (t) => {
    const stateDir = makeStateDir(t, { config: CRASH_CONFIG });
    const gateway = await openGateway(t, stateDir);
    const spawnTwo = callTools(
      ['sessions_spawn', { task: 'SAY: one' }],
      ['sessions_spawn', { task: 'SAY: two' }],
    );
    await send(gateway.client, `${spawnTwo}\nSAY: ok`);
    await gateway.settled();
    await gateway.close();
    const clocks = query(stateDir, CLOCKS);
    assert.equal(clocks.length, 2);
    query(stateDir, "delete from jobs where kind = 'archive-session'");

    const args = ['--state-dir', stateDir, '--when', when];
    const killed = spawnSync(process.execPath, [DOCTOR_PROGRAM, ...args], { timeout: 60_000 });
    assert.equal(killed.signal, 'SIGKILL', String(killed.stderr));
    const left = clocks.map((clock) => (when === 'after' ? clock : { ...clock, due: null }));
    assert.deepEqual(query(stateDir, CLOCKS), left);

    await examineState({ fix: true, stateDir, env: {} });
    assert.deepEqual(query(stateDir, CLOCKS), clocks);
    assert.equal((await examineState({ fix: false, stateDir, env: {} })).outcome, 'clean');
  });
}

const CHILD = 'agent:main:subagent:7f9c6b1e-93a4-4d0f-8a27-0a4e5a8f9a01';
const IMPORTED = `select key, task from sessions left join spawns on child_key = key order by key`;

for (const [unit, left] of [
  ['import-session', { before: 0, after: 1 }],
  ['import-subagent-run', { before: 2, after: 2 }],
] as const) {
  for (const when of ['before', 'after'] as const) {
    it(`[RC2] just ${when} ${unit}: the import, run again, takes what is not there yet`, async (t) => {
      const stateDir = makeStateDir(t, { config: CRASH_CONFIG });
      const from = makeSource(stateDir);
      const args = ['--from', from, '--state-dir', stateDir, '--crash', `${unit}:${when}:1`];
      const killed = spawnSync(process.execPath, [IMPORT_PROGRAM, ...args], { timeout: 60_000 });
      assert.equal(killed.signal, 'SIGKILL', String(killed.stderr));
      const rows = query(stateDir, IMPORTED);
      assert.equal(rows.length, left[when]);
      const hasTask = unit === 'import-subagent-run' && when === 'after';
      assert.equal(
        rows.some(({ task }) => task !== null),
        hasTask,
      );

      await importIntoState({ dir: from, stateDir, env: {} });
      assert.deepEqual(query(stateDir, IMPORTED), [
        { key: 'agent:main:main', task: null },
        { key: CHILD, task: 'do it' },
      ]);
      const [{ count } = {}] = query(stateDir, 'select count(*) as count from entries');
      assert.equal(count, 2);
    });
  }
}

for (const when of ['before', 'after'] as const) {
  it(`[RC2] just ${when} uncount-attempt: the run goes on after the next start, its message once`, async (t) => {
    const stateDir = makeStateDir(t, { config: CRASH_CONFIG });
    const gateway = startGatewayProcess(t, { stateDir, crash: `uncount-attempt:${when}:1` });
    const { url, token } = await gateway.ready;
    const client = await connectGateway({ url, token, clientName: 'test', timeoutMs: PATIENCE_MS });
    t.after(() => client.close());
    const runId = await send(client, 'SLEEP: 60000\nSAY: never');
    const attempts = (): unknown => query(stateDir, 'select attempts from runs')[0]?.['attempts'];
    // counted once its step has been going for two seconds
    while (attempts() !== 1) await new Promise((again) => setTimeout(again, 50));
    assert.equal((await gateway.terminate()).signal, 'SIGKILL');
    assert.equal(attempts(), when === 'after' ? 0 : 1);

    const next = await openGateway(t, stateDir);
    assert.equal((await next.client.request('runs.get', { runId }))['outcome'], undefined);
    await next.client.request('runs.stop', { runId });
    assert.equal((await next.client.request('agent.wait', { runId }))['outcome'], 'aborted');
    const [{ count } = {}] = query(
      stateDir,
      "select count(*) as count from entries where role = 'user'",
    );
    assert.equal(count, 1);
  });
}

/** A main session and a child, each with one message. */
function makeSource(stateDir: string): string {
  const dir = join(stateDir, 'older');
  const sessions = join(dir, 'agents/main/sessions');
  mkdirSync(sessions, { recursive: true });
  mkdirSync(join(dir, 'subagents'));
  const ids = {
    'agent:main:main': '0e5b4c58-8a34-4c3c-9f0e-6f5b6a1c2d3e',
    [CHILD]: '5f0c6a52-6f3b-4f0e-9d55-0a7c2c1f9e11',
  };
  const rows = Object.entries(ids).map(([key, sessionId]) => {
    const parent = key === CHILD ? { spawnedBy: 'agent:main:main' } : {};
    return [key, { sessionId, updatedAt: 5, ...parent }] as const;
  });
  writeFileSync(join(sessions, 'sessions.json'), JSON.stringify(Object.fromEntries(rows)));
  for (const id of Object.values(ids)) {
    const header = { type: 'session', version: 3, id, timestamp: '2026-01-01T00:00:00Z' };
    const message = { role: 'user', content: 'hello', timestamp: 1 };
    const entry = {
      type: 'message',
      id: 'm1',
      parentId: null,
      timestamp: header.timestamp,
      message,
    };
    const text = [header, entry].map((line) => `${JSON.stringify(line)}\n`).join('');
    writeFileSync(join(sessions, `${id}.jsonl`), text);
  }
  const run = {
    runId: 'r1',
    childSessionKey: CHILD,
    requesterSessionKey: 'agent:main:main',
    task: 'do it',
    cleanup: 'keep',
    createdAt: 10,
    endedAt: 20,
  };
  writeFileSync(
    join(dir, 'subagents/runs.json'),
    JSON.stringify({ version: 2, runs: { r1: run } }),
  );
  return dir;
}

async function send(client: GatewayClient, message: string): Promise<string> {
  const params = { sessionKey: 'main', message, idempotencyKey: 'one' };
  return String((await client.request('chat.send', params))['runId']);
}

function query(stateDir: string, sql: string): Record<string, unknown>[] {
  const db = new DatabaseSync(databaseOf(stateDir));
  try {
    return db
      .prepare(sql)
      .all()
      .map((row) => ({ ...row }));
  } finally {
    db.close();
  }
}

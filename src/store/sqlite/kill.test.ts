/**
 * What was acknowledged is there after `kill -9`. This file is its own child: with `writer` as first
 * argument it takes the state directory, writes units and prints the name of each one that resolved.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createInterface } from 'node:readline';
import { after, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { silentLogger } from '../../util/logger.ts';
import { input, run, session } from '../contract/samples.suite.ts';
import type { Store } from '../store.ts';
import { lockState } from './lock-state.ts';
import { openSqliteStore } from './open-sqlite-store.ts';

const MOST_UNITS = 20_000;
const ACKNOWLEDGED_BEFORE_KILL = 150;

function open(dir: string): Store {
  const path = join(dir, 'trunkline.db');
  return openSqliteStore({ path, clock: { now: () => 1000 }, logger: silentLogger });
}

/** Four callers write units of several rows until the process is killed. */
async function writeUntilKilled(dir: string, round: string): Promise<void> {
  lockState(dir);
  const store = open(dir);
  let started = 0;
  const caller = async () => {
    while (started < MOST_UNITS) {
      started += 1;
      const name = `${round}-${started}`;
      await store.write('unit', async (tx) => {
        await tx.sessions.insert(session(name));
        const seq = await tx.lanes.nextSeq('k');
        await tx.inputs.insert(input(name, 'k', { seq }));
        await tx.runs.insert(run(name, 'k', { seq }));
      });
      writeSync(1, `${name}\n`);
    }
  };
  await Promise.all([caller(), caller(), caller(), caller()]);
}

/** Starts a writer, kills it in the middle of its work, returns what it had acknowledged. */
async function writeAndKill(dir: string, round: string): Promise<string[]> {
  const file = fileURLToPath(import.meta.url);
  const child = spawn(process.execPath, [file, 'writer', dir, round], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_TEST_CONTEXT: undefined },
  });
  const exit = once(child, 'exit');
  const acknowledged: string[] = [];
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      acknowledged.push(line);
      if (acknowledged.length !== ACKNOWLEDGED_BEFORE_KILL) continue;
      assert.throws(() => lockState(dir), { code: 'unavailable' });
      child.kill('SIGKILL');
    }
  } finally {
    child.kill('SIGKILL');
  }
  const [, signal] = await exit;
  assert.equal(signal, 'SIGKILL');
  return acknowledged;
}

function tests(): void {
  const dir = mkdtempSync(join(tmpdir(), 'trunkline-kill-'));
  after(() => rmSync(dir, { recursive: true, force: true }));

  describe('kill -9', () => {
    it('[ST1] loses no acknowledged unit, keeps none in part, and gives the state free', async () => {
      const acknowledged: string[] = [];
      for (const round of ['a', 'b', 'c']) {
        acknowledged.push(...(await writeAndKill(dir, round)));
        const lock = lockState(dir);
        const store = open(dir);
        await store.read(async (tx) => {
          for (const name of acknowledged) {
            assert.ok(await tx.runs.get(name), `run ${name}`);
            assert.ok(await tx.inputs.get(name), `input ${name}`);
          }
        });
        await store.close();
        checkWhole(dir);
        lock.release();
      }
      assert.ok(acknowledged.length >= 3 * ACKNOWLEDGED_BEFORE_KILL);
    });
  });
}

function checkWhole(dir: string): void {
  const db = new DatabaseSync(join(dir, 'trunkline.db'));
  assert.deepEqual({ ...db.prepare('pragma integrity_check').get() }, { integrity_check: 'ok' });
  const counts = db
    .prepare(
      `select (select count(*) from sessions) as sessions, (select count(*) from windows) as windows,
        (select count(*) from inputs) as inputs, (select count(*) from runs) as runs,
        (select next_seq - 1 from lanes) as seqs`,
    )
    .get();
  assert.equal(new Set(Object.values({ ...counts })).size, 1, JSON.stringify(counts));
  db.close();
}

const [role, dir, round] = process.argv.slice(2);
if (role === 'writer' && dir !== undefined && round !== undefined) {
  await writeUntilKilled(dir, round);
} else {
  tests();
}

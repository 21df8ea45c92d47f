/** A gateway killed while the files of a spawn come into a workspace, or go (A17). */
import assert from 'node:assert/strict';
import { readdirSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it, type TestContext } from 'node:test';
import { connectGateway, type GatewayClient } from '../../src/client/gateway-client.ts';
import { examineStore } from '../../src/store/sqlite/doctor/examine-store.ts';
import { systemClock } from '../../src/util/clock.ts';
import { findLoose } from '../helpers/crash-story.ts';
import {
  CRASH_CONFIG,
  type GatewayProcessOptions,
  makeStateDir,
  startGatewayProcess,
} from '../helpers/gateway-process.ts';
import { databaseOf, openGateway } from '../helpers/open-gateway.ts';
import { ATTACHMENT_FILE_STEPS, ATTACHMENT_STEPS } from './crash-table.ts';
import { callTools, KEY } from './scenarios.ts';
import { PATIENCE_MS } from '../helpers/patience.ts';

const FILES = [
  { name: 'a.txt', content: 'first' },
  { name: 'b.txt', content: 'second' },
];
const WHOLE = ['.manifest.json', 'a.txt', 'b.txt'];
const LONG_AGO = new Date(Date.now() - 7_200_000);

let template: string;
const cleanups: (() => unknown)[] = [];
before(async () => {
  const life = { after: (cleanup: () => unknown) => void cleanups.push(cleanup) } as TestContext;
  template = makeStateDir(life, { config: CRASH_CONFIG });
  const gateway = await openGateway(life, template);
  await gateway.close();
});
after(() => cleanups.reverse().forEach((cleanup) => cleanup()));

type Cleanup = 'keep' | 'delete';

/** A person's message whose turn spawns a child with files; again under the same key it is the same job. */
function ask(client: GatewayClient, cleanup: Cleanup): Promise<Record<string, unknown>> {
  const args = { task: 'SLEEP: 300\nSAY: child done', cleanup, attachments: FILES };
  const message = `${callTools(['sessions_spawn', args])}\nSAY: spawned`;
  return client.request('chat.send', { sessionKey: 'main', message, idempotencyKey: KEY });
}

async function killAndGoOn(
  t: TestContext,
  kill: Pick<GatewayProcessOptions, 'crash' | 'fileCrash'> & { cleanup: Cleanup },
): Promise<void> {
  const { cleanup, ...crash } = kill;
  const stateDir = makeStateDir(t, { copyOf: template });
  const killed = startGatewayProcess(t, { stateDir, ...crash });
  const client = await connectGateway({ ...(await killed.ready), timeoutMs: PATIENCE_MS });
  await ask(client, cleanup).catch(() => undefined);
  assert.equal((await killed.exited).signal, 'SIGKILL');
  await client.closed;
  const { findings } = await examineStore(databaseOf(stateDir), { fix: false, clock: systemClock });
  assert.deepEqual(findings, []);
  assertNamedOnesAreWhole(stateDir);

  const gateway = await openGateway(t, stateDir);
  const { runId } = await ask(gateway.client, cleanup);
  await gateway.client.request('agent.wait', { runId, timeoutMs: 20_000 });
  await gateway.settled();
  await gateway.close();
  assert.deepEqual(findLoose(databaseOf(stateDir)), []);
  const [row, ...others] = rowsOf(stateDir);
  assert.deepEqual(others, [], 'one child');
  assert.equal(row?.['state'], cleanup === 'keep' ? 'kept' : 'gone');
  assert.equal(heldCalls(stateDir), 0);
  assertNamedOnesAreWhole(stateDir);
  // what nobody names is left for a while: another spawn may be at it
  assert.ok(foldersOf(stateDir).length <= 2, String(foldersOf(stateDir)));
  for (const name of foldersOf(stateDir))
    utimesSync(join(rootOf(stateDir), name), LONG_AGO, LONG_AGO);
  await (await openGateway(t, stateDir)).close();
  assert.deepEqual(foldersOf(stateDir), cleanup === 'keep' ? [row?.['folder_id']] : []);
  assertNamedOnesAreWhole(stateDir);
}

/** Whatever a row promises is there: all of it. */
function assertNamedOnesAreWhole(stateDir: string): void {
  for (const { state, folder_id: id } of rowsOf(stateDir)) {
    if (state !== 'kept') continue;
    assert.deepEqual(readdirSync(join(rootOf(stateDir), String(id))).toSorted(), WHOLE);
  }
}

function rowsOf(stateDir: string): Record<string, unknown>[] {
  return inDatabase(stateDir, 'select folder_id, state from attachments');
}

function heldCalls(stateDir: string): number {
  return inDatabase(stateDir, 'select run_id from tool_calls where held_json is not null').length;
}

function inDatabase(stateDir: string, sql: string): Record<string, unknown>[] {
  const database = new DatabaseSync(databaseOf(stateDir), { readOnly: true });
  try {
    return database.prepare(sql).all();
  } finally {
    database.close();
  }
}

function rootOf(stateDir: string): string {
  return join(stateDir, 'workspace', '.openclaw', 'attachments');
}

function foldersOf(stateDir: string): string[] {
  try {
    return readdirSync(rootOf(stateDir));
  } catch {
    return [];
  }
}

const REMOVING: ReadonlySet<string> = new Set([
  'unlink',
  'rmdir',
  'archive-session',
  'remove-attachments',
]);
const cleanupOf = (step: string): Cleanup => (REMOVING.has(step) ? 'delete' : 'keep');

describe('a gateway killed while attachments come and go', { concurrency: 2 }, () => {
  for (const when of ['before', 'after'] as const) {
    for (const { unit, [when]: left } of ATTACHMENT_STEPS) {
      it(`[AT10, RC2] just ${when} ${unit} leaves ${left}; the files are whole or gone in the end`, (t) =>
        killAndGoOn(t, { crash: `${unit}:${when}:1`, cleanup: cleanupOf(unit) }));
    }
    for (const { call, nth, step } of ATTACHMENT_FILE_STEPS) {
      it(`[AT10] just ${when} the call ${call} ${nth} (${step}); the files are whole or gone in the end`, (t) =>
        killAndGoOn(t, { fileCrash: `${call}:${when}:${nth}`, cleanup: cleanupOf(call) }));
    }
  }
});

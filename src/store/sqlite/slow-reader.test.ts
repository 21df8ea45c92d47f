import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { silentLogger } from '../../util/logger.ts';
import { session } from '../contract/samples.suite.ts';
import type { ReadTx, Store } from '../store.ts';
import { openSqliteStore } from './open-sqlite-store.ts';

const LIMIT = { timeoutMs: 60_000, tooSlow: 'too slow' };

async function openStore(t: TestContext): Promise<Store> {
  const folder = mkdtempSync(join(tmpdir(), 'slow-reader-'));
  const clock = { now: () => 1 };
  const store = openSqliteStore({ path: join(folder, 'test.db'), clock, logger: silentLogger });
  t.after(async () => {
    await store.close();
    rmSync(folder, { recursive: true });
  });
  await store.write('add', (tx) => tx.sessions.insert(session('k')));
  return store;
}
const labelOf = async (tx: ReadTx) => (await tx.sessions.get('k'))?.label;

test('[SR9] a slow read sees one snapshot, and holds up neither reads nor writes', async (t) => {
  const store = await openStore(t);
  const held = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  const slow = store.read(async (tx) => {
    const before = await labelOf(tx);
    started.resolve();
    await held.promise;
    return [before, await labelOf(tx)];
  }, LIMIT);
  await started.promise;
  await store.write('change', (tx) => tx.sessions.update('k', { label: 'new' }));
  assert.equal(await store.read(labelOf), 'new');
  held.resolve();
  assert.deepEqual(await slow, [null, null]);
  assert.equal(await store.read(labelOf, LIMIT), 'new');
});

test('[SR9] beyond its time a read ends with what it was given to say, also one that waits', async (t) => {
  const store = await openStore(t);
  const never = store.read(() => new Promise(() => {}), { timeoutMs: 300, tooSlow: 'first' });
  const waits = store.read(labelOf, { timeoutMs: 100, tooSlow: 'second' });
  await assert.rejects(waits, { code: 'invalid_request', message: 'second' });
  await assert.rejects(never, { code: 'invalid_request', message: 'first' });
  assert.equal(await store.read(labelOf, LIMIT), null, 'the next one has a new thread');
});

test('[SR9] an error of a slow read is its own; the next one goes on', async (t) => {
  const store = await openStore(t);
  await assert.rejects(
    store.read(() => Promise.reject(new Error('on purpose')), LIMIT),
    /on purpose/,
  );
  const broken = store.read(
    (tx) => tx.search.find({ units: [], scopes: [], keys: [], before: undefined, limit: 1 }),
    LIMIT,
  );
  await assert.rejects(broken, /fts5: syntax error/);
  assert.equal(await store.read(labelOf, LIMIT), null);
});

test('[SR9] closing the store lets a slow read end, and its thread with it', async (t) => {
  const store = await openStore(t);
  const read = store.read(labelOf, LIMIT);
  await store.close();
  assert.equal(await read, null);
  await assert.rejects(store.read(labelOf, LIMIT), { code: 'unavailable' });
});

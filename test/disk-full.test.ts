/** A disk that is full: the database itself refuses to grow, as SQLite does when there is no space. */
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { SqliteConnection } from '../src/store/sqlite/sqlite-connection.ts';
import { SqliteStore } from '../src/store/sqlite/open-sqlite-store.ts';
import { GatewayError } from '../src/protocol/errors.ts';
import type { Store } from '../src/store/store.ts';
import { systemClock } from '../src/util/clock.ts';
import { type Logger, silentLogger } from '../src/util/logger.ts';
import { databaseOf } from './helpers/open-gateway.ts';
import { startWorld, type TestWorld } from './helpers/test-world.ts';

const LONG = 'x'.repeat(300_000);

interface FullWorld extends TestWorld {
  /** nothing more fits */
  fill(): void;
  /** there is space again */
  free(): void;
  counts(): Record<string, unknown>;
}

/** A world whose store writes through a connection that this test can bound. */
async function startFullWorld(t: TestContext, logger: Logger = silentLogger): Promise<FullWorld> {
  let writer: SqliteConnection | undefined;
  let first: Store | undefined;
  let path = '';
  const world = await startWorld(t, {
    logger,
    wrapStore: (opened, stateDir) => {
      first = opened;
      path = databaseOf(stateDir);
      writer = new SqliteConnection(path, { readOnly: false });
      writer.run('pragma synchronous = full');
      const reader = new SqliteConnection(path, { readOnly: true });
      return new SqliteStore({ writer, reader, clock: systemClock, logger: silentLogger });
    },
  });
  t.after(() => first?.close());
  const pages = (): number => Number(writer?.run('pragma page_count').rows[0]?.['page_count']);
  return {
    ...world,
    fill: () => void writer?.run(`pragma max_page_count = ${pages()}`),
    free: () => void writer?.run('pragma max_page_count = 1000000'),
    counts: () => {
      const db = new DatabaseSync(path, { readOnly: true });
      const tables = ['sessions', 'inputs', 'runs', 'entries', 'jobs', 'lanes'];
      const counts = tables.map((name) => `(select count(*) from ${name}) as ${name}`);
      const row = db.prepare(`select ${counts.join(', ')}`).get();
      db.close();
      return { ...row };
    },
  };
}

test('[CA8] a full disk refuses writes by name while reads go on, and leaves nothing half done', async (t) => {
  const world = await startFullWorld(t);
  await world.say('main', 'SAY: before');
  await world.quiet();
  world.fill();
  const earlier = world.counts();
  const send = (message: string) =>
    world.client.request('chat.send', {
      sessionKey: 'main',
      message,
      idempotencyKey: message.slice(0, 20),
    });
  await assert.rejects(send(`SAY: ${LONG}`), /the disk is full/);
  assert.deepEqual(world.counts(), { ...earlier });
  assert.equal((await world.history('main')).length, 2);
  const list = await world.client.request<{ count: number }>('sessions.list', {});
  assert.ok(list.count > 0);
  world.free();
  const after = await world.say('main', 'SAY: after');
  assert.deepEqual([after['status'], after['reply']], ['ok', 'after']);
  assert.equal((await world.history('main')).length, 4);
});

test('[CA8] a run that ends while the disk is full gets its outcome when there is space, and the lane goes on', async (t) => {
  const refused = Promise.withResolvers<void>();
  const error = (_fields: object, message: string): void => {
    if (message.startsWith('outcome not written')) refused.resolve();
  };
  const world = await startFullWorld(t, { ...silentLogger, error });
  const held = world.model.hold('SAY: long');
  const saying = world.say('main', `SAY: long ${LONG}`);
  await held.arrived();
  world.fill();
  const earlier = world.counts();
  held.release();
  await refused.promise;
  assert.deepEqual(world.counts(), earlier, 'no half of the outcome');
  world.free();
  const answer = await saying;
  assert.deepEqual([answer['status'], String(answer['reply']).length], ['ok', LONG.length + 5]);
  assert.equal((await world.say('main', 'SAY: next'))['reply'], 'next');
  assert.equal((await world.history('main')).length, 4);
});

test('[CA8, BR-125] a change of settings whose commit fails leaves the old ones, and the key works', async (t) => {
  let isFull = false;
  const world = await startWorld(t, {
    wrapStore: (store) => ({
      read: (fn) => store.read(fn),
      onSignal: (listener) => store.onSignal(listener),
      close: () => store.close(),
      write: (unit, fn) =>
        store.write(unit, async (tx) => {
          const value = await fn(tx);
          if (isFull && unit === 'patch-session') {
            throw new GatewayError('unavailable', 'the disk is full');
          }
          return value;
        }),
    }),
  });
  await world.say('main', 'SAY: one');
  const row = () => world.store.read((tx) => tx.sessions.get('agent:a:main'));
  const earlier = await row();
  isFull = true;
  const patch = { key: 'main', label: 'new', thinkingLevel: 'high', sendPolicy: 'deny' };
  await assert.rejects(world.client.request('sessions.patch', patch), /the disk is full/);
  assert.deepEqual(await row(), earlier);
  assert.equal((await world.say('main', 'SAY: two'))['reply'], 'two');
});

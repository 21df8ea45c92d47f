import assert from 'node:assert/strict';
import { test } from 'node:test';
import { migrate } from './migrate.ts';
import { ReadQueue } from './read-queue.ts';
import { SqliteConnection } from './sqlite-connection.ts';

/** Reads on an empty store; each look at the clock finds it this many ms later. */
function openQueue(stepMs: number): { reads: ReadQueue; close(): void } {
  const connection = new SqliteConnection(':memory:', { readOnly: false });
  migrate(connection, { now: () => 1 });
  let now = 0;
  const reads = new ReadQueue(connection, () => (now += stepMs));
  return { reads, close: () => connection.close() };
}

/** Counts the turns of the event loop until `stop`. */
function countTurns(): { turns: () => number; stop(): void } {
  let turns = 0;
  let isOn = true;
  const next = (): void => {
    if (!isOn) return;
    turns += 1;
    setImmediate(next);
  };
  setImmediate(next);
  return { turns: () => turns, stop: () => void (isOn = false) };
}

test('[SL14] a read of many queries that takes long gives way between them', async () => {
  const { reads, close } = openQueue(6);
  const loop = countTurns();
  const seen: number[] = [];
  await reads.add(async (tx) => {
    for (let query = 0; query < 5; query += 1) {
      await tx.sessions.get('k');
      seen.push(loop.turns());
    }
  });
  loop.stop();
  close();
  assert.deepEqual(
    seen,
    seen.toSorted((a, b) => a - b),
  );
  assert.equal(new Set(seen).size, 5, `each query had a turn of its own: ${seen.join(' ')}`);
});

test('a read that is quick holds its snapshot in one turn', async () => {
  const { reads, close } = openQueue(0);
  const loop = countTurns();
  const seen: number[] = [];
  await reads.add(async (tx) => {
    for (let query = 0; query < 5; query += 1) {
      await tx.sessions.get('k');
      seen.push(loop.turns());
    }
  });
  loop.stop();
  close();
  assert.equal(new Set(seen).size, 1);
});

test('reads run one after another, each on a snapshot of its own, also when one gives way', async () => {
  const { reads, close } = openQueue(6);
  const order: string[] = [];
  const read = (name: string) =>
    reads.add(async (tx) => {
      order.push(`${name} begins`);
      for (let query = 0; query < 3; query += 1) await tx.sessions.get('k');
      order.push(`${name} ends`);
    });
  await Promise.all([read('a'), read('b')]);
  close();
  assert.deepEqual(order, ['a begins', 'a ends', 'b begins', 'b ends']);
});

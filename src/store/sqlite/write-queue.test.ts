import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, it } from 'node:test';
import { silentLogger } from '../../util/logger.ts';
import { input } from '../contract/samples.suite.ts';
import type { StoreSignal } from '../store.ts';
import { migrate } from './migrate.ts';
import { SqliteConnection } from './sqlite-connection.ts';
import { countCommits } from './wal.suite.ts';
import { WriteQueue } from './write-queue.ts';

const root = mkdtempSync(join(tmpdir(), 'trunkline-queue-'));
after(() => rmSync(root, { recursive: true, force: true }));

const clock = { now: () => 1000 };

function openQueue(name: string, publish: (signals: readonly StoreSignal[]) => void = () => {}) {
  const path = join(root, name);
  const connection = new SqliteConnection(path, { readOnly: false });
  connection.run('pragma journal_mode = wal');
  migrate(connection, clock);
  return {
    path,
    connection,
    queue: new WriteQueue(connection, { clock, logger: silentLogger, publish }),
  };
}

describe('WriteQueue', () => {
  it('puts at most 64 units into one commit', async () => {
    const { path, connection, queue } = openQueue('groups.db');
    const before = countCommits(path);
    await Promise.all(Array.from({ length: 130 }, (_, at) => queue.add('add', add(`i${at}`))));
    assert.equal(countCommits(path) - before, 3);
    connection.close();
  });

  it('replays a group with a failing unit one by one, each in a commit of its own', async () => {
    const { path, connection, queue } = openQueue('replay.db');
    const before = countCommits(path);
    const attempts: string[] = [];
    const results = await Promise.allSettled(
      ['i1', 'bad', 'i2'].map((id) =>
        queue.add(id, async (tx) => {
          attempts.push(id);
          if (id === 'bad') throw new Error('no');
          await add(id)(tx);
        }),
      ),
    );
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    );
    assert.deepEqual(attempts, ['i1', 'bad', 'i1', 'bad', 'i2']);
    assert.equal(countCommits(path) - before, 2);
    connection.close();
  });

  it('publishes signals when the rows are there for everyone', async () => {
    const seen: unknown[] = [];
    const { path, connection, queue } = openQueue('signals.db', () => {
      const other = new DatabaseSync(path, { readOnly: true });
      seen.push(other.prepare('select input_id from inputs').get()?.['input_id']);
      other.close();
    });
    await queue.add('add', async (tx) => {
      tx.signal({ type: 'job' });
      await add('i1')(tx);
    });
    assert.deepEqual(seen, ['i1']);
    connection.close();
  });

  it('refuses a unit as unavailable when the disk is full, and goes on when it is not', async () => {
    const { connection, queue } = openQueue('full.db');
    const pages = Number(connection.run('pragma page_count').rows[0]?.['page_count']);
    connection.run(`pragma max_page_count = ${pages + 2}`);
    const long = 'x'.repeat(100_000);
    const results = await Promise.allSettled([
      queue.add('small', add('i1')),
      queue.add('large', add('i2', long)),
      queue.add('small', add('i3')),
    ]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    );
    const refused = results[1];
    assert.equal(refused.status, 'rejected');
    assert.equal(refused.reason.code, 'unavailable');
    assert.match(refused.reason.message, /full\.db cannot be used: the disk is full/);
    connection.run(`pragma max_page_count = ${pages + 1000}`);
    await queue.add('large', add('i2', long));
    const rows = connection.run('select input_id from inputs order by input_id').rows;
    assert.deepEqual(
      rows.map((row) => row['input_id']),
      ['i1', 'i2', 'i3'],
    );
    connection.close();
  });
});

function add(inputId: string, text = 'hello') {
  return (tx: { inputs: { insert(row: ReturnType<typeof input>): Promise<void> } }) =>
    tx.inputs.insert(input(inputId, 'k', { text }));
}

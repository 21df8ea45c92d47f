import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, it } from 'node:test';
import { silentLogger } from '../../util/logger.ts';
import { storeContract } from '../contract.suite.ts';
import { input, run, session } from '../contract/samples.suite.ts';
import type { Store } from '../store.ts';
import { openSqliteStore } from './open-sqlite-store.ts';
import { countCommits } from './wal.suite.ts';

const root = mkdtempSync(join(tmpdir(), 'trunkline-store-'));
after(() => rmSync(root, { recursive: true, force: true }));

let stores = 0;
function freshPath(): string {
  stores += 1;
  return join(root, `${stores}`, 'trunkline.db');
}
function open(path: string): Store {
  return openSqliteStore({ path, clock: { now: () => 1000 }, logger: silentLogger });
}

storeContract('SQLite', async () => {
  const clock = { at: 1000 };
  const store = openSqliteStore({
    path: freshPath(),
    clock: { now: () => clock.at },
    logger: silentLogger,
  });
  return { store, clock, close: () => store.close() };
});

describe('openSqliteStore', () => {
  it('keeps what was committed when it is opened again', async () => {
    const path = freshPath();
    const first = open(path);
    await first.write('add', (tx) => tx.sessions.insert(session('k')));
    await first.close();
    const second = open(path);
    assert.deepEqual(await second.read((tx) => tx.sessions.get('k')), session('k'));
    await second.close();
  });

  it('makes files that only their owner can read', async () => {
    const path = freshPath();
    const store = open(path);
    await store.write('add', (tx) => tx.sessions.insert(session('k')));
    for (const file of [path, `${path}-wal`, `${path}-shm`]) {
      assert.equal(statSync(file).mode & 0o077, 0, file);
    }
    await store.close();
  });

  it('commits one acceptance, and 32 that wait together, exactly once', async () => {
    const path = freshPath();
    const store = open(path);
    const before = countCommits(path);
    await accept(store, 'r0');
    assert.equal(countCommits(path) - before, 1);
    await Promise.all(Array.from({ length: 32 }, (_, at) => accept(store, `r${at + 1}`)));
    assert.equal(countCommits(path) - before, 2);
    await store.close();
  });

  it('[CA4] refuses a store that a newer program has written, and leaves it as it is', async () => {
    const path = freshPath();
    await open(path).close();
    const db = new DatabaseSync(path);
    db.exec("insert into schema_version (version, name, applied_at) values (99, 'later', 1)");
    db.close();
    assert.throws(() => open(path), {
      code: 'config',
      message: /trunkline\.db has schema version 99, this Trunkline knows versions up to/,
    });
  });

  it('[CA5, BR-087] refuses a damaged file by name and does not touch it', () => {
    const path = join(root, 'damaged.db');
    writeFileSync(path, 'no database at all, but long enough to be looked at'.repeat(40));
    const size = statSync(path).size;
    assert.throws(() => open(path), { code: 'unavailable', message: /damaged\.db cannot be used/ });
    assert.equal(statSync(path).size, size);
  });

  it('[CA5, BR-087] refuses a store file without a byte by name and does not start anew in it', () => {
    const path = freshPath();
    mkdirSync(join(path, '..'));
    writeFileSync(path, '');
    writeFileSync(`${path}.before-schema-2`, 'a copy');
    assert.throws(() => open(path), {
      code: 'unavailable',
      message: /has 0 bytes.*trunkline restore FILE.*beside it lie trunkline\.db\.before-schema-2/,
    });
    assert.equal(statSync(path).size, 0);
  });

  it('[CA5, BR-087] says of a store that was cut off what helps, and does not touch it', async () => {
    const path = freshPath();
    const full = open(path);
    await full.write('add', async (tx) => {
      for (let at = 0; at < 500; at += 1) await tx.sessions.insert(session(`k${at}`));
    });
    await full.close();
    const size = statSync(path).size / 2;
    truncateSync(path, size);
    const attempt = async () => {
      const store = open(path);
      try {
        await store.read((tx) => tx.sessions.get('k499'));
      } finally {
        await store.close();
      }
    };
    await assert.rejects(attempt(), {
      code: 'unavailable',
      message: /the file is damaged; "trunkline doctor" says .* "trunkline restore FILE" goes back/,
    });
    assert.equal(statSync(path).size, size);
  });

  it('refuses a place where no file can be', () => {
    const file = join(root, 'file');
    writeFileSync(file, '');
    assert.throws(() => open(join(file, 'trunkline.db')), { code: 'unavailable' });
  });
});

function accept(store: Store, runId: string): Promise<void> {
  return store.write('accept', async (tx) => {
    assert.equal(await tx.inputs.findByIdempotencyKey('operator agent', runId), undefined);
    const seq = await tx.lanes.nextSeq('k');
    await tx.lanes.addRun('k', 'main', tx.now);
    const named = { seq, idempotencyScope: 'operator agent', idempotencyKey: runId };
    await tx.inputs.insert(input(runId, 'k', named));
    await tx.runs.insert(run(runId, 'k', { seq }));
  });
}

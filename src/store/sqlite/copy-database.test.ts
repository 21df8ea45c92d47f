import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { copyDatabase } from './copy-database.ts';

const root = mkdtempSync(join(tmpdir(), 'trunkline-copy-'));
after(() => rmSync(root, { recursive: true, force: true }));

test('[CA1] a copy is of the moment it was begun, however much is written meanwhile', async () => {
  const from = join(root, 'busy.db');
  const to = join(root, 'copy.db');
  const db = new DatabaseSync(from);
  // several steps of the copy: a commit between two of them would start it anew
  db.exec('pragma journal_mode = wal; create table notes (text, filler)');
  db.exec("insert into notes values ('early', zeroblob(12000000))");
  const copying = copyDatabase(from, to);
  let isDone = false;
  const done = copying.then(() => (isDone = true));
  for (let at = 0; at < 200 && !isDone; at += 1) {
    db.exec("insert into notes values ('late', zeroblob(5000))");
    await new Promise((resolve) => setImmediate(resolve));
  }
  await done;
  db.close();
  const copy = new DatabaseSync(to, { readOnly: true });
  const texts = copy.prepare('select distinct text from notes').all();
  copy.close();
  assert.deepEqual(
    texts.map(({ text }) => text),
    ['early'],
  );
  assert.ok(!existsSync(`${to}.partial`) && !existsSync(`${to}-wal`));
});

test('[CA1] a copy that cannot be finished leaves nothing behind', async () => {
  const to = join(root, 'none', 'copy.db');
  await assert.rejects(copyDatabase(join(root, 'busy.db'), to));
  await assert.rejects(copyDatabase(join(root, 'missing.db'), join(root, 'copy of nothing.db')), {
    code: 'unavailable',
  });
  assert.ok(!existsSync(join(root, 'copy of nothing.db')));
});

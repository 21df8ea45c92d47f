import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { makeFolder } from './make-folder.ts';

const root = mkdtempSync(join(tmpdir(), 'folders-'));
after(() => rmSync(root, { recursive: true }));

test('a folder is made with those above it, and again without effect', () => {
  const path = join(root, 'a', 'b', 'c');
  makeFolder(path, { mode: 0o700 });
  makeFolder(path);
  assert.equal(statSync(path).mode & 0o777, 0o700);
  assert.equal(statSync(join(root, 'a')).mode & 0o777, 0o700);
});

test('what stands in the way is told by its code', () => {
  const file = join(root, 'file');
  writeFileSync(file, '');
  const link = join(root, 'link');
  symlinkSync(join(root, 'nowhere'), link);
  assert.throws(() => makeFolder(file), { code: 'EEXIST' });
  assert.throws(() => makeFolder(join(file, 'below')), { code: 'ENOTDIR' });
  assert.throws(() => makeFolder(link), { code: 'EEXIST' });
});

test(
  '[FZ6] a folder below a file system that takes none is an error at once',
  { skip: !existsSync('/proc/self') },
  () => {
    assert.throws(() => makeFolder('/proc/state/below'), { code: 'ENOENT' });
    assert.throws(() => makeFolder('/proc/self/state'), { code: 'ENOENT' });
  },
);

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';

interface SourceHash {
  isDistFresh(root: string): boolean;
  sourceHash(root: string): string | undefined;
  sourceTimes(root: string): string | undefined;
}
const { isDistFresh, sourceHash, sourceTimes } = (await import(
  new URL('../bin/source-hash.js', import.meta.url).href
)) as SourceHash;

function makeBuilt(t: TestContext): { root: string; write(name: string, text: string): void } {
  const root = mkdtempSync(join(tmpdir(), 'source-hash-'));
  t.after(() => rmSync(root, { recursive: true }));
  for (const folder of ['src/deep', 'dist/cli']) mkdirSync(join(root, folder), { recursive: true });
  const write = (name: string, text: string): void => writeFileSync(join(root, name), text);
  write('src/a.ts', 'a');
  write('src/deep/b.ts', 'b');
  write('dist/cli/main.js', '');
  write('dist/.source-hash', `${sourceHash(root)}\n`);
  write('dist/.source-times', `${sourceTimes(root)}\n`);
  return { root, write };
}

test('a build is fresh until a source file of it changes, comes or goes', (t) => {
  const { root, write } = makeBuilt(t);
  assert.equal(isDistFresh(root), true);
  write('src/deep/b.test.ts', 'tests are not built');
  assert.equal(isDistFresh(root), true);
  write('src/deep/b.ts', 'B');
  assert.equal(isDistFresh(root), false);
  write('src/deep/b.ts', 'b');
  assert.equal(isDistFresh(root), true);
  write('src/deep/c.ts', '');
  assert.equal(isDistFresh(root), false);
  rmSync(join(root, 'src/deep/c.ts'));
  rmSync(join(root, 'src/a.ts'));
  assert.equal(isDistFresh(root), false);
});

test('other times and the same bytes, as after a checkout, are still fresh', (t) => {
  const { root } = makeBuilt(t);
  utimesSync(join(root, 'src/a.ts'), 1, 1);
  assert.equal(isDistFresh(root), true);
});

test('without dist nothing is fresh, without src everything is, without stamps nothing', (t) => {
  const { root } = makeBuilt(t);
  for (const stamp of ['hash', 'times']) rmSync(join(root, `dist/.source-${stamp}`));
  assert.equal(isDistFresh(root), false);
  rmSync(join(root, 'src'), { recursive: true });
  assert.equal(isDistFresh(root), true);
  rmSync(join(root, 'dist/cli/main.js'));
  assert.equal(isDistFresh(root), false);
});

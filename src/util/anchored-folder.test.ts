import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { AnchoredFolder, NoFolderError } from './anchored-folder.ts';
import { must } from './assert.ts';

function makeRoot(t: TestContext): { root: string; outside: string } {
  const base = mkdtempSync(join(tmpdir(), 'anchored-'));
  t.after(() => rmSync(base, { recursive: true }));
  const [root, outside] = [join(base, 'root'), join(base, 'outside')];
  for (const folder of [root, outside]) mkdirSync(folder);
  writeFileSync(join(outside, 'kept'), 'kept');
  return { root, outside };
}

const openRoot = async (path: string): Promise<AnchoredFolder> =>
  must(await AnchoredFolder.open(path), path);

test('[AT8] a link and a file are no folder; what is missing is undefined', async (t) => {
  const { root, outside } = makeRoot(t);
  symlinkSync(outside, join(root, 'link'));
  symlinkSync(join(root, 'nowhere'), join(root, 'dangling'));
  writeFileSync(join(root, 'file'), '');
  const folder = await openRoot(root);
  await folder.use(async () => {
    for (const name of ['link', 'dangling', 'file']) {
      await assert.rejects(folder.folder(name), NoFolderError, name);
      await assert.rejects(folder.makeFolder(name), NoFolderError, name);
    }
    assert.equal(await folder.folder('none'), undefined);
  });
  assert.equal(await AnchoredFolder.open(join(root, 'none')), undefined);
  assert.deepEqual(readdirSync(outside), ['kept']);
});

test('[AT8] the path of the root itself may lead through links', async (t) => {
  const { root, outside } = makeRoot(t);
  symlinkSync(outside, join(root, 'workspace'));
  const folder = await openRoot(join(root, 'workspace'));
  await folder.use(() => folder.writeFile('new', 'x'));
  assert.equal(readFileSync(join(outside, 'new'), 'utf8'), 'x');
});

test('[AT8] a file that is there is not written over, nor is what a link leads to', async (t) => {
  const { root, outside } = makeRoot(t);
  symlinkSync(join(outside, 'kept'), join(root, 'a'));
  symlinkSync(join(outside, 'new'), join(root, 'b'));
  const folder = await openRoot(root);
  await folder.use(async () => {
    for (const name of ['a', 'b']) {
      await assert.rejects(folder.writeFile(name, 'x'), { code: 'EEXIST' });
      assert.equal(await folder.readText(name, 99), undefined);
    }
  });
  assert.deepEqual(readdirSync(outside), ['kept']);
  assert.equal(readFileSync(join(outside, 'kept'), 'utf8'), 'kept');
});

test(
  '[AT8] a folder that is replaced by a link between the look and the write gets what was meant for it',
  { skip: !existsSync('/proc/self/fd') },
  async (t) => {
    const { root, outside } = makeRoot(t);
    const parent = await openRoot(root);
    await parent.use(async () => {
      const { folder, made } = await parent.makeFolder('inner');
      assert.equal(made, true);
      await folder.use(async () => {
        renameSync(join(root, 'inner'), join(root, 'moved'));
        symlinkSync(outside, join(root, 'inner'));
        await folder.writeFile('a.txt', 'x');
        await folder.remove('kept');
      });
    });
    assert.deepEqual(readdirSync(join(root, 'moved')), ['a.txt']);
    assert.deepEqual(readdirSync(outside), ['kept']);
  },
);

test('[AT9] a removal takes all that is in a folder, and links as links', async (t) => {
  const { root, outside } = makeRoot(t);
  mkdirSync(join(root, 'a', 'b', 'c'), { recursive: true });
  writeFileSync(join(root, 'a', 'b', 'file'), '');
  symlinkSync(outside, join(root, 'a', 'b', 'link'));
  symlinkSync(outside, join(root, 'link'));
  const folder = await openRoot(root);
  await folder.use(async () => {
    for (const name of ['a', 'link', 'none']) await folder.remove(name);
    assert.deepEqual(await folder.names(), []);
  });
  assert.equal(readFileSync(join(outside, 'kept'), 'utf8'), 'kept');
});

test('[AT10] a text is read up to its limit alone', async (t) => {
  const { root } = makeRoot(t);
  writeFileSync(join(root, 'a'), '12345');
  mkdirSync(join(root, 'folder'));
  const folder = await openRoot(root);
  await folder.use(async () => {
    assert.equal(await folder.readText('a', 5), '12345');
    for (const [name, limit] of [
      ['a', 4],
      ['folder', 99],
      ['none', 99],
    ] as const) {
      assert.equal(await folder.readText(name, limit), undefined, name);
    }
  });
});

test(
  '[AT10] a pipe in place of a file is no text, and nobody waits for its other end',
  { skip: process.platform === 'win32', timeout: 10_000 },
  async (t) => {
    const { root } = makeRoot(t);
    const pipe = join(root, 'pipe');
    execFileSync('mkfifo', [pipe]);
    t.signal.addEventListener('abort', () => {
      // frees a reader that waits: the process could not end otherwise
      if (existsSync(pipe)) closeSync(openSync(pipe, constants.O_RDWR));
    });
    const folder = await openRoot(root);
    await folder.use(async () => assert.equal(await folder.readText('pipe', 99), undefined));
  },
);

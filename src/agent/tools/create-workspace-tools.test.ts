import assert from 'node:assert/strict';
import { chmod, link, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { createTempWorkspace, type TempWorkspace } from '../../../test/helpers/temp-workspace.ts';
import type { ToolOutcome } from '../runtime.ts';
import { createWorkspaceTools } from './create-workspace-tools.ts';

const tools = new Map(createWorkspaceTools().map((tool) => [tool.spec.name, tool]));

function call(
  { context }: TempWorkspace,
  name: string,
  args: Record<string, unknown>,
): Promise<ToolOutcome> {
  return tools.get(name)?.execute(args, context) ?? assert.fail(`no tool ${name}`);
}

describe('createWorkspaceTools', () => {
  it('costs at most 600 tokens on the wire', () => {
    const sent = [...tools.values()].map(({ spec }) => ({ type: 'function', function: spec }));
    assert.ok(countTokens(JSON.stringify(sent)) <= 600);
  });

  it('offers four tools, of which only read is safe to repeat', () => {
    const repeatable = [...tools].map(([name, tool]) => [name, tool.repeatable]);
    assert.deepEqual(repeatable, [
      ['read', true],
      ['write', false],
      ['edit', false],
      ['exec', false],
    ]);
  });

  const BAD_ARGUMENTS: [string, Record<string, unknown>, string][] = [
    ['read', {}, 'read: path is missing; it takes path, offset, limit'],
    ['read', { path: null }, 'read: path is missing; it takes path, offset, limit'],
    ['read', { file: 'a' }, 'read: unknown parameter "file"; it takes path, offset, limit'],
    ['read', { pth: 'a' }, 'read: unknown parameter "pth"; did you mean path?'],
    ['read', { path: 'a', offset: 0 }, 'read: offset: Too small: expected number to be >=1'],
    [
      'write',
      { path: 'a', content: 1 },
      'write: content: Invalid input: expected string, received number',
    ],
    [
      'exec',
      { invalidJson: 'x' },
      'exec: the arguments were not a JSON object; send the call again',
    ],
  ];
  for (const [name, args, text] of BAD_ARGUMENTS) {
    it(`answers ${name} ${JSON.stringify(args)} with what to do`, async () => {
      await using workspace = await createTempWorkspace();
      assert.deepEqual(await call(workspace, name, args), { text, isError: true });
      assert.deepEqual(await readdir(workspace.path), []);
    });
  }
});

describe('read', () => {
  const lines = Array.from({ length: 5_000 }, (_, index) => `line ${index + 1}\n`).join('');

  const CASES: [string, string, Record<string, unknown>, RegExp, boolean?][] = [
    ['gives a whole small file unchanged', 'a\r\nb', {}, /^a\r\nb$/],
    [
      'gives the lines asked for',
      'a\nb\nc\n',
      { offset: 2, limit: 1 },
      /^b\n\[more follows; go on with offset 3\]$/,
    ],
    ['gives the last lines without a note', 'a\nb\nc\n', { offset: 2 }, /^b\nc\n$/],
    ['stops at 2,000 lines', lines, {}, /line 2000\n\[more follows; go on with offset 2001\]$/],
    ['goes on where it stopped', lines, { offset: 4_999 }, /^line 4999\nline 5000\n$/],
    [
      'stops at whole lines within 50 KB',
      `${'x'.repeat(30_000)}\n`.repeat(2),
      {},
      /^x{30000}\n\[more follows; go on with offset 2\]$/,
    ],
    [
      'cuts a line that is too long alone',
      'x'.repeat(60_000),
      {},
      /^x{51200}\n\[line 1 is longer than 50 KB/,
    ],
    ['says that a file is empty', '', {}, /^\[the file is empty\]$/],
    [
      'refuses an offset behind the end',
      'a\nb\n',
      { offset: 3 },
      /has 2 lines; offset 3 is behind its end/,
      true,
    ],
    ['refuses what is not text', 'a\0b', {}, /is not text/, true],
  ];
  for (const [title, content, args, expected, isError] of CASES) {
    it(title, async () => {
      await using workspace = await createTempWorkspace();
      await writeFile(join(workspace.path, 'f'), content);
      const outcome = await call(workspace, 'read', { path: 'f', ...args });
      assert.match(outcome.text, expected);
      assert.equal(outcome.isError, isError ?? false);
    });
  }

  it('refuses folders and missing files without naming real paths', async () => {
    await using workspace = await createTempWorkspace();
    await mkdir(join(workspace.path, 'd'));
    assert.match((await call(workspace, 'read', { path: 'd' })).text, /this is a folder/);
    assert.deepEqual(await call(workspace, 'read', { path: 'no' }), {
      text: 'read: no such file',
      isError: true,
    });
  });
});

describe('write', () => {
  it('makes files and folders, and leaves no draft behind', async () => {
    await using workspace = await createTempWorkspace();
    const outcome = await call(workspace, 'write', { path: 'a/b/c.txt', content: 'ü' });
    assert.deepEqual(outcome, { text: 'Wrote 2 bytes to a/b/c.txt.', isError: false });
    assert.deepEqual(await readdir(join(workspace.path, 'a/b')), ['c.txt']);
  });

  it('makes the workspace when it is not there yet', async () => {
    await using workspace = await createTempWorkspace();
    workspace.context.workspace = join(workspace.path, 'later');
    await call(workspace, 'write', { path: 'a', content: 'x' });
    assert.equal(await readFile(join(workspace.path, 'later/a'), 'utf8'), 'x');
  });

  it('keeps the mode of a file it replaces, and the content under a name elsewhere', async () => {
    await using workspace = await createTempWorkspace();
    const inside = join(workspace.path, 'run.sh');
    const elsewhere = join(workspace.outside, 'linked');
    await writeFile(inside, 'old');
    await chmod(inside, 0o750);
    await link(inside, elsewhere);
    await call(workspace, 'write', { path: 'run.sh', content: 'new' });
    assert.equal((await stat(inside)).mode & 0o777, 0o750);
    assert.equal(await readFile(inside, 'utf8'), 'new');
    assert.equal(await readFile(elsewhere, 'utf8'), 'old');
  });

  it('refuses to replace a folder', async () => {
    await using workspace = await createTempWorkspace();
    await mkdir(join(workspace.path, 'd'));
    assert.ok((await call(workspace, 'write', { path: 'd', content: 'x' })).isError);
  });
});

describe('edit', () => {
  const CASES: [string, Record<string, string>, RegExp, string][] = [
    [
      'replaces the one place',
      { oldText: 'two', newText: '2' },
      /^Edited f at line 2\.$/,
      'one\n2\r\nthree $& three\n',
    ],
    [
      'takes the new text literally',
      { oldText: 'two', newText: '$& $1' },
      /^Edited/,
      'one\n$& $1\r\nthree $& three\n',
    ],
    [
      'refuses a text that is not there',
      { oldText: 'four', newText: 'x' },
      /does not occur in f; read it/,
      '',
    ],
    [
      'refuses a text that is there twice',
      { oldText: 'three', newText: 'x' },
      /occurs more than once in f/,
      '',
    ],
    ['refuses an empty text', { oldText: '', newText: 'x' }, /oldText: Too small/, ''],
  ];
  for (const [title, args, expected, content] of CASES) {
    it(title, async () => {
      await using workspace = await createTempWorkspace();
      const original = 'one\ntwo\r\nthree $& three\n';
      await writeFile(join(workspace.path, 'f'), original);
      const outcome = await call(workspace, 'edit', { path: 'f', ...args });
      assert.match(outcome.text, expected);
      assert.equal(await readFile(join(workspace.path, 'f'), 'utf8'), content || original);
    });
  }

  it('leaves a file alone that is not UTF-8', async () => {
    await using workspace = await createTempWorkspace();
    const bytes = Buffer.from([0x61, 0xff, 0x62]);
    await writeFile(join(workspace.path, 'f'), bytes);
    assert.ok((await call(workspace, 'edit', { path: 'f', oldText: 'a', newText: 'c' })).isError);
    assert.deepEqual(await readFile(join(workspace.path, 'f')), bytes);
  });
});

import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createTempWorkspace, type TempWorkspace } from '../../../test/helpers/temp-workspace.ts';
import { createEditTool } from './edit-file.ts';
import { createReadTool } from './read-file.ts';
import { PathRefusal } from './path-refusal.ts';
import { resolveInWorkspace } from './workspace-path.ts';
import { createWriteTool } from './write-file.ts';

/** A workspace with links that lead out, around and inside, and a secret beside it. */
async function createHostileWorkspace(): Promise<TempWorkspace> {
  const workspace = await createTempWorkspace();
  const { path, outside } = workspace;
  await writeFile(join(outside, 'secret.txt'), 'secret');
  await mkdir(join(path, 'docs'));
  await writeFile(join(path, 'docs', 'note.txt'), 'note');
  await mkdir(join(path, '.openclaw'));
  await symlink(outside, join(path, '.openclaw', 'attachments'));
  await symlink(outside, join(path, 'out'));
  await symlink(join(outside, 'secret.txt'), join(path, 'secret-link.txt'));
  await symlink(join(outside, 'new.txt'), join(path, 'dangling'));
  await symlink('../outside', join(path, 'relative-out'));
  await symlink('loop', join(path, 'loop'));
  await symlink('docs', join(path, 'inner'));
  return workspace;
}

const REFUSED: [string, (workspace: TempWorkspace) => string][] = [
  ['a way up', () => '../outside/secret.txt'],
  ['a way up through a folder', () => 'docs/../../outside/secret.txt'],
  ['the workspace’s parent', () => '..'],
  ['an absolute path', () => '/etc/passwd'],
  ['the absolute path of the secret', ({ outside }) => join(outside, 'secret.txt')],
  ['a sibling with the same beginning', ({ path }) => `${path}-evil/x`],
  ['a way up from the alias', () => '/workspace/../outside/secret.txt'],
  ['a link to a file outside', () => 'secret-link.txt'],
  ['a file in a linked folder', () => 'out/secret.txt'],
  ['a new file in a linked folder', () => 'out/new.txt'],
  ['a new folder in a linked folder', () => 'out/a/b/new.txt'],
  ['a relative link out', () => 'relative-out/secret.txt'],
  ['[BR-073] attachments replaced by a link', () => '.openclaw/attachments/a.txt'],
  ['a link to a file that is not there yet', () => 'dangling'],
  ['a link to itself', () => 'loop'],
  ['a NUL character', () => 'docs/note.txt\0.png'],
  ['an empty path', () => ' '],
  ['a very long path', () => 'a/'.repeat(5_000)],
  ['a very long name', () => 'a'.repeat(1_000)],
];

describe('[BR-062] file tools', () => {
  for (const [title, toPath] of REFUSED) {
    it(`refuse ${title}, to read, to write and to edit`, async () => {
      await using workspace = await createHostileWorkspace();
      const path = toPath(workspace);
      const outcomes = [
        await createReadTool().execute({ path }, workspace.context),
        await createWriteTool().execute({ path, content: 'owned' }, workspace.context),
        await createEditTool().execute(
          { path, oldText: 'secret', newText: 'owned' },
          workspace.context,
        ),
      ];
      for (const outcome of outcomes) {
        assert.ok(outcome.isError, outcome.text);
        assert.doesNotMatch(outcome.text, /^secret|owned/);
      }
      assert.deepEqual(await readdir(workspace.outside), ['secret.txt']);
      assert.equal(await readFile(join(workspace.outside, 'secret.txt'), 'utf8'), 'secret');
    });
  }

  for (const path of [
    String.raw`..\x`,
    String.raw`C:\x`,
    '%2e%2e/x',
    '~/x',
    '...',
    '..x',
    'a b/ü',
  ]) {
    it(`take ${JSON.stringify(path)} as an ordinary name inside`, async () => {
      await using workspace = await createHostileWorkspace();
      const outcome = await createWriteTool().execute({ path, content: 'x' }, workspace.context);
      assert.ok(!outcome.isError, outcome.text);
      assert.equal(await readFile(join(workspace.path, path), 'utf8'), 'x');
    });
  }
});

describe('resolveInWorkspace', () => {
  it('finds a file by relative path, absolute path, alias and inner link', async () => {
    await using workspace = await createHostileWorkspace();
    const { path } = workspace;
    const spellings = [
      'docs/note.txt',
      './docs//note.txt',
      `${path}/docs/note.txt`,
      '/workspace/docs/note.txt',
      'inner/note.txt',
    ];
    for (const spelling of spellings) {
      const found = await resolveInWorkspace(path, spelling);
      assert.deepEqual(found, {
        real: join(path, 'docs/note.txt'),
        shown: 'docs/note.txt',
        exists: true,
      });
    }
  });

  it('never resolves to a place outside, whatever the path is made of', async () => {
    await using workspace = await createHostileWorkspace();
    const part = fc.constantFrom(
      '..',
      '.',
      '',
      'docs',
      'out',
      'inner',
      'relative-out',
      'new',
      '/',
      '/workspace',
    );
    await fc.assert(
      fc.asyncProperty(fc.array(part, { minLength: 1, maxLength: 8 }), async (parts) => {
        const found = await resolveInWorkspace(workspace.path, parts.join('/')).catch(
          (error: unknown) => {
            assert.ok(error instanceof PathRefusal);
            return undefined;
          },
        );
        assert.ok(found === undefined || `${found.real}/`.startsWith(`${workspace.path}/`));
      }),
    );
  });
});

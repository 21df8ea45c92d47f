import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { createSessionWorld, type SessionWorld } from '../../../test/helpers/session-world.ts';
import type { AttachmentRow } from '../../store/attachment-repository.ts';
import { writeFolder } from './attachment-folder.ts';
import { sweepAttachments } from './sweep-attachments.ts';

const HOUR_MS = 3_600_000;

interface SweptWorld {
  world: SessionWorld;
  workspace: string;
  root: string;
  storeId: string;
  /** Writes a folder, as old as it is said to be; with a row in this state. */
  write(given?: {
    storeId?: string;
    ageMs?: number;
    state?: AttachmentRow['state'];
  }): Promise<string>;
  setAge(member: string, ageMs?: number): void;
}

async function createSweptWorld(t: TestContext): Promise<SweptWorld> {
  const workspace = mkdtempSync(join(tmpdir(), 'swept-'));
  t.after(() => rmSync(workspace, { recursive: true }));
  const world = createSessionWorld(t, { agents: { defaults: { workspace } } });
  const { store } = world.context;
  const storeId = await store.read((tx) => tx.attachments.storeId());
  const root = join(workspace, '.openclaw', 'attachments');
  const setAge = (member: string, ageMs = HOUR_MS): void => {
    const at = new Date(world.time.now - ageMs);
    utimesSync(join(root, member), at, at);
  };
  return {
    world,
    workspace,
    root,
    storeId,
    setAge,
    write: async (given = {}) => {
      const folderId = randomUUID();
      const content = Buffer.from('x');
      const files = [{ name: 'a.txt', bytes: 1, sha256: '', content }];
      await writeFolder(workspace, { folderId, files, createdAt: 1, storeId, ...given });
      setAge(folderId, given.ageMs);
      const { state } = given;
      if (state !== undefined) {
        const row = {
          folderId,
          childKey: folderId,
          agentId: 'main',
          filesJson: '{}',
          createdAt: 1,
        };
        await store.write('add', (tx) => tx.attachments.insert({ ...row, state }));
      }
      return folderId;
    },
  };
}

test('[AT10] what this store has written and does not name is removed once it is an hour old', async (t) => {
  const { world, root, write } = await createSweptWorld(t);
  const kept = [
    await write({ state: 'kept' }),
    await write({ state: 'leaving' }),
    await write({ ageMs: HOUR_MS - 1000 }),
    await write({ storeId: 'another' }),
  ];
  await write();
  await write({ state: 'gone' });
  await sweepAttachments(world.context);
  assert.deepEqual(new Set(readdirSync(root)), new Set(kept));
});

test('[AT10] what looks alike and is not ours stays', async (t) => {
  const { world, root, write, setAge } = await createSweptWorld(t);
  renameSync(join(root, await write()), join(root, 'by-hand'));
  const [bare, torn, foreign] = [randomUUID(), randomUUID(), `.${randomUUID()}.partial`];
  for (const name of [bare, torn, foreign]) mkdirSync(join(root, name));
  writeFileSync(join(root, torn, '.manifest.json'), '{"store":');
  writeFileSync(join(root, foreign, 'a.txt'), 'of somebody');
  writeFileSync(join(root, randomUUID()), 'a file');
  symlinkSync(join(root, 'by-hand'), join(root, randomUUID()));
  for (const name of ['by-hand', bare, torn, foreign]) setAge(name);
  const before = readdirSync(root);
  await sweepAttachments(world.context);
  assert.deepEqual(readdirSync(root), before);
});

test('[AT10] what was left in part goes, however little of it was written', async (t) => {
  const { world, root, write, setAge } = await createSweptWorld(t);
  const partial = (): string => `.${randomUUID()}.partial`;
  const [whole, empty, begun] = [partial(), partial(), partial()];
  renameSync(join(root, await write()), join(root, whole));
  for (const name of [empty, begun]) mkdirSync(join(root, name));
  writeFileSync(join(root, begun, '.manifest.json'), '{"vers');
  for (const name of [whole, empty, begun]) setAge(name);
  await sweepAttachments(world.context);
  assert.deepEqual(readdirSync(root), []);
});

test('[AT10] more folders than one look takes are all looked at', async (t) => {
  const { world, root, write } = await createSweptWorld(t);
  const kept = await write({ state: 'kept' });
  for (let count = 0; count < 120; count += 1) await write();
  await sweepAttachments(world.context);
  assert.deepEqual(readdirSync(root), [kept]);
});

test('[AT10, BR-073] a link in place of the folder leads a sweep nowhere', async (t) => {
  const { world, workspace, root, write } = await createSweptWorld(t);
  const orphan = await write();
  const elsewhere = join(workspace, 'elsewhere');
  renameSync(root, elsewhere);
  symlinkSync(elsewhere, root);
  await sweepAttachments(world.context);
  assert.deepEqual(readdirSync(elsewhere), [orphan]);
});

test('[AT10] no two stores have one name', async (t) => {
  const [one, two] = [await createSweptWorld(t), await createSweptWorld(t)];
  assert.notEqual(one.storeId, two.storeId);
});

test('[AT10] a workspace that is not there is no error', async (t) => {
  const world = createSessionWorld(t, { agents: { defaults: { workspace: '/nowhere/at/all' } } });
  await sweepAttachments(world.context);
});

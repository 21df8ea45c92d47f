import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AttachmentRow } from '../attachment-repository.ts';
import { type OpenHarness, session, withStore } from './samples.suite.ts';

const row = (folderId: string, state: AttachmentRow['state'] = 'kept'): AttachmentRow => ({
  folderId,
  childKey: `child of ${folderId}`,
  agentId: 'main',
  filesJson: '{"files":[]}',
  state,
  createdAt: 7,
});

export function attachmentsContract(open: OpenHarness): void {
  describe('attachments', () => {
    it('[AT9] are found by folder and by child; a folder that is gone is none', () =>
      withStore(open, async ({ store }) => {
        await store.write('add', async (tx) => {
          for (const each of [row('f1'), row('f2', 'leaving'), row('f3', 'gone')]) {
            await tx.attachments.insert(each);
          }
        });
        await store.read(async (tx) => {
          assert.deepEqual(await tx.attachments.get('f1'), row('f1'));
          assert.deepEqual(await tx.attachments.ofChild('child of f2'), row('f2', 'leaving'));
          assert.equal(await tx.attachments.ofChild('f1'), undefined);
          const present = await tx.attachments.presentAmong(['f1', 'f2', 'f3', 'f4']);
          assert.deepEqual(present, ['f1', 'f2']);
        });
        await store.write('change', async (tx) => {
          await tx.attachments.update('f1', { state: 'leaving' });
          await tx.attachments.remove('f2');
        });
        await store.read(async (tx) => {
          assert.equal((await tx.attachments.get('f1'))?.state, 'leaving');
          assert.equal(await tx.attachments.get('f2'), undefined);
        });
        await assert.rejects(
          store.write('twice', (tx) =>
            tx.attachments.insert({ ...row('f9'), childKey: 'child of f1' }),
          ),
        );
      }));

    it('[AT9] go with the session that is purged, but for one that is still in its workspace', () =>
      withStore(open, async ({ store }) => {
        await store.write('add', async (tx) => {
          for (const each of [row('f1', 'leaving'), row('f2', 'gone')]) {
            await tx.sessions.insert(session(each.childKey));
            await tx.attachments.insert(each);
          }
        });
        await store.write('purge', async (tx) => {
          await tx.purge.session('child of f1');
          await tx.purge.session('child of f2');
        });
        await store.read(async (tx) => {
          assert.equal((await tx.attachments.get('f1'))?.state, 'leaving');
          assert.equal(await tx.attachments.get('f2'), undefined);
        });
      }));

    it('[AT10] a store has a name, the same to whoever asks', () =>
      withStore(open, async ({ store }) => {
        const name = await store.read((tx) => tx.attachments.storeId());
        assert.match(name, /^[0-9a-f-]{36}$/);
        assert.equal(await store.write('ask', (tx) => tx.attachments.storeId()), name);
      }));
  });

  describe('what is held for a call', () => {
    const call = { runId: 'r1', position: 0, callIndex: 0 };
    const plan = {
      ...call,
      callId: 'c',
      name: 'sessions_spawn',
      argsJson: '{}',
      heldJson: '{"a":1}',
    };

    it('[AT6] is there until the call is done, or nobody will do it any more', () =>
      withStore(open, async ({ store }) => {
        const second = { ...plan, callIndex: 1 };
        const other = { ...plan, runId: 'r2' };
        await store.write('plan', async (tx) => {
          for (const each of [plan, second, other]) await tx.toolCalls.plan(each);
          await tx.toolCalls.start(call, 1);
        });
        const held = (runId: string) =>
          store.read(async (tx) => (await tx.toolCalls.ofRun(runId)).map((each) => each.heldJson));
        assert.deepEqual(await held('r1'), ['{"a":1}', '{"a":1}']);
        await store.write('finish', (tx) => tx.toolCalls.finish(call, '{}', 2));
        assert.deepEqual(await held('r1'), [null, '{"a":1}']);
        await store.write('drop', (tx) => tx.toolCalls.dropHeld('r1'));
        assert.deepEqual(await held('r1'), [null, null]);
        assert.deepEqual(await held('r2'), ['{"a":1}']);
      }));
  });
}

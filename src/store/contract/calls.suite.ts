import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DeferredCallRow } from '../call-repository.ts';
import { type OpenHarness, withStore } from './samples.suite.ts';

const row = (callId: string, given: Partial<DeferredCallRow> = {}): DeferredCallRow => ({
  callId,
  sessionKey: 'k',
  tool: 'sessions_wait',
  runIdsJson: '["r1"]',
  mode: 'all',
  createdAt: 1,
  deadlineAt: 5,
  expiresAt: 9,
  cancelledAt: null,
  ...given,
});

export function callsContract(open: OpenHarness): void {
  describe('deferred calls', () => {
    it('[TK8] are paged newest first within their session, each once', () =>
      withStore(open, async ({ store }) => {
        await store.write('add', async (tx) => {
          for (const [id, createdAt] of [
            ['c1', 1],
            ['c2', 2],
            ['c3', 2],
            ['c4', 3],
          ] as const)
            await tx.calls.insert(row(id, { createdAt }));
          await tx.calls.insert(row('other', { sessionKey: 'o', createdAt: 4 }));
        });
        await store.read(async (tx) => {
          const idsOf = async (cursor: { createdAt: number; callId: string } | undefined) =>
            (await tx.calls.pageOf({ sessionKey: 'k', cursor, limit: 2, now: 0 })).map(
              (r) => r.callId,
            );
          assert.deepEqual(await idsOf(undefined), ['c4', 'c3']);
          assert.deepEqual(await idsOf({ createdAt: 2, callId: 'c3' }), ['c2', 'c1']);
          assert.deepEqual(await idsOf({ createdAt: 1, callId: 'c1' }), []);
        });
      }));

    it('[TK8] are not in a page once they have expired, and take no room in it', () =>
      withStore(open, async ({ store }) => {
        await store.write('add', async (tx) => {
          for (const [id, createdAt, expiresAt] of [
            ['c1', 1, 20],
            ['c2', 2, 20],
            ['c3', 3, 9],
            ['c4', 4, 10],
          ] as const)
            await tx.calls.insert(row(id, { createdAt, expiresAt }));
        });
        const query = { sessionKey: 'k', cursor: undefined, limit: 2, now: 10 };
        const page = await store.read((tx) => tx.calls.pageOf(query));
        assert.deepEqual(
          page.map(({ callId }) => callId),
          ['c2', 'c1'],
        );
      }));

    it('[TK7] are counted while they are kept, and found once they have expired', () =>
      withStore(open, async ({ store }) => {
        await store.write('add', async (tx) => {
          for (const [id, expiresAt] of [
            ['c1', 10],
            ['c2', 20],
            ['c3', 30],
          ] as const)
            await tx.calls.insert(row(id, { expiresAt }));
        });
        const hasAtLeast = (count: number, now: number, sessionKey = 'k') =>
          store.read((tx) => tx.calls.hasAtLeast({ sessionKey, count, now }));
        assert.deepEqual(
          [await hasAtLeast(3, 9), await hasAtLeast(3, 10), await hasAtLeast(2, 10)],
          [true, false, true],
        );
        assert.equal(await hasAtLeast(1, 0, 'o'), false);
        await store.write('sweep', async (tx) => {
          assert.deepEqual(await tx.calls.expired(20, 1), ['c1']);
          assert.deepEqual(await tx.calls.expired(20, 9), ['c1', 'c2']);
          await tx.calls.remove('c1');
          assert.deepEqual(await tx.calls.expired(20, 9), ['c2']);
        });
      }));

    it('[TK7] go with the session that is purged', () =>
      withStore(open, async ({ store }) => {
        await store.write('add', async (tx) => {
          await tx.calls.insert(row('c1'));
          await tx.calls.insert(row('c2', { sessionKey: 'o' }));
          await tx.purge.session('k');
        });
        const left = await store.read(async (tx) => [
          await tx.calls.get('c1'),
          await tx.calls.get('c2'),
        ]);
        assert.deepEqual(left, [undefined, row('c2', { sessionKey: 'o' })]);
      }));

    it('[TK6] keep that they were cancelled', () =>
      withStore(open, async ({ store }) => {
        await store.write('add', (tx) => tx.calls.insert(row('c1')));
        await store.write('cancel', (tx) => tx.calls.cancel('c1', 3));
        const found = await store.read((tx) => tx.calls.get('c1'));
        assert.deepEqual(found, row('c1', { cancelledAt: 3 }));
        assert.equal(await store.read((tx) => tx.calls.get('c2')), undefined);
      }));
  });
}

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Store } from '../store.ts';
import {
  delivery,
  exchange,
  input,
  type OpenHarness,
  run,
  session,
  spawn,
  wait,
  withStore,
} from './samples.suite.ts';

const ids = (windows: { sessionId: string }[]): string[] => windows.map((row) => row.sessionId);

const entry = (sessionId: string) => ({
  sessionId,
  entryId: `${sessionId}-1`,
  type: 'message',
  role: 'user' as const,
  runId: null,
  json: '{"role":"user","content":"x","timestamp":1}',
  createdAt: 1,
});

/** Archive, deletion and purge: the times of sessions and windows, and rows that go for good. */
export function purgeContract(open: OpenHarness): void {
  describe('closed sessions', () => {
    it('[AR2] are found by their clock, in the order of keys', () =>
      withStore(open, async ({ store }) => {
        await store.write('add', async (tx) => {
          await tx.sessions.insert(session('b', { archiveAt: 5 }));
          await tx.sessions.insert(session('a', { archiveAt: 9 }));
          await tx.sessions.insert(session('c'));
        });
        const all = [
          { key: 'a', archiveAt: 9 },
          { key: 'b', archiveAt: 5 },
        ];
        assert.deepEqual(await store.read((tx) => tx.sessions.clocks('', 10)), all);
        assert.deepEqual(await store.read((tx) => tx.sessions.clocks('a', 10)), all.slice(1));
        assert.deepEqual(await store.read((tx) => tx.sessions.clocks('', 1)), all.slice(0, 1));
      }));

    it('[AR14] are found by the time they were archived, deleted ones apart', () =>
      withStore(open, async ({ store }) => {
        await store.write('add', async (tx) => {
          await tx.sessions.insert(session('late', { archivedAt: 30 }));
          await tx.sessions.insert(session('early', { archivedAt: 10 }));
          await tx.sessions.insert(session('gone', { archivedAt: 10, deletedAt: 10 }));
          await tx.sessions.insert(session('live'));
        });
        const before = async (at: number, limit = 10) =>
          (await store.read((tx) => tx.sessions.archivedBefore({ at, limit }))).map(
            ({ key }) => key,
          );
        assert.deepEqual(await before(9), []);
        assert.deepEqual(await before(10), ['early']);
        assert.deepEqual(await before(30), ['early', 'late']);
        assert.deepEqual(await before(30, 1), ['early']);
      }));

    it('[AR14] know whether others descend from them', () =>
      withStore(open, async ({ store }) => {
        await store.write('add', async (tx) => {
          await tx.sessions.insert(session('p'));
          await tx.sessions.insert(session('c', { spawnedBy: 'p', rootKey: 'p', spawnDepth: 1 }));
        });
        assert.equal(await store.read((tx) => tx.sessions.hasDescendants('p')), true);
        assert.equal(await store.read((tx) => tx.sessions.hasDescendants('c')), false);
      }));

    it('[AR5] know whether parts for their chat are open', () =>
      withStore(open, async ({ store }) => {
        await store.write('add', async (tx) => {
          await tx.deliveries.insert(delivery('d1', { sessionKey: 'a', state: 'sending' }));
          await tx.deliveries.insert(delivery('d2', { sessionKey: 'b', state: 'failed' }));
        });
        assert.equal(await store.read((tx) => tx.deliveries.hasOpen('a')), true);
        assert.equal(await store.read((tx) => tx.deliveries.hasOpen('b')), false);
      }));
  });

  describe('windows', () => {
    it('[AR8] of a key are paged, newest first', () =>
      withStore(open, async ({ store, clock }) => {
        await resetOften(store, { key: 'k', count: 4, clock });
        const page = (limit: number, from?: { startedAt: number; sessionId: string }) =>
          store.read((tx) => tx.windows.ofKey({ sessionKey: 'k', cursor: from, limit }));
        const all = await page(10);
        assert.deepEqual(ids(all), ['w4', 'w3', 'w2', 'w1']);
        assert.deepEqual(ids(await page(2)), ['w4', 'w3']);
        assert.deepEqual(ids(await page(2, all[1])), ['w2', 'w1']);
      }));

    it('[SP11] count the children of their session one by one, each window for itself', () =>
      withStore(open, async ({ store, clock }) => {
        await resetOften(store, { key: 'k', count: 2, clock });
        for (let count = 0; count < 3; count += 1)
          await store.write('spawn', (tx) => tx.windows.countChild('w1'));
        const counts = await store.read(async (tx) => [
          (await tx.windows.get('w1'))?.childrenSpawned,
          (await tx.windows.get('w2'))?.childrenSpawned,
        ]);
        assert.deepEqual(counts, [3, 0]);
      }));

    it('[SB2] of a key are followed, oldest first: those with entries, and none twice when two begin at one time', () =>
      withStore(open, async ({ store }) => {
        const windows = ['w1', 'w2', 'w3', 'w4'];
        await store.write('all at once', async (tx) => {
          await tx.sessions.insert(session('k', { sessionId: 'w1', createdAt: tx.now + 5 }));
          for (const sessionId of windows.slice(1)) await tx.sessions.update('k', { sessionId });
          for (const sessionId of ['w1', 'w3', 'w4']) await tx.entries.append(entry(sessionId));
        });
        const followed = async (): Promise<string[]> => {
          const found: string[] = [];
          let cursor: { startedAt: number; sessionId: string } | undefined;
          for (;;) {
            const next = await store.read((tx) =>
              tx.windows.following({ sessionKey: 'k', cursor }),
            );
            if (next === undefined) return found;
            found.push(next.sessionId);
            cursor = next;
          }
        };
        assert.deepEqual(await followed(), ['w1', 'w3', 'w4']);
        await store.write('condemn', (tx) => tx.windows.condemn('w3', 9));
        assert.deepEqual(await followed(), ['w1', 'w4']);
      }));

    it('[AR12] are found by when they ended, were deleted, or are being purged', () =>
      withStore(open, async ({ store, clock }) => {
        await resetOften(store, { key: 'k', count: 3, clock });
        const [third, second, first] = await store.read((tx) =>
          tx.windows.ofKey({ sessionKey: 'k', cursor: undefined, limit: 10 }),
        );
        assert.ok(first?.endedAt && second?.endedAt && third);
        const found = (at: number) =>
          store.read(async (tx) => ({
            ended: ids(await tx.windows.endedBefore({ at, limit: 10 })),
            deleted: ids(await tx.windows.deletedBefore({ at, limit: 10 })),
            condemned: ids(await tx.windows.condemned({ limit: 10 })),
          }));
        const none = { ended: [], deleted: [], condemned: [] };
        assert.deepEqual(await found(first.endedAt - 1), none);
        assert.deepEqual(await found(first.endedAt), { ...none, ended: ['w1'] });
        assert.deepEqual(await found(second.endedAt), { ...none, ended: ['w1', 'w2'] });
        await store.write('delete', (tx) => tx.windows.markDeleted('k', 77_000));
        assert.deepEqual(await found(76_999), none);
        assert.deepEqual(await found(77_000), { ...none, deleted: ['w1', 'w2', 'w3'] });
        const behind = { at: 77_000, after: { at: 77_000, id: 'w1' }, limit: 1 };
        assert.deepEqual(ids(await store.read((tx) => tx.windows.deletedBefore(behind))), ['w2']);
        await store.write('condemn', (tx) => tx.windows.condemn('w2', 78_000));
        const after = { ...none, deleted: ['w1', 'w3'], condemned: ['w2'] };
        assert.deepEqual(await found(77_000), after);
        assert.deepEqual(await store.read((tx) => tx.windows.get('w2')), {
          ...second,
          deletedAt: 77_000,
          purgeAt: 78_000,
        });
        assert.equal((await store.read((tx) => tx.windows.get('w3')))?.endedAt, 77_000);
      }));
  });

  describe('purge', () => {
    it('[AR15] takes entries and tool calls in bounded numbers', () =>
      withStore(open, async ({ store }) => {
        await store.write('add', async (tx) => {
          await tx.sessions.insert(session('k', { sessionId: 's' }));
          await tx.sessions.insert(session('other', { sessionId: 'o' }));
          for (let count = 1; count <= 5; count += 1)
            await tx.entries.append(entryOf('s', `e${count}`));
          await tx.entries.append(entryOf('o', 'o1'));
          for (let position = 0; position < 12; position += 1) {
            const call = {
              runId: 'r',
              position,
              callIndex: 0,
              callId: 'c',
              name: 'read',
              argsJson: '{}',
              heldJson: null,
            };
            await tx.toolCalls.plan(call);
          }
        });
        const purge = (limit: number) => store.write('purge', (tx) => tx.purge.entries('s', limit));
        assert.deepEqual(
          [await purge(2), await purge(2), await purge(2), await purge(2)],
          [2, 2, 1, 0],
        );
        const rest = await store.read((tx) =>
          tx.entries.page({ sessionId: 'o', afterSeq: 0, limit: 9 }),
        );
        assert.equal(rest.length, 1);
        const calls = () => store.write('purge', (tx) => tx.purge.toolCalls('r'));
        assert.deepEqual([await calls(), await calls(), await calls()], [10, 2, 0]);
      }));

    it('[AR12] finds the ended runs of a window, and those that never had one', () =>
      withStore(open, async ({ store }) => {
        await store.write('add', async (tx) => {
          const given = { sessionId: 's', acceptedAt: 5 } as const;
          await tx.runs.insert(run('r1', 'k', { ...given, seq: 1, state: 'ok' }));
          await tx.runs.insert(
            run('r2', 'k', { ...given, seq: 2, sessionId: null, state: 'aborted' }),
          );
          await tx.runs.insert(run('r3', 'k', { ...given, seq: 3, state: 'running' }));
          await tx.runs.insert(
            run('r4', 'k', { ...given, seq: 4, sessionId: 'next', state: 'ok' }),
          );
          await tx.runs.insert(run('r5', 'k', { ...given, seq: 5, acceptedAt: 9, state: 'ok' }));
        });
        const found = async (sessionId: string | undefined, until: number, limit = 10) =>
          store.write('look', async (tx) =>
            (await tx.purge.runs({ sessionKey: 'k', sessionId, until }, limit)).map(
              (row) => row.runId,
            ),
          );
        assert.deepEqual(await found('s', 5), ['r1', 'r2']);
        assert.deepEqual(await found('s', 5, 1), ['r1']);
        assert.deepEqual(await found('s', 9), ['r1', 'r2', 'r5']);
        assert.deepEqual(await found(undefined, 9), ['r1', 'r2', 'r4', 'r5']);
      }));

    it('[AR13] takes a run with all that is its own, or leaves what its key needs', () =>
      withStore(open, async ({ store }) => {
        const keyed = {
          idempotencyScope: 'operator agent',
          idempotencyKey: 'job',
          contentHash: 'h',
        };
        await store.write('add', async (tx) => {
          for (const runId of ['r1', 'r2']) {
            await tx.runs.insert(run(runId, 'k', { state: 'ok', reply: 'SECRET', seq: 1 }));
            await tx.inputs.insert(
              input(runId, 'k', { text: 'SECRET', ...(runId === 'r2' ? keyed : {}) }),
            );
            await tx.waits.insert(wait(`w of ${runId}`, { waiterRunId: runId }));
            await tx.exchanges.insert(exchange(runId, { state: 'done' }));
          }
        });
        await store.write('purge', (tx) => tx.purge.run('r1'));
        await store.write('purge', (tx) => tx.purge.spendRun('r2', 'gone'));
        await store.read(async (tx) => {
          assert.equal(await tx.runs.get('r1'), undefined);
          assert.equal(await tx.inputs.get('r1'), undefined);
          for (const runId of ['r1', 'r2']) {
            assert.equal(await tx.waits.get(`w of ${runId}`), undefined);
            assert.equal(await tx.exchanges.get(runId), undefined);
          }
          const spent = await tx.runs.get('r2');
          assert.deepEqual([spent?.state, spent?.reply, spent?.error], ['ok', '', 'gone']);
          assert.notEqual(spent?.purgedAt, null);
          const found = await tx.inputs.findByIdempotencyKey('operator agent', 'job');
          assert.deepEqual([found?.inputId, found?.text, found?.contentHash], ['r2', '', 'h']);
          // in no list
          assert.equal(await tx.runs.latestOf('k'), undefined);
          const query = { sessionKey: 'k', after: undefined, limit: 9 };
          assert.deepEqual(await tx.runs.pageOfSession(query), []);
          const ended = { state: 'ok', cursor: undefined, limit: 9 } as const;
          assert.deepEqual(await tx.runs.pageOfState(ended), []);
          assert.deepEqual(await tx.runs.countByState(), {});
        });
        const range = { sessionKey: 'k', until: 99_999, sessionId: undefined };
        assert.deepEqual(await store.write('look', (tx) => tx.purge.runs(range, 9)), []);
      }));

    it('[AR12] takes notes that are in a transcript, and texts that need nobody any more', () =>
      withStore(open, async ({ store }) => {
        await store.write('add', async (tx) => {
          const note = { kind: 'note', runId: null } as const;
          await tx.inputs.insert(
            input('n1', 'k', { ...note, seq: 1, state: 'appended', appendedAt: 5 }),
          );
          await tx.inputs.insert(input('n2', 'k', { ...note, seq: 2 }));
          await tx.inputs.insert(
            input('n3', 'k', { ...note, seq: 3, state: 'appended', appendedAt: 50 }),
          );
          const key = { idempotencyScope: 's', idempotencyKey: 'k' };
          await tx.inputs.insert(
            input('n4', 'k', { ...note, ...key, seq: 4, state: 'appended', appendedAt: 5 }),
          );
          for (const [id, sessionId] of [
            ['here', 's'],
            ['there', 'next'],
          ] as const) {
            await tx.runs.insert(run(id, 'k', { sessionId }));
            const joined = { state: 'appended', appendedAt: 5, runId: id } as const;
            await tx.inputs.insert(input(`in ${id}`, 'k', { kind: 'note', seq: 5, ...joined }));
          }
          const sent = { sessionKey: 'k', createdAt: 5 };
          await tx.deliveries.insert(delivery('d1', { ...sent, state: 'sent' }));
          await tx.deliveries.insert(delivery('d2', { ...sent, state: 'failed' }));
          await tx.deliveries.insert(delivery('d3', { ...sent, state: 'queued' }));
          await tx.deliveries.insert(delivery('d4', { ...sent, state: 'sent', contentHash: 'h' }));
          await tx.deliveries.insert(delivery('d5', { ...sent, state: 'sent', createdAt: 50 }));
        });
        const range = { sessionKey: 'k', until: 10 };
        const notes = (sessionId?: string) =>
          store.write('purge', (tx) => tx.purge.notes({ ...range, sessionId }, 10));
        assert.deepEqual([await notes('s'), await notes('s')], [3, 0]);
        assert.ok(await store.read((tx) => tx.inputs.get('in there')));
        assert.deepEqual([await notes(), await notes()], [1, 0]);
        const deliveries = () => store.write('purge', (tx) => tx.purge.deliveries(range, 10));
        assert.deepEqual([await deliveries(), await deliveries()], [2, 0]);
        await store.read(async (tx) => {
          const left = [];
          for (const id of ['n1', 'n2', 'n3', 'n4']) left.push((await tx.inputs.get(id))?.text);
          assert.deepEqual(left, [undefined, 'hello', 'hello', '']);
          const texts = [];
          for (const id of ['d1', 'd2', 'd3', 'd4', 'd5'])
            texts.push((await tx.deliveries.get(id))?.text);
          assert.deepEqual(texts, [undefined, 'done', 'done', '', 'done']);
        });
      }));

    it('[AR12] takes window and session with lane, lineage and spawn', () =>
      withStore(open, async ({ store }) => {
        const below = { spawnedBy: 'p', rootKey: 'p', spawnDepth: 1 };
        await store.write('add', async (tx) => {
          await tx.sessions.insert(session('p'));
          await tx.sessions.insert(session('c', { ...below, sessionId: 's' }));
          await tx.spawns.insert(spawn('c', { requesterKey: 'p' }));
          await tx.lanes.nextSeq('c');
          await tx.purge.window('s');
          await tx.purge.session('c');
        });
        await store.read(async (tx) => {
          assert.equal(await tx.windows.get('s'), undefined);
          assert.equal(await tx.sessions.get('c'), undefined);
          assert.equal(await tx.spawns.get('c'), undefined);
          assert.equal(await tx.lanes.get('c'), undefined);
          assert.equal(await tx.sessions.isDescendant('p', 'c'), false);
        });
        // the key is as new
        await store.write('again', (tx) =>
          tx.sessions.insert(session('c', { ...below, sessionId: 's' })),
        );
      }));
  });
}

/** Gives the key `count` windows w1, w2, … a second apart. */
async function resetOften(
  store: Store,
  { key, count, clock }: { key: string; count: number; clock: { at: number } },
): Promise<void> {
  await store.write('add', (tx) =>
    tx.sessions.insert(session(key, { sessionId: 'w1', createdAt: clock.at })),
  );
  for (let at = 2; at <= count; at += 1) {
    clock.at += 1000;
    await store.write('reset', (tx) => tx.sessions.update(key, { sessionId: `w${at}` }));
  }
}

function entryOf(sessionId: string, entryId: string) {
  return {
    sessionId,
    entryId,
    type: 'message',
    role: 'user' as const,
    runId: null,
    json: '{"role":"user","content":"hello"}',
    createdAt: 1000,
  };
}

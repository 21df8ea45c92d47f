import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ModelCallRow, UsagePlace, UsageScope } from '../usage-repository.ts';
import { type OpenHarness, withStore } from './samples.suite.ts';

const DAY = 86_400_000;

function modelCall(
  runId: string,
  given: Partial<ModelCallRow> = {},
): Omit<ModelCallRow, 'position'> {
  return {
    runId,
    attempt: 1,
    model: 'fake/fake-1',
    outcome: 'ok',
    usageKnown: true,
    inputTokens: 100,
    outputTokens: 10,
    cacheReadTokens: 5,
    cacheWriteTokens: 1,
    costNanos: 2_500,
    at: 3 * DAY + 7,
    ...given,
  };
}

const of = (sessionKey: string, rootKey = sessionKey) => ({ sessionKey, agentId: 'main', rootKey });
const BEGINNING: UsagePlace = { sessionKey: '', day: -1, model: '' };

export function usageContract(open: OpenHarness): void {
  describe('usage', () => {
    it('[US4] keeps the calls of a run in order', () =>
      withStore(open, async ({ store }) => {
        await store.write('book', async (tx) => {
          await tx.usage.book(modelCall('r1'), of('a'));
          await tx.usage.book(modelCall('r2'), of('a'));
          await tx.usage.book(modelCall('r1', { outcome: 'aborted', costNanos: null }), of('a'));
        });
        const calls = await store.read((tx) => tx.usage.callsOf('r1'));
        assert.deepEqual(calls, [
          { ...modelCall('r1'), position: 0 },
          { ...modelCall('r1', { outcome: 'aborted', costNanos: null }), position: 1 },
        ]);
      }));

    it('[US4] adds a call to the day of its session and model in the same unit', () =>
      withStore(open, async ({ store }) => {
        await store.write('book', async (tx) => {
          await tx.usage.book(modelCall('r1'), of('a', 'root'));
          await tx.usage.book(modelCall('r2', { costNanos: null }), of('a', 'root'));
        });
        const unknown = { usageKnown: false, inputTokens: 0, outputTokens: 0, costNanos: null };
        const lost = modelCall('r2', { ...unknown, cacheReadTokens: 0, cacheWriteTokens: 0 });
        await store.write('book', (tx) => tx.usage.book(lost, of('a', 'root')));
        await assert.rejects(
          store.write('fails', async (tx) => {
            await tx.usage.book(modelCall('r3'), of('a', 'root'));
            throw new Error('no');
          }),
        );
        const scope: UsageScope = { type: 'session', sessionKey: 'a' };
        const rows = await store.read((tx) => tx.usage.page({ scope, after: BEGINNING, limit: 9 }));
        assert.deepEqual(rows, [
          {
            ...of('a', 'root'),
            day: 3,
            model: 'fake/fake-1',
            calls: 3,
            unknownCalls: 1,
            unpricedCalls: 1,
            inputTokens: 200,
            outputTokens: 20,
            cacheReadTokens: 10,
            cacheWriteTokens: 2,
            costNanos: 2_500,
            purgedCalls: 0,
          },
        ]);
      }));

    it('[US15] purges the calls of a run in pieces; the sums of their days stay and count them as purged', () =>
      withStore(open, async ({ store }) => {
        await store.write('book', async (tx) => {
          await tx.usage.book(modelCall('r1'), of('a'));
          await tx.usage.book(modelCall('r1', { model: 'other' }), of('a'));
          await tx.usage.book(modelCall('r1', { at: 4 * DAY }), of('a'));
          await tx.usage.book(modelCall('r2'), of('a'));
          await tx.usage.book(modelCall('r3'), of('b'));
        });
        const sums = () =>
          store.read(async (tx) => {
            const scope: UsageScope = { type: 'everything', order: 'session' };
            const rows = await tx.usage.page({ scope, after: BEGINNING, limit: 9 });
            return rows.map(({ purgedCalls, ...row }) => ({ row, purgedCalls }));
          });
        const before = await sums();
        const run = { runId: 'r1', sessionKey: 'a' };
        const purge = () => store.write('purge', (tx) => tx.purge.modelCalls(run, 2));
        assert.deepEqual([await purge(), await purge(), await purge()], [2, 1, 0]);
        const after = await sums();
        assert.deepEqual(
          after.map(({ row }) => row),
          before.map(({ row }) => row),
        );
        assert.deepEqual(
          after.map(({ row, purgedCalls }) => [row.sessionKey, row.day, row.model, purgedCalls]),
          [
            ['a', 3, 'fake/fake-1', 1],
            ['a', 3, 'other', 1],
            ['a', 4, 'fake/fake-1', 1],
            ['b', 3, 'fake/fake-1', 0],
          ],
        );
        assert.deepEqual(await store.read((tx) => tx.usage.callsOf('r1')), []);
        assert.equal((await store.read((tx) => tx.usage.callsOf('r2'))).length, 1);
      }));

    it('[US4] walks each scope in its order, every row once', () =>
      withStore(open, async ({ store }) => {
        await store.write('book', async (tx) => {
          for (const [sessionKey, rootKey, day, model] of [
            ['a', 'a', 2, 'm'],
            ['b', 'a', 1, 'n'],
            ['b', 'a', 1, 'm'],
            ['b', 'a', 3, 'm'],
            ['B', 'B', 2, 'm'],
          ] as const) {
            await tx.usage.book(modelCall('r', { at: day * DAY, model }), of(sessionKey, rootKey));
          }
        });
        const walk = async (scope: UsageScope, start = BEGINNING): Promise<string[]> => {
          const seen: string[] = [];
          for (let after = start; ;) {
            const rows = await store.read((tx) => tx.usage.page({ scope, after, limit: 2 }));
            seen.push(...rows.map((row) => `${row.sessionKey}${row.day}${row.model}`));
            const last = rows.at(-1);
            if (last === undefined) return seen;
            after = last;
          }
        };
        const everything = ['b1m', 'b1n', 'B2m', 'a2m', 'b3m'];
        assert.deepEqual(await walk({ type: 'everything', order: 'day' }), everything);
        assert.deepEqual(
          await walk({ type: 'everything', order: 'day' }, { ...BEGINNING, day: 2 }),
          everything.slice(2),
        );
        assert.deepEqual(await walk({ type: 'everything', order: 'session' }), [
          'B2m',
          'a2m',
          'b1m',
          'b1n',
          'b3m',
        ]);
        assert.deepEqual(await walk({ type: 'session', sessionKey: 'b' }), ['b1m', 'b1n', 'b3m']);
        assert.deepEqual(await walk({ type: 'root', rootKey: 'a' }), ['a2m', 'b1m', 'b1n', 'b3m']);
      }));
  });
}

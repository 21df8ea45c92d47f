import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { BudgetRow } from '../budget-repository.ts';
import { type OpenHarness, session, withStore } from './samples.suite.ts';

function budget(ownerKey: string, given: Partial<BudgetRow> = {}): BudgetRow {
  return {
    ownerKey,
    limitTokens: 5_000_000_000_000,
    limitNanos: null,
    limitRuns: 3,
    limitMs: null,
    spentTokens: 0,
    spentNanos: 0,
    spentRuns: 0,
    spentMs: 0,
    reservedTokens: 0,
    reservedNanos: 0,
    going: 0,
    countedTo: null,
    createdAt: 7,
    ...given,
  };
}

export function budgetsContract(open: OpenHarness): void {
  describe('budgets', () => {
    it('[BU7] finds those above a session, at whatever depth, and no others', () =>
      withStore(open, async ({ store }) => {
        await store.write('add', async (tx) => {
          await tx.sessions.insert(session('root'));
          await tx.sessions.insert(session('child', { spawnedBy: 'root', rootKey: 'root' }));
          await tx.sessions.insert(session('leaf', { spawnedBy: 'child', rootKey: 'root' }));
          for (const key of ['root', 'leaf', 'other']) await tx.budgets.insert(budget(key));
        });
        const above = (key: string) =>
          store.read(async (tx) => (await tx.budgets.above(key)).map(({ ownerKey }) => ownerKey));
        assert.deepEqual(await above('leaf'), ['root']);
        assert.deepEqual(await above('root'), []);
        await store.write('add', (tx) => tx.budgets.insert(budget('child')));
        assert.deepEqual((await above('leaf')).toSorted(), ['child', 'root']);
      }));

    it('[BU7] changes what is named, and nothing of a unit that fails', () =>
      withStore(open, async ({ store }) => {
        await store.write('add', (tx) => tx.budgets.insert(budget('k')));
        const patch = { spentNanos: 9_000_000_000_000, reservedTokens: 4 };
        await store.write('change', (tx) => tx.budgets.update('k', patch));
        await assert.rejects(
          store.write('fails', async (tx) => {
            await tx.budgets.update('k', { spentTokens: 1 });
            throw new Error('no');
          }),
        );
        await assert.rejects(
          store.write('none', (tx) => tx.budgets.update('gone', patch)),
          { code: 'not_found' },
        );
        assert.deepEqual(await store.read((tx) => tx.budgets.get('k')), budget('k', patch));
      }));

    it('[BU7] gives a run its holds instead of those that it had', () =>
      withStore(open, async ({ store }) => {
        const hold = (runId: string, ownerKey: string, tokens: number) => ({
          runId,
          ownerKey,
          tokens,
          nanos: 2,
        });
        const holdsOf = (runId: string) => store.read((tx) => tx.budgets.holdsOf(runId));
        await store.write('hold', async (tx) => {
          await tx.budgets.replaceHolds('r', [hold('r', 'a', 1), hold('r', 'b', 1)]);
          await tx.budgets.replaceHolds('other', [hold('other', 'a', 1)]);
        });
        await store.write('hold', (tx) => tx.budgets.replaceHolds('r', [hold('r', 'b', 5)]));
        assert.deepEqual(await holdsOf('r'), [hold('r', 'b', 5)]);
        await store.write('end', (tx) => tx.budgets.replaceHolds('r', []));
        assert.deepEqual(await holdsOf('r'), []);
        assert.equal((await holdsOf('other')).length, 1);
      }));

    it('[BU7] a purged session leaves no budget', () =>
      withStore(open, async ({ store }) => {
        await store.write('add', (tx) => tx.budgets.insert(budget('k')));
        await store.write('purge', (tx) => tx.purge.session('k'));
        assert.equal(await store.read((tx) => tx.budgets.get('k')), undefined);
      }));
  });
}

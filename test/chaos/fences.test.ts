/** What the two breaks of a lane's fence let through, and that nothing else does. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite-store.ts';
import type { LaneFence } from '../../src/store/lane-repository.ts';
import type { Store } from '../../src/store/store.ts';
import { silentLogger } from '../../src/util/logger.ts';
import { type Break, breakStore } from './breaks.ts';

const KEY = 'k';

/** A lane that its owner has lost and claimed again: at epoch 2, or at 3 by another one. */
async function openLane(t: TestContext, owner: string): Promise<Store> {
  const folder = mkdtempSync(join(tmpdir(), 'fences-'));
  const path = join(folder, 'trunkline.db');
  const store = openSqliteStore({ path, clock: { now: () => 1000 }, logger: silentLogger });
  t.after(async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const owners = owner === 'me' ? ['me', 'me'] : ['me', 'me', owner];
  await store.write('add', (tx) => tx.lanes.addRun(KEY, 'main', 1));
  for (const claimer of owners) {
    await store.write('claim', async (tx) => {
      await tx.lanes.freeOrphans('nobody');
      assert.ok(await tx.lanes.claimNext({ runClass: 'main', owner: claimer }));
    });
  }
  return store;
}

async function mayWrite(store: Store, broken: Break | undefined): Promise<boolean> {
  const fence: LaneFence = { sessionKey: KEY, owner: 'me', epoch: 1 };
  return breakStore(store, broken)
    .write('late', async (tx) => {
      await tx.lanes.lock(fence);
      await tx.lanes.setState(fence, 'waiting');
    })
    .then(
      () => true,
      () => false,
    );
}

const CASES = [
  { broken: undefined, mine: false, others: false },
  { broken: 'stale-epoch', mine: true, others: false },
  { broken: 'no-fence', mine: true, others: true },
] as const;

for (const { broken, mine, others } of CASES) {
  it(`[CX2] ${broken ?? 'the whole fence'}: a late step of an earlier claim ${mine ? 'is' : 'is not'} written to a lane that is its owner’s again, ${others ? 'and' : 'not'} to one of another owner`, async (t) => {
    assert.equal(await mayWrite(await openLane(t, 'me'), broken), mine);
    assert.equal(await mayWrite(await openLane(t, 'other'), broken), others);
  });
}

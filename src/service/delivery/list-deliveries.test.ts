import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSessionWorld } from '../../../test/helpers/session-world.ts';
import { watchReads } from '../../../test/helpers/watched-reads.ts';
import { delivery } from '../../store/contract/samples.suite.ts';
import { listDeliveries } from './list-deliveries.ts';

const MAIN = 'agent:main:main';
const COUNT = 5100;

test('[SL14, DL8] a rare state is found in 5,000 parts a page and 200 a query, of a chat and of a session', async (t) => {
  const world = createSessionWorld(t);
  await world.add({ key: MAIN });
  await world.context.store.write('add-deliveries', async (tx) => {
    for (let at = 1; at <= COUNT; at += 1) {
      const place = { routeKey: 'r', routeSeq: at, createdAt: at };
      const state = at % 1700 === 1 ? 'failed' : 'sent';
      await tx.deliveries.insert(delivery(`d${at}`, { ...place, state }));
    }
  });
  for (const scope of [
    { routeKey: 'r' },
    { sessionKey: MAIN },
    { routeKey: 'r', sessionKey: MAIN },
  ]) {
    const found: string[][] = [];
    let cursor: string | undefined;
    do {
      const { store, pages } = watchReads(world.context.store);
      const query = { ...scope, states: ['failed' as const], ...(cursor && { cursor }) };
      const page = await listDeliveries({ ...world.context, store }, query);
      found.push(page.deliveries.map(({ deliveryId }) => deliveryId));
      const examined = pages.reduce((sum, rows) => sum + rows, 0);
      assert.ok(examined <= 5000 && Math.max(...pages) <= 200, `${examined} in ${pages.join()}`);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    assert.deepEqual(found, [['d3401', 'd1701'], ['d1']]);
  }
});

test('[SL14] a full page of a state takes no more than 200 rows a query, and knows of the next', async (t) => {
  const world = createSessionWorld(t);
  await world.context.store.write('add-deliveries', async (tx) => {
    for (let at = 1; at <= 201; at += 1)
      await tx.deliveries.insert(delivery(`d${at}`, { state: 'failed', createdAt: at }));
  });
  const { store, pages } = watchReads(world.context.store);
  const context = { ...world.context, store };
  const page = await listDeliveries(context, { limit: 200 });
  assert.deepEqual([page.count, page.deliveries[0]?.deliveryId], [200, 'd201']);
  assert.ok(Math.max(...pages) <= 200, pages.join());
  const rest = await listDeliveries(context, { limit: 200, cursor: page.nextCursor! });
  assert.deepEqual(
    [rest.deliveries.map(({ deliveryId }) => deliveryId), rest.hasMore],
    [['d1'], false],
  );
});

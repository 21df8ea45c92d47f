import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSessionWorld } from '../../test/helpers/session-world.ts';
import { watchReads } from '../../test/helpers/watched-reads.ts';
import { auditLine } from '../store/contract/samples.suite.ts';
import { listAudit } from './list-audit.ts';

test('[SL14, AU1] lines that two filters find are read 200 a query', async (t) => {
  const world = createSessionWorld(t);
  await world.context.store.write('add-lines', async (tx) => {
    for (let at = 1; at <= 600; at += 1) {
      const actor = at % 250 === 1 ? 'device' : 'operator';
      await tx.audit.insert(auditLine(`l${at}`, { at, action: 'sessions.reset', actor }));
    }
  });
  const { store, pages } = watchReads(world.context.store);
  const context = { ...world.context, store };
  const query = { action: 'sessions.reset', actor: 'device', limit: 2 };
  const first = await listAudit(context, query);
  assert.deepEqual(
    first.lines.map(({ id }) => id),
    ['l501', 'l251'],
  );
  const rest = await listAudit(context, { ...query, cursor: first.nextCursor! });
  assert.deepEqual([rest.lines.map(({ id }) => id), rest.hasMore], [['l1'], false]);
  assert.ok(Math.max(...pages) <= 200, pages.join());
});

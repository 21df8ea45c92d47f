import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import type { Route } from '../protocol/words.ts';
import { routeKeyOf } from './route-key.ts';

it('names a chat the same however its route is written, and another chat otherwise', () => {
  const text = fc.string({ maxLength: 300 });
  const route = fc.record(
    { channel: text, to: text, accountId: text, threadId: text },
    { requiredKeys: ['channel'] },
  );
  const same = (a: Route, b: Route) =>
    (['channel', 'to', 'accountId', 'threadId'] as const).every((name) => a[name] === b[name]);
  fc.assert(
    fc.property(route, route, (a, b) => {
      assert.match(routeKeyOf(a), /^[0-9a-f]{32}$/);
      assert.equal(
        routeKeyOf(a),
        routeKeyOf(Object.fromEntries(Object.entries(a).toReversed()) as unknown as Route),
      );
      assert.equal(routeKeyOf(a) === routeKeyOf(b), same(a, b));
    }),
  );
  const parts = { channel: 'a', to: 'b' };
  assert.notEqual(routeKeyOf(parts), routeKeyOf({ channel: 'a', accountId: 'b' }));
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { orderLineage } from './order-lineage.ts';

test('parents come before children whatever the order, and circles are cut once', () => {
  const key = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g');
  const items = fc.uniqueArray(fc.record({ key, parentKey: fc.option(key, { nil: undefined }) }), {
    selector: (item) => item.key,
  });
  fc.assert(
    fc.property(items, (given) => {
      const { ordered, looped } = orderLineage(given);
      assert.deepEqual(new Set(ordered), new Set(given));
      assert.equal(ordered.length, given.length);
      const seen = new Set<string>();
      for (const item of ordered) {
        const isHere = given.some((other) => other.key === item.parentKey);
        if (isHere && !looped.has(item)) assert.ok(seen.has(item.parentKey ?? ''), item.key);
        seen.add(item.key);
      }
    }),
  );
});

test('the order stays as given where lineage does not decide', () => {
  const [a, b, c] = [
    { key: 'a', parentKey: 'c' },
    { key: 'b', parentKey: 'elsewhere' },
    { key: 'c', parentKey: undefined },
  ];
  assert.deepEqual(orderLineage([a, b, c]), { ordered: [c, a, b], looped: new Set() });
  const loop = [
    { key: 'x', parentKey: 'y' },
    { key: 'y', parentKey: 'x' },
  ];
  assert.equal(orderLineage(loop).looped.size, 1);
});

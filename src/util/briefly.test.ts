import assert from 'node:assert/strict';
import { test } from 'node:test';
import { briefly } from './briefly.ts';

test('a short text is echoed whole, a long one by its beginning', () => {
  assert.equal(briefly('x'.repeat(80)), 'x'.repeat(80));
  assert.equal(briefly('x'.repeat(3_000_000)), `${'x'.repeat(80)}…`);
  assert.ok(briefly(`${'x'.repeat(79)}😀😀`).isWellFormed());
});

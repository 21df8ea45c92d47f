import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectOptions, longConnectOptions } from './connect-options.ts';

test('[CA4] a migration and a rule of the doctor may take as long as they need, other statements have a limit', () => {
  const { query_timeout: limit, ...others } = connectOptions('postgres://host/db');
  assert.equal(typeof limit, 'number');
  assert.deepEqual(longConnectOptions('postgres://host/db'), others);
});

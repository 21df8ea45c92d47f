import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultConfig } from '../protocol/options/config.ts';
import { secretValues } from './secret-values.ts';

test('[MK6] the secrets of a configuration are the values of its secret options, wherever they stand', () => {
  const apiKey = 'key of a';
  const baseUrl = 'http://127.0.0.1:1';
  const config = defaultConfig({
    gateway: { auth: { mode: 'password', password: 'pass' } },
    models: { providers: { a: { baseUrl, apiKey }, b: { baseUrl } } },
  });
  assert.deepEqual(secretValues(config).sort(), [apiKey, 'pass']);
  assert.deepEqual(secretValues(defaultConfig({})), []);
});

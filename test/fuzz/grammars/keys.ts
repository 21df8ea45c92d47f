/** Session keys in every spelling, at the rules and at the methods that take one. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import {
  canonicalKey,
  channelOf,
  kindOf,
  mayOperatorCreate,
  parseKey,
} from '../../../src/core/keys.ts';
import { routeOfKey } from '../../../src/core/key-route.ts';
import type { Grammar } from '../grammar.ts';
import type { FuzzWorld } from '../fuzz-world.ts';
import { assertErrorText } from '../oracles.ts';
import { keyText } from '../suiting-values.ts';
import { feedCall } from './methods.ts';

interface KeyInput {
  key: string;
  scope: 'per-sender' | 'global';
  /** which method is asked as well */
  dice: number;
}

const inputs: fc.Arbitrary<KeyInput> = fc.record({
  key: keyText,
  scope: fc.constantFrom('per-sender', 'global'),
  dice: fc.nat({ max: 99 }),
});

const METHODS: ((key: string) => { method: string; params: Record<string, unknown> })[] = [
  (sessionKey) => ({ method: 'chat.history', params: { sessionKey } }),
  (key) => ({ method: 'sessions.patch', params: { key, label: 'x' } }),
  (sessionKey) => ({
    method: 'chat.send',
    params: { sessionKey, message: 'x', idempotencyKey: sessionKey.slice(0, 200) || 'k' },
  }),
  (sessionKey) => ({ method: 'runs.stop', params: { sessionKey } }),
  (sessionKey) => ({
    method: 'tools.invoke',
    params: { tool: 'sessions_history', args: { sessionKey } },
  }),
  (sessionKey) => ({
    method: 'tools.invoke',
    params: { tool: 'sessions_list', args: {}, sessionKey },
  }),
  (key) => ({ method: 'sessions.windows', params: { key } }),
  (key) => ({ method: 'sessions.create', params: { key, clientName: key.slice(0, 200) || 'c' } }),
  (sessionKey) => ({ method: 'usage', params: { sessionKey, tree: true } }),
];

export function keysGrammar(world: FuzzWorld): Grammar<KeyInput> {
  return {
    inputs,
    feed: async ({ key, scope, dice }) => {
      assertCanonical(key, scope);
      const call = METHODS[dice];
      if (call !== undefined) await feedCall(world, call(key));
    },
  };
}

// oxlint-disable-next-line no-control-regex -- what must not be in a key
const UNSEEN = /[\u0000-\u001F\u007F-\u009F\u200B-\u200F\u2028-\u202E\u2060-\u2069\uFEFF]/;

function assertCanonical(text: string, scope: KeyInput['scope']): void {
  const options = { mainKey: 'main', agentId: 'a', scope };
  const first = canonicalKey(text, options);
  if (!first.ok) return assertErrorText(first.error, { input: text, secrets: [] });
  const { key } = first;
  assert.ok(key.length <= 600 && !UNSEEN.test(key), 'a key shows what it is');
  if (key === 'global') return;
  const again = canonicalKey(key, options);
  assert.ok(again.ok && again.key === key, 'a canonical key is its own');
  const { form, channel } = parseKey(key);
  assert.notEqual(form, 'unknown');
  routeOfKey(key);
  channelOf({ key, kind: kindOf(key, { mainKey: 'main' }) });
  const creation = mayOperatorCreate(key, { mainKey: 'main', agentIds: ['a', 'b', 'c'] });
  if (!creation.ok) return assertErrorText(creation.error, { input: text, secrets: [] });
  const isInternal = ['subagent', 'cron', 'hook', 'node', 'global', 'unknown'].includes(form);
  assert.ok(!isInternal && !(form === 'group' && channel === undefined), `${form} may be created`);
}

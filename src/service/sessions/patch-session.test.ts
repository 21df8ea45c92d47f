import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createSessionWorld, WORLD_START } from '../../../test/helpers/session-world.ts';
import { GatewayError } from '../../protocol/errors.ts';
import { patchSession } from './patch-session.ts';
import type { RunEvent } from '../run-events.ts';
import type { PatchSession } from '../services.ts';

const MAIN = 'agent:main:main';
const OPERATOR = { type: 'operator', scopes: ['operator.admin'] } as const;

test('[PS1, BR-185] settings are stored before the first message, and null clears them', async (t) => {
  const world = createSessionWorld(t);
  await world.add({ key: MAIN });
  world.time.now += 5000;
  const set = await patchSession(world.context, OPERATOR, {
    key: MAIN,
    label: 'L',
    sendPolicy: 'deny',
  });
  assert.deepEqual([set.key, set.entry['label'], set.entry['sendPolicy']], [MAIN, 'L', 'deny']);
  const stored = await world.context.store.read((tx) => tx.sessions.get(MAIN));
  assert.deepEqual(
    [stored?.label, stored?.sendPolicy, stored?.updatedAt],
    ['L', 'deny', WORLD_START],
  );
  const cleared = await patchSession(world.context, OPERATOR, {
    key: 'main',
    label: null,
    sendPolicy: null,
  });
  assert.equal('label' in cleared.entry, false);
  const after = await world.context.store.read((tx) => tx.sessions.get(MAIN));
  assert.deepEqual([after?.label, after?.sendPolicy], [null, null]);
});

test('[PS1] a main session without a row gets one; a change is told', async (t) => {
  const world = createSessionWorld(t);
  const events: RunEvent[] = [];
  world.context.events.subscribe((event) => events.push(event));
  const { entry } = await patchSession(world.context, OPERATOR, {
    key: 'main',
    thinkingLevel: 'high',
  });
  assert.deepEqual([entry['kind'], entry['thinkingLevel']], ['main', 'high']);
  assert.deepEqual(events, [{ type: 'session_changed', sessionKey: MAIN }]);
});

test('[PS2] a model is stored as it resolves', async (t) => {
  const provider = { baseUrl: 'http://127.0.0.1:1/v1', models: [{ id: 'm' }] };
  const world = createSessionWorld(t, {
    models: { providers: { p: provider } },
    agents: { defaults: { models: { fast: 'p/m' } } },
  });
  const { entry } = await patchSession(world.context, OPERATOR, { key: 'main', model: 'FAST' });
  assert.equal(entry['model'], 'p/m');
});

describe('refused patches', () => {
  const cases: [string, object, string, RegExp][] = [
    [
      'an unknown session',
      { key: 'agent:main:discord:group:x', label: 'l' },
      'not_found',
      /group:x/,
    ],
    ['a word that is no key', { key: 'worker', label: 'l' }, 'invalid_request', /session key/],
    ['an unknown model', { key: 'main', model: 'no/such' }, 'invalid_request', /provider "no"/],
    ['an unknown level', { key: 'main', thinkingLevel: 'huge' }, 'invalid_request', /off, minimal/],
    ['an unknown policy', { key: 'main', sendPolicy: 'maybe' }, 'invalid_request', /allow/],
    ['lineage', { key: 'main', spawnedBy: 'x' }, 'invalid_request', /spawnedBy cannot be patched/],
    ['a blank label', { key: 'main', label: ' ' }, 'invalid_request', /label must not be blank/],
    ['nothing', { key: 'main' }, 'invalid_request', /nothing to change/],
  ];
  for (const [what, patch, code, text] of cases) {
    test(`[PS2] ${what} is refused and changes nothing`, async (t) => {
      const world = createSessionWorld(t);
      await assert.rejects(
        patchSession(world.context, OPERATOR, patch as PatchSession),
        (error) => {
          assert.ok(error instanceof GatewayError);
          assert.equal(error.code, code);
          assert.match(error.message, text);
          return true;
        },
      );
      assert.equal(await world.context.store.read((tx) => tx.sessions.count()), 0);
    });
  }
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { configSchema } from '../../protocol/options/config.ts';
import { configFromOpenClaw } from './config-from-openclaw.ts';

const SECRET = 'hunter2-very-secret';

test('what is understood is kept, the rest is listed by path', () => {
  const { config, left } = configFromOpenClaw({
    session: { mainKey: 'work', dmScope: 'per-peer', sendPolicy: { default: 'deny', rules: [] } },
    agents: {
      defaults: { model: { primary: 'p/m' }, heartbeat: { every: '0m' } },
      list: [{ id: 'main', default: true, subagents: { allowAgents: ['*'] }, identity: {} }],
    },
    tools: { sessions: { visibility: 'everything' }, agentToAgent: { enabled: true } },
    toolz: {},
  });
  assert.deepEqual(config, {
    session: { mainKey: 'work', sendPolicy: { default: 'deny', rules: [] } },
    agents: {
      defaults: { model: { primary: 'p/m' } },
      list: [{ id: 'main', default: true, subagents: { allowAgents: ['*'] } }],
    },
    tools: { sessions: {}, agentToAgent: { enabled: true } },
  });
  assert.deepEqual(
    left.map((item) => item.path),
    [
      'session.dmScope',
      'agents.defaults.heartbeat',
      'agents.list[0].identity',
      'tools.sessions.visibility',
      'toolz',
    ],
  );
  assert.match(left.at(-1)?.reason ?? '', /nearest is tools/);
});

test('secrets become references to the environment and appear nowhere', () => {
  const translated = configFromOpenClaw({
    gateway: { auth: { token: SECRET, password: SECRET } },
    hooks: { enabled: true, token: SECRET },
    channels: { discord: { token: SECRET } },
    models: {
      providers: {
        'my-llm': { baseUrl: 'http://127.0.0.1:1/v1', apiKey: SECRET },
        kept: { baseUrl: 'http://127.0.0.1:1/v1', apiKey: '${MY_KEY}' },
        ref: { baseUrl: 'http://127.0.0.1:1/v1', apiKey: { source: 'env', id: 'REF_KEY' } },
      },
    },
  });
  assert.doesNotMatch(JSON.stringify(translated), new RegExp(SECRET));
  const { providers } = translated.config['models'] as {
    providers: Record<string, { apiKey: string }>;
  };
  assert.equal(providers['my-llm']?.apiKey, '${MY_LLM_API_KEY}');
  assert.equal(providers['kept']?.apiKey, '${MY_KEY}');
  assert.equal(providers['ref']?.apiKey, '${REF_KEY}');
  assert.deepEqual(translated.secrets, [
    { path: 'gateway.auth.token', env: 'TRUNKLINE_GATEWAY_TOKEN' },
    { path: 'gateway.auth.password', env: 'TRUNKLINE_GATEWAY_PASSWORD' },
    { path: 'models.providers.my-llm.apiKey', env: 'MY_LLM_API_KEY' },
    { path: 'models.providers.ref.apiKey', env: 'REF_KEY' },
  ]);
});

test('a group that cannot be used without what was dropped is dropped whole', () => {
  const { config, left } = configFromOpenClaw({
    models: {
      providers: { bad: { baseUrl: 'ftp://x', models: [] }, good: { baseUrl: 'http://x' } },
    },
    agents: { list: [{ name: 'no id' }, { id: 'b' }] },
  });
  assert.deepEqual(config, {
    models: { providers: { good: { baseUrl: 'http://x' } } },
    agents: { list: [{ id: 'b' }] },
  });
  assert.ok(left.some((item) => item.path === 'models.providers.bad'));
});

test('whatever was written, the result is a valid configuration', () => {
  const words =
    'session tools agents models providers list id defaults gateway auth token __proto__ constructor subagents baseUrl p bindings sendPolicy';
  const key = fc.constantFrom(...words.split(' '));
  const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 5, withCrossShrink: true },
      fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null)),
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.dictionary(key, tie('tree'), { maxKeys: 4 }),
    ),
  }));
  fc.assert(
    fc.property(fc.dictionary(key, tree), (source) => {
      const { config } = configFromOpenClaw(source);
      assert.equal(configSchema.safeParse(config).success, true);
    }),
    { numRuns: 200 },
  );
});

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import JSON5 from 'json5';
import { optionTable } from '../protocol/options/option-table.ts';
import type { OptionRow } from '../protocol/options/option-table.ts';
import { checkConfig, checkConfigValue } from './check-config.ts';
import type { Environment } from './env-references.ts';

/** The first block of the documents, as it is written there. */
const SEND_POLICY_BLOCK = `{
  "session": {
    "sendPolicy": {
      "rules": [
        {
          "match": { "channel": "discord", "chatType": "group" },
          "action": "deny"
        }
      ],
      "default": "allow"
    }
  }
}`;

/** The second block of the documents, in JSON5 with comments. */
const VISIBILITY_BLOCK = `{
  tools: {
    sessions: {
      // "self" | "tree" | "agent" | "all"
      // default: "tree"
      visibility: "tree",
    },
  },
  agents: {
    defaults: {
      sandbox: {
        // default: "spawned"
        sessionToolsVisibility: "spawned", // or "all"
      },
    },
  },
}`;

const check = (written: unknown, env: Environment = {}) => checkConfigValue(written, env);
const errorsOf = (written: unknown, env: Environment = {}) =>
  check(written, env).errors.map(({ path, message }) => `${path}: ${message}`);

test('[CF2] the send policy block of the documents loads verbatim', () => {
  const { config, errors, warnings } = check(JSON5.parse(SEND_POLICY_BLOCK));
  assert.deepEqual({ errors, warnings }, { errors: [], warnings: [] });
  assert.deepEqual(config?.session.sendPolicy, {
    rules: [{ match: { channel: 'discord', chatType: 'group' }, action: 'deny' }],
    default: 'allow',
  });
});

test('[CF2] the visibility block of the documents loads verbatim', () => {
  const { config, errors, warnings } = check(JSON5.parse(VISIBILITY_BLOCK));
  assert.deepEqual({ errors, warnings }, { errors: [], warnings: [] });
  assert.equal(config?.tools.sessions.visibility, 'tree');
  assert.equal(config?.agents.defaults.sandbox.sessionToolsVisibility, 'spawned');
});

test('a configuration that the documented product wrote loads; what has no effect is warned of by path', () => {
  const { config, errors, warnings } = check({
    gateway: {
      mode: 'local',
      port: 18_791,
      bind: 'loopback',
      auth: { mode: 'token', token: 't' },
      controlUi: { enabled: false },
    },
    models: {
      mode: 'replace',
      providers: {
        fake: {
          baseUrl: 'http://127.0.0.1:18801/v1',
          apiKey: 'k',
          api: 'openai-completions',
          models: [
            {
              id: 'fake-1',
              name: 'Fake One',
              reasoning: false,
              input: ['text'],
              cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
              contextWindow: 200_000,
              maxTokens: 4096,
            },
          ],
        },
      },
    },
    agents: {
      defaults: {
        workspace: '/srv/ws',
        skipBootstrap: true,
        model: { primary: 'fake/fake-1' },
        models: { 'fake/fake-1': {} },
        heartbeat: { every: '0m' },
      },
      list: [
        { id: 'main', default: true, subagents: { allowAgents: ['*'] } },
        { id: 'beta', workspace: '/srv/ws-beta' },
      ],
    },
    tools: { profile: 'full', agentToAgent: { enabled: true }, sessions: { visibility: 'all' } },
  });
  assert.deepEqual(errors, []);
  assert.deepEqual(
    warnings.map(({ path }) => path),
    [
      'gateway.mode',
      'gateway.controlUi',
      'models.mode',
      'agents.defaults.skipBootstrap',
      'agents.defaults.heartbeat',
    ],
  );
  assert.equal(config?.gateway.port, 18_791);
});

test('[CF3] an unknown key is refused when it is close to a known one, else warned of', async (t) => {
  const cases: { written: unknown; error?: string; warning?: string }[] = [
    { written: { sesion: {} }, error: 'sesion: unknown key; did you mean "session"?' },
    {
      written: { tools: { sessions: { visiblity: 'all' } } },
      error: 'tools.sessions.visiblity: unknown key; did you mean "visibility"?',
    },
    {
      written: { agents: { list: [{ id: 'a', subagents: { allowAgent: ['*'] } }] } },
      error: 'agents.list[0].subagents.allowAgent: unknown key; did you mean "allowAgents"?',
    },
    {
      written: { agents: { entries: { a: { naem: 'A' } } } },
      error: 'agents.entries.a.naem: unknown key; did you mean "name"?',
    },
    {
      written: { agents: { defaults: { model: { primery: 'x' } } } },
      error: 'agents.defaults.model.primery: unknown key; did you mean "primary"?',
    },
    {
      written: { session: { sendPolicy: { rules: [{ match: { chanel: 'x' }, action: 'deny' }] } } },
      error: 'session.sendPolicy.rules[0].match.chanel: unknown key; did you mean "channel"?',
    },
    {
      written: { agents: { defaults: { budget: { token: 5, runs: 1 } } } },
      error: 'agents.defaults.budget.token: unknown key; did you mean "tokens"?',
    },
    {
      written: { agents: { list: [{ id: 'a', budget: { runs: 1, dollars: 5 } }] } },
      warning: 'agents.list[0].budget.dollars',
    },
    { written: { seson: {} }, error: 'seson: unknown key; did you mean "session"?' },
    { written: { sesn: {} }, warning: 'sesn' },
    { written: { logging: { level: 'debug' } }, warning: 'logging' },
    { written: { agents: { defaults: { heartbeat: {} } } }, warning: 'agents.defaults.heartbeat' },
    { written: { gateway: { 'odd key': 1 } }, warning: 'gateway["odd key"]' },
    { written: JSON5.parse('{__proto__: {polluted: true}}'), warning: '__proto__' },
  ];
  for (const { written, error, warning } of cases) {
    await t.test(error ?? warning ?? '', () => {
      const found = check(written);
      const aboutKeys = errorsOf(written).filter((text) => / key\b/.test(text));
      if (error !== undefined) assert.deepEqual(aboutKeys, [error]);
      else assert.deepEqual(found.errors, []);
      const warned = warning === undefined ? [] : [warning];
      assert.deepEqual(
        found.warnings.map(({ path }) => path),
        warned,
      );
    });
  }
});

test('[CF4] every documented setting whose support is not there is refused by name at any other value', async (t) => {
  const refused = optionTable().filter((row) => row.note.support === 'default-only');
  assert.ok(refused.length > 60);
  for (const row of refused) {
    await t.test(row.path, () => {
      const { written, path } = placed(row, otherValue(row));
      const message = check(written).errors.find((error) => error.path === path)?.message;
      assert.match(message ?? 'no error', /is not supported yet/);
      for (const accepted of [row.defaultValue, ...(row.note.alsoAccepted ?? [])]) {
        if (accepted === undefined) continue;
        const { errors } = check(placed(row, accepted).written);
        assert.deepEqual(
          errors.filter((error) => error.path === path),
          [],
        );
      }
    });
  }
});

test('[CF4] the refusal names the value and what is accepted, and no secret', () => {
  assert.deepEqual(errorsOf({ session: { dmScope: 'per-peer' } }), [
    'session.dmScope: "per-peer" is not supported yet; leave it out or use "main"',
  ]);
  assert.deepEqual(errorsOf({ agents: { defaults: { sandbox: { mode: 'all' } } } }), [
    'agents.defaults.sandbox.mode: "all" is not supported yet; leave it out or use "off"',
  ]);
  assert.deepEqual(errorsOf({ hooks: { token: 'hunter2' } }), [
    'hooks.token: is not supported yet; leave it out',
  ]);
  assert.deepEqual(errorsOf({ channels: { telegram: { botToken: 'hunter2' } } }), [
    'channels.telegram.botToken: is not supported yet; leave it out',
  ]);
  assert.deepEqual(errorsOf({ session: { store: '${HOME_DIR}/x' } }, { HOME_DIR: 'hunter2' }), [
    'session.store: "${HOME_DIR}/x" is not supported yet; leave it out',
  ]);
});

test('[CF5] environment references are resolved anywhere, and a missing one is named with its path', () => {
  const provider = (apiKey: string) => ({
    models: {
      providers: { own: { baseUrl: 'http://127.0.0.1:1/v1', apiKey, models: [{ id: 'm' }] } },
    },
  });
  const keyOf = (apiKey: string, env: Environment) =>
    check(provider(apiKey), env).config?.models.providers['own']?.apiKey;
  assert.equal(keyOf('${OWN_KEY}', { OWN_KEY: 'k' }), 'k');
  assert.equal(keyOf('a-${OWN_KEY}-z', { OWN_KEY: 'k' }), 'a-k-z');
  assert.equal(keyOf('$${OWN_KEY}', {}), '${OWN_KEY}');
  assert.equal(keyOf('${OWN_KEY}', { OWN_KEY: '${OTHER}' }), '${OTHER}');
  for (const env of [{}, { OWN_KEY: '' }]) {
    assert.deepEqual(errorsOf(provider('${OWN_KEY}'), env), [
      'models.providers.own.apiKey: environment variable OWN_KEY is not set; set it, or write the value here',
    ]);
  }
  assert.equal(errorsOf({ gateway: { auth: { token: '${constructor}' } } }).length, 1);
});

test('values of the wrong shape are named with their path, all at once, and none is quoted', () => {
  const written = {
    session: { agentToAgent: { maxPingPongTurns: 6 }, scope: 'hunter2' },
    agents: {
      list: [{ id: 'no spaces' }, { id: 'b', model: 7 }, { id: 'c', model: { primary: 7 } }],
      defaults: { subagents: { maxChildrenPerAgent: 21 } },
    },
    models: { providers: { p: { baseUrl: 'hunter2', apiKey: 5 } } },
    gateway: { bind: 'lan' },
    tools: { allow: 'read' },
  };
  assert.deepEqual(errorsOf(written), [
    'session.scope: expected one of "per-sender"|"global"',
    'session.agentToAgent.maxPingPongTurns: expected number to be <=5',
    'tools.allow: expected array, received string',
    'agents.defaults.subagents.maxChildrenPerAgent: expected number to be <=20',
    'agents.list[0].id: use 1 to 64 letters, digits, `_` or `-`, with no `-` at either end',
    'agents.list[1].model: expected string or object',
    'agents.list[2].model.primary: expected string, received number',
    'models.providers.p.baseUrl: must be an http or https URL',
    'models.providers.p.apiKey: expected string, received number',
    'gateway.bind: "lan" is not supported yet; use "loopback" or an IP address of this machine',
  ]);
});

const UNUSABLE_AMOUNTS = [
  { budget: { runs: 0.5 }, error: /^agents\.defaults\.budget\.runs: /m },
  { budget: { tokens: 0 }, error: /^agents\.defaults\.budget\.tokens: /m },
  { budget: { tokens: 2 ** 53 + 1 }, error: /^agents\.defaults\.budget\.tokens: /m },
  { budget: { usd: -1 }, error: /^agents\.defaults\.budget\.usd: /m },
  { budget: { seconds: Number.POSITIVE_INFINITY }, error: /^agents\.defaults\.budget\.seconds: /m },
  { budget: { seconds: Number.NaN }, error: /^agents\.defaults\.budget\.seconds: /m },
  { budget: { usd: '5' }, error: /^agents\.defaults\.budget\.usd: /m },
  { budget: { token: 5 }, error: /token/ },
];

test('[BU6, BU10] what does not fit together is an error with its path', async (t) => {
  const own = { own: { baseUrl: 'http://127.0.0.1:1/v1', models: [{ id: 'm' }] } };
  const halfPriced = {
    own: { ...own.own, models: [{ id: 'm' }, { id: 'dear', cost: { input: 1, output: 1 } }] },
  };
  const cases: { written: unknown; error: RegExp }[] = [
    {
      written: { agents: { list: [{ id: 'a' }, { id: 'A ' }] } },
      error: /^agents\.list\[1\]: agent "a" is configured twice/,
    },
    {
      written: { agents: { list: [{ id: 'a' }], entries: { A: {} } } },
      error: /^agents\.entries\.A: agent "a" is configured twice/,
    },
    { written: { agents: { entries: { 'a b': {} } } }, error: /^agents\.entries\["a b"\]: is no/ },
    {
      written: { agents: { defaults: { model: 'ghost/m' } } },
      error: /^agents\.defaults\.model: unknown model provider "ghost"; no provider is configured/,
    },
    {
      written: { models: { providers: own }, agents: { list: [{ id: 'a', model: 'own/x' }] } },
      error:
        /^agents\.list\[0\]\.model: unknown model "x" of provider "own"; its models are own\/m/,
    },
    {
      written: { models: { providers: { own: { baseUrl: 'http://127.0.0.1:1' } } } },
      error: /^agents\.defaults\.model: is missing/,
    },
    {
      written: { models: { providers: { scripted: { baseUrl: 'http://127.0.0.1:1' } } } },
      error: /^models\.providers\.scripted: the name belongs/,
    },
    {
      written: {
        models: { providers: own },
        agents: { defaults: { models: { 'own/m': { alias: 'x' }, X: 'own/m' } } },
      },
      error: /^agents\.defaults\.models\.X: alias "X" is given twice/,
    },
    {
      written: { models: { providers: own }, agents: { defaults: { budget: { usd: 1 } } } },
      error: /^agents\.defaults\.budget\.usd: agent "main" uses own\/m, which has no prices/,
    },
    {
      written: { models: { providers: own }, agents: { list: [{ id: 'a', budget: { usd: 1 } }] } },
      error: /^agents\.list\[0\]\.budget\.usd: agent "a" uses own\/m, which has no prices/,
    },
    {
      written: {
        models: { providers: halfPriced },
        agents: {
          defaults: { budget: { usd: 1 }, model: 'own/dear', subagents: { model: 'own/m' } },
        },
      },
      error:
        /^agents\.defaults\.budget\.usd: sub-agents of agent "main" use own\/m, which has no prices/,
    },
    ...UNUSABLE_AMOUNTS.map(({ budget, error }) => ({
      written: { agents: { defaults: { budget } } },
      error,
    })),
  ];
  for (const { written, error } of cases)
    await t.test(error.source, () => assert.match(errorsOf(written).join('\n'), error));
});

test('entries without effect are warnings', () => {
  const { errors, warnings } = check({
    agents: {
      list: [
        { id: 'a', default: true, subagents: { allowAgents: ['*', 'A', 'ghost'] } },
        { id: 'b', default: true, tools: { deny: ['group:fsx', 'group:fs', 'group:*'] } },
      ],
    },
  });
  assert.deepEqual(errors, []);
  assert.deepEqual(
    warnings.map(({ path }) => path),
    [
      'agents.list[1].default',
      'agents.list[0].subagents.allowAgents[2]',
      'agents.list[1].tools.deny',
    ],
  );
});

test('[TP6] a tool policy of a provider that is not there, or is there twice, is a warning; its groups too', () => {
  const { errors, warnings } = check({
    models: { providers: { own: { baseUrl: 'http://127.0.0.1:1/v1', models: [{ id: 'm' }] } } },
    tools: { byProvider: { own: { deny: ['group:none'] }, ' OWN ': {}, 'own/m': {} } },
    agents: { list: [{ id: 'a', tools: { byProvider: { 'gone/m': {}, scripted: {} } } }] },
  });
  assert.deepEqual(errors, []);
  assert.deepEqual(
    warnings.map(({ path, message }) => `${path}: ${message}`),
    [
      'tools.byProvider.own.deny: "group:none" is no group of tools; the entry has no effect',
      'tools.byProvider[" OWN "]: " OWN " is there twice; the entry has no effect',
      'agents.list[0].tools.byProvider["gone/m"]: "gone/m" names no provider of models.providers; the entry has no effect',
    ],
  );
});

test('[CF4] the tool policy of sandboxes is refused by name while there are none', () => {
  const { errors } = check({ tools: { sandbox: { tools: { deny: ['exec'] } } } });
  assert.match(errors.map(({ path }) => path).join(), /^tools\.sandbox\.tools$/);
});

test('[SY5] rules and entries that fit nobody or change nothing are warnings that name path and remedy', () => {
  const discord = { channel: 'discord' };
  const { errors, warnings } = check({
    session: {
      sendPolicy: {
        rules: [
          { match: discord, action: 'deny' },
          { match: { channel: 'discrod' }, action: 'deny' },
          { match: { ...discord, chatType: 'group' }, action: 'deny' },
          { match: { rawKeyPrefix: 'discord:group:' }, action: 'deny' },
          { match: { keyPrefix: 'agent:a:' }, action: 'deny' },
          { match: { channel: 'telegram' }, action: 'allow' },
          { match: { chatType: 'room' }, action: 'deny' },
        ],
      },
    },
    agents: { list: [{ id: 'a' }, { id: 'b' }], defaults: { subagents: { allowAgents: ['c'] } } },
    tools: { agentToAgent: { enabled: true, allow: ['A', 'x*', '*', 'c'] } },
    commands: { ownerAllowFrom: ['*', 'discord:1', 'discord:*', 7, ' '] },
  });
  assert.deepEqual(errors, []);
  const expected: [path: string, says: RegExp][] = [
    ['agents.defaults.subagents.allowAgents[0]', /no agent "c" is configured/],
    ['session.sendPolicy.rules[1].match.channel', /is no channel; did you mean "discord"\?/],
    ['session.sendPolicy.rules[2]', /rules\[0\] \(deny\) decides .* take one of them out/],
    ['session.sendPolicy.rules[3].match.rawKeyPrefix', /use keyPrefix/],
    ['session.sendPolicy.rules[4].match.keyPrefix', /use rawKeyPrefix/],
    ['session.sendPolicy.rules[5]', /default is "allow".* set the default to "deny"/],
    ['tools.agentToAgent.allow[1]', /no agent "x\*" is configured; add it/],
    ['tools.agentToAgent.allow[3]', /no agent "c" is configured; add it/],
    ['commands.ownerAllowFrom[0]', /makes nobody an owner; name a sender/],
    ['commands.ownerAllowFrom[2]', /makes nobody an owner/],
    ['commands.ownerAllowFrom[4]', /makes nobody an owner/],
  ];
  assert.deepEqual(
    warnings.map(({ path }) => path),
    expected.map(([path]) => path),
  );
  for (const [at, [, says]] of expected.entries()) assert.match(warnings[at]?.message ?? '', says);
});

test('[CM3] an owner’s id that a number does not hold exactly would be that of somebody else, and is refused', () => {
  const ownersOf = (list: string) =>
    errorsOf(JSON.parse(`{"commands":{"ownerAllowFrom":[${list}]}}`));
  assert.deepEqual(ownersOf('"80351110224678912", 9007199254740991'), []);
  for (const id of ['80351110224678913', '-1e21'])
    assert.match(
      ownersOf(`7, ${id}`).join('\n'),
      /^commands\.ownerAllowFrom\[1\]: a number must be whole .*in quotes$/,
      id,
    );
});

test('[SY5] an unknown chat type is refused with those there are', () => {
  for (const chatType of ['party', 'groups', '']) {
    const rules = [{ match: { chatType }, action: 'deny' }];
    const errors = errorsOf({ session: { sendPolicy: { rules } } });
    assert.match(errors.join('\n'), /^session\.sendPolicy\.rules\[0\]\.match\.chatType: .*"dm"/);
  }
});

test('the usual keys of the environment make their providers known', () => {
  const none = check({}, {});
  assert.deepEqual(none.config?.models.providers, {});
  const openai = check({}, { OPENAI_API_KEY: 'sk' });
  assert.deepEqual(openai.addedProviders, ['openai']);
  assert.equal(openai.config?.models.providers['openai']?.apiKey, 'sk');
  assert.match(JSON.stringify(openai.config?.agents.defaults.model), /^"openai\//);
  const own = { openai: { baseUrl: 'http://127.0.0.1:1/v1', models: [{ id: 'm' }] } };
  const configured = check({ models: { providers: own } }, { OPENAI_API_KEY: 'sk' });
  assert.deepEqual(configured.addedProviders, []);
  assert.equal(configured.config?.models.providers['openai']?.apiKey, undefined);
  assert.equal(configured.config?.agents.defaults.model, undefined);
});

test('a configuration that is no object, or nested without end, is one error', () => {
  for (const written of [null, [], 'x', 5])
    assert.deepEqual(errorsOf(written), [': the configuration must be an object']);
  let deep: unknown = {};
  for (let level = 0; level < 20_000; level++) deep = { x: deep };
  assert.match(errorsOf(deep).join('\n'), /nested deeper than 64 levels/);
});

test('checkConfig reads a file and says where it is malformed', (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'trunkline-check-'));
  t.after(() => rmSync(dir, { recursive: true }));
  const path = join(dir, 'trunkline.json');
  assert.match(
    checkConfig(path, { env: {} }).errors[0]?.message ?? '',
    /cannot be read \(ENOENT\)/,
  );
  writeFileSync(path, '{\n  gateway: { auth: { token: "hunter2" }} }}');
  const malformed = checkConfig(path, { env: {} });
  assert.equal(malformed.ok, false);
  assert.match(malformed.errors[0]?.message ?? '', /not valid JSON5: see line 2, column 43/);
  assert.doesNotMatch(JSON.stringify(malformed), /hunter2/);
  writeFileSync(path, SEND_POLICY_BLOCK);
  assert.deepEqual(checkConfig(path, { env: {} }), { ok: true, errors: [], warnings: [] });
});

/** Returns a configuration that sets one option, and the path as errors name it. */
function placed(row: OptionRow, value: unknown): { written: unknown; path: string } {
  const keys = row.path.replaceAll('[]', '.0').replaceAll('*', 'some').split('.');
  const written: unknown = keys.reduceRight<unknown>(
    (below, key) => (key === '0' ? [below] : { [key]: below }),
    value,
  );
  const path = row.path.replaceAll('[]', '[0]').replaceAll('*', 'some');
  return { written, path };
}

/** Returns a value of the right type that is not accepted. */
function otherValue(row: OptionRow): unknown {
  const accepted = [row.defaultValue, ...(row.note.alsoAccepted ?? [])];
  if (row.type === 'true, false') return row.defaultValue !== true;
  if (row.type.startsWith('list of')) return row.type.includes('map') ? [{ x: 1 }] : ['x'];
  if (row.type.startsWith('map of')) return { x: row.type.includes('list') ? ['y'] : 1 };
  if (/^(?:whole )?number/.test(row.type)) return Number(row.defaultValue ?? 1) + 1;
  if (row.type === 'object') return row.path.endsWith('budget') ? { runs: 1 } : { allow: [] };
  if (row.type.startsWith('text') || row.type === 'anything') return 'x';
  return row.type.split(', ').find((word) => !accepted.includes(word));
}

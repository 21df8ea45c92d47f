import assert from 'node:assert/strict';
import test from 'node:test';
import { defaultConfig } from '../protocol/options/config.ts';
import type { ConfigInput } from '../protocol/options/config.ts';
import { must } from '../util/assert.ts';
import { findAgent } from './agents.ts';
import {
  contextWindowOf,
  pricesOf,
  formatModel,
  modelForSpawn,
  modelOfSession,
  resolveModel,
  thinkingForSpawn,
} from './models.ts';

const providers: NonNullable<ConfigInput['models']>['providers'] = {
  own: {
    baseUrl: 'http://127.0.0.1:1/v1',
    models: [
      { id: 'big', contextWindow: 204_800, cost: { input: 3, output: 15 } },
      { id: 'org/small' },
    ],
  },
  Open: { baseUrl: 'http://127.0.0.1:2/v1' },
};
const config = defaultConfig({
  models: { providers },
  agents: {
    defaults: {
      models: {
        'own/big': { alias: 'Strong' },
        fast: 'own/org/small',
        quick: 'fast',
        round: 'trip',
        trip: 'round',
      },
    },
  },
});
const main = must(findAgent(config, 'main'), 'main');

test('a model is `provider/id`, an alias, or any id of a provider without a list', async (t) => {
  const cases: [string, string | RegExp][] = [
    ['own/big', 'own/big'],
    [' own/big ', 'own/big'],
    ['OWN/big', 'own/big'],
    ['own/org/small', 'own/org/small'],
    ['open/whatever/v2', 'Open/whatever/v2'],
    ['strong', 'own/big'],
    ['STRONG', 'own/big'],
    ['quick', 'own/org/small'],
    ['scripted/scripted-1', 'scripted/scripted-1'],
    [
      'own/BIG',
      /^unknown model "BIG" of provider "own"; its models are own\/big, own\/org\/small$/,
    ],
    ['big', /^unknown model "big"; use "provider\/id" or an alias: strong, fast, /],
    [
      'ghost/x',
      /^unknown model provider "ghost"; the providers are own, Open \(models\.providers\)$/,
    ],
    ['scripted/other', /^unknown model provider "scripted"/],
    ['__proto__/x', /^unknown model provider/],
    ['own/', /^unknown model/],
    ['/x', /^unknown model/],
    ['', /^unknown model/],
    ['round', /^model alias "round" leads in a circle$/],
  ];
  for (const [text, expected] of cases) {
    await t.test(JSON.stringify(text), () => {
      const resolved = resolveModel(config, text);
      if (expected instanceof RegExp)
        assert.match(resolved.ok ? 'resolved' : resolved.error, expected);
      else assert.equal(resolved.ok ? formatModel(resolved.model) : resolved.error, expected);
    });
  }
});

test('[FZ3] an unknown model is refused with the beginnings of long names of others', () => {
  const long = 'y'.repeat(5000);
  const models = { any: { alias: long } };
  const resolved = resolveModel(defaultConfig({ agents: { defaults: { models } } }), 'any');
  assert.ok(!resolved.ok && resolved.error.length < 300);
});

test('a session talks to its override, else to its agent’s model, the default one, the first one, the scripted one', () => {
  const modelsOf = (input: ConfigInput, override?: string | null) => {
    const from = defaultConfig(input);
    return formatModel(modelOfSession(from, findAgent(from, 'main'), override));
  };
  const models = { providers };
  const agent = { id: 'main', model: 'own/org/small' };
  assert.equal(modelsOf({}), 'scripted/scripted-1');
  assert.equal(modelsOf({ models }), 'own/big');
  assert.equal(
    modelsOf({ models, agents: { defaults: { model: { primary: 'Open/x' } } } }),
    'Open/x',
  );
  assert.equal(
    modelsOf({ models, agents: { defaults: { model: 'Open/x' }, list: [agent] } }),
    'own/org/small',
  );
  assert.equal(modelsOf({ models, agents: { list: [agent] } }, 'Open/y'), 'Open/y');
  assert.equal(modelsOf({ models, agents: { list: [agent] } }, null), 'own/org/small');
});

test('an override that is no longer configured is kept by name, never replaced by another model', () => {
  assert.equal(formatModel(modelOfSession(config, main, 'gone/m')), 'gone/m');
  assert.equal(formatModel(modelOfSession(config, main, 'gone')), 'unknown/gone');
});

test('[BR-165] the context window is the one of the model in effect', () => {
  assert.equal(contextWindowOf(config, modelOfSession(config, main, 'strong')), 204_800);
  assert.equal(contextWindowOf(config, { provider: 'own', id: 'org/small' }), 200_000);
  assert.equal(contextWindowOf(config, { provider: '__proto__', id: 'x' }), 200_000);
});

test('missing prices are 0, and a model without any is unpriced', () => {
  assert.deepEqual(pricesOf(config, { provider: 'own', id: 'big' }), {
    input: 3,
    output: 15,
    cacheRead: 0,
    cacheWrite: 0,
  });
  assert.equal(pricesOf(config, { provider: 'own', id: 'org/small' }), undefined);
  assert.equal(pricesOf(config, { provider: 'Open', id: 'x' }), undefined);
});

test('[BR-168] a spawned session gets model and thinking by parameter, agent, defaults, caller, in this order', () => {
  const spawn = (has: { param?: boolean; agent?: boolean; defaults?: boolean }) => {
    const from = defaultConfig({
      models: { providers },
      agents: {
        defaults: has.defaults ? { subagents: { model: 'Open/defaults', thinking: 'high' } } : {},
        list: [
          {
            id: 'main',
            model: 'Open/main',
            subagents: has.agent ? { model: { primary: 'Open/agent' }, thinking: 'low' } : {},
          },
        ],
      },
    });
    const agent = must(findAgent(from, 'main'), 'main');
    const model = modelForSpawn(from, {
      param: has.param ? 'Open/param' : undefined,
      agent,
      caller: { provider: 'Open', id: 'caller' },
    });
    const param = has.param ? 'xhigh' : undefined;
    const thinking = thinkingForSpawn(from, { param, agent, caller: 'minimal' });
    return [model.ok ? formatModel(model.model) : model.error, thinking];
  };
  assert.deepEqual(spawn({ param: true, agent: true, defaults: true }), ['Open/param', 'xhigh']);
  assert.deepEqual(spawn({ agent: true, defaults: true }), ['Open/agent', 'low']);
  assert.deepEqual(spawn({ defaults: true }), ['Open/defaults', 'high']);
  assert.deepEqual(spawn({}), ['Open/caller', 'minimal']);
});

test('an invalid model of a spawn is an error', () => {
  const caller = { provider: 'Open', id: 'x' };
  assert.equal(modelForSpawn(config, { param: 'ghost/x', agent: main, caller }).ok, false);
  assert.equal(modelForSpawn(config, { param: '', agent: main, caller }).ok, false);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultConfig } from '../protocol/options/config.ts';
import { listModels } from './list-models.ts';

test('[GW37] the models that the configuration names are listed once, with nothing of the access to their providers', () => {
  const config = defaultConfig({
    models: {
      providers: {
        own: {
          baseUrl: 'http://127.0.0.1:1/secret-path',
          apiKey: 'secret-key',
          models: [
            {
              id: 'big',
              name: 'Big',
              contextWindow: 1000,
              reasoning: true,
              input: ['text', 'image'],
            },
            { id: 'org/small' },
          ],
        },
        open: { baseUrl: 'http://127.0.0.1:2/v1' },
      },
    },
    agents: {
      defaults: {
        model: 'own/big',
        models: { 'own/big': { alias: 'Strong' }, fast: 'open/any', lost: 'none/such' },
      },
      list: [{ id: 'a', model: 'open/other' }, { id: 'b' }],
    },
  });
  const models = listModels(config);
  const plain = { contextWindow: 200_000, reasoning: false, input: ['text'] };
  assert.deepEqual(models, [
    {
      id: 'big',
      name: 'Big',
      provider: 'own',
      alias: 'strong',
      contextWindow: 1000,
      reasoning: true,
      input: ['text', 'image'],
    },
    { id: 'org/small', name: 'org/small', provider: 'own', ...plain },
    { id: 'other', name: 'other', provider: 'open', ...plain },
    { id: 'any', name: 'any', provider: 'open', alias: 'fast', ...plain },
  ]);
  assert.doesNotMatch(JSON.stringify(models), /secret/);
});

test('[GW37] without a provider there is the scripted model, which is the one in effect', () => {
  assert.deepEqual(
    listModels(defaultConfig({})).map(({ provider, id }) => `${provider}/${id}`),
    ['scripted/scripted-1'],
  );
});

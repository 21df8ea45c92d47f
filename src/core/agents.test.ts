import assert from 'node:assert/strict';
import test from 'node:test';
import { defaultConfig } from '../protocol/options/config.ts';
import type { ConfigInput } from '../protocol/options/config.ts';
import { defaultAgentId, findAgent, listAgents, spawnTargets, workspaceOf } from './agents.ts';

type AgentsInput = NonNullable<ConfigInput['agents']>;
const withAgents = (agents: AgentsInput) => defaultConfig({ agents });

test('without configured agents there is one, `main`, and it is the default', () => {
  const config = defaultConfig();
  assert.deepEqual(listAgents(config), [
    {
      id: 'main',
      isDefault: true,
      thinking: 'off',
      subagents: { requireAgentId: false },
      tools: { byProvider: {} },
    },
  ]);
  assert.equal(defaultAgentId(config), 'main');
});

test('the default agent is the first one marked, else the first one', () => {
  const cases: [AgentsInput, string][] = [
    [{ list: [{ id: 'a' }, { id: 'b' }] }, 'a'],
    [{ list: [{ id: 'a' }, { id: 'b', default: true }, { id: 'c', default: true }] }, 'b'],
    [{ entries: { x: {}, y: { default: true } } }, 'y'],
    [{ list: [{ id: 'a' }], entries: { y: {} } }, 'a'],
  ];
  for (const [agents, expected] of cases)
    assert.equal(defaultAgentId(withAgents(agents)), expected);
});

test('an agent has its own settings, and those of the defaults where it has none', () => {
  const config = withAgents({
    defaults: {
      thinking: 'low',
      subagents: { allowAgents: ['b'], requireAgentId: true, thinking: 'high' },
    },
    list: [
      {
        id: 'Coder ',
        name: 'The coder',
        model: { primary: 'own/m' },
        thinking: 'medium',
        subagents: { allowAgents: ['*'], requireAgentId: false, model: 'own/s' },
        tools: { deny: ['exec'] },
      },
      { id: 'b' },
    ],
  });
  assert.deepEqual(findAgent(config, 'CODER'), {
    id: 'coder',
    name: 'The coder',
    isDefault: true,
    model: 'own/m',
    thinking: 'medium',
    subagents: { allowAgents: ['*'], requireAgentId: false, model: 'own/s' },
    tools: { deny: ['exec'], byProvider: {} },
  });
  // The default thinking of sub-agents comes after the parameter and the agent's: `thinkingForSpawn`.
  assert.deepEqual(findAgent(config, 'b'), {
    id: 'b',
    isDefault: false,
    thinking: 'low',
    subagents: { allowAgents: ['b'], requireAgentId: true },
    tools: { byProvider: {} },
  });
  assert.equal(findAgent(config, 'ghost'), undefined);
});

test('[BR-092, BR-094, BR-096] an agent may spawn under itself and the configured ids of its allow list', async (t) => {
  const three = ['main', 'sec', 'coding'];
  const cases: {
    name: string;
    own?: string[];
    defaults?: string[];
    requester?: string;
    expected: { allowAny: boolean; ids: string[] };
  }[] = [
    { name: 'no list: itself only', expected: { allowAny: false, ids: ['main'] } },
    { name: 'an empty list: itself only', own: [], expected: { allowAny: false, ids: ['main'] } },
    {
      name: 'a list, itself first',
      own: ['sec', 'coding'],
      expected: { allowAny: false, ids: ['main', 'coding', 'sec'] },
    },
    {
      name: 'ids in any case, and blanks',
      own: [' CODING ', ''],
      expected: { allowAny: false, ids: ['main', 'coding'] },
    },
    {
      name: 'ids that are not configured are left out',
      own: ['ghost', '../x', 'sec'],
      expected: { allowAny: false, ids: ['main', 'sec'] },
    },
    {
      name: 'what is no id is none: nothing is made of it',
      own: ['../sec', 'sec/', '-coding-', '@@', '---', '**', 's*'],
      expected: { allowAny: false, ids: ['main'] },
    },
    {
      name: '* is every configured agent',
      own: ['*'],
      expected: { allowAny: true, ids: ['main', 'coding', 'sec'] },
    },
    {
      name: 'the list of the defaults holds where there is no own one',
      defaults: ['sec'],
      expected: { allowAny: false, ids: ['main', 'sec'] },
    },
    {
      name: 'an own empty list wins over the defaults',
      own: [],
      defaults: ['*'],
      expected: { allowAny: false, ids: ['main'] },
    },
    {
      name: 'an agent that is no longer configured may spawn nothing',
      own: ['*'],
      requester: 'gone',
      expected: { allowAny: false, ids: [] },
    },
  ];
  for (const { name, own, defaults, requester = 'Main', expected } of cases) {
    await t.test(name, () => {
      const config = withAgents({
        defaults: { subagents: { allowAgents: defaults } },
        list: three.map((id) => ({ id, subagents: { allowAgents: id === 'main' ? own : [] } })),
      });
      assert.deepEqual(spawnTargets(config, requester), expected);
    });
  }
});

test('each agent has a folder of its own', () => {
  const stateDir = '/state';
  const bare = withAgents({ list: [{ id: 'main' }, { id: 'b' }, { id: 'c', workspace: '/c' }] });
  const folders = ['main', 'b', 'c'].map((agentId) => workspaceOf(bare, { agentId, stateDir }));
  assert.deepEqual(folders, ['/state/workspace', '/state/workspace-b', '/c']);
  const set = withAgents({ defaults: { workspace: '/ws' }, list: [{ id: 'main' }, { id: 'b' }] });
  assert.equal(workspaceOf(set, { agentId: 'main', stateDir }), '/ws');
  assert.equal(workspaceOf(set, { agentId: 'b', stateDir }), '/ws-b');
});

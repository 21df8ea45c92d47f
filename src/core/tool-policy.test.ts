import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { defaultConfig } from '../protocol/options/config.ts';
import type { ConfigInput } from '../protocol/options/config.ts';
import { SCRIPTED_MODEL } from './models.ts';
import { DEFAULT_TOOLS } from './tool-names.ts';
import { offeredTools } from './tool-policy.ts';

const FILE_TOOLS = ['read', 'write', 'edit', 'exec'];
const SESSION_TOOLS = DEFAULT_TOOLS.filter((name) => !FILE_TOOLS.includes(name));
const EXTRA_TOOLS = ['sessions_wait', 'sessions_stop', 'sessions_search', 'web_search'];
const available = [...DEFAULT_TOOLS, ...EXTRA_TOOLS];

type ToolsInput = NonNullable<ConfigInput['tools']>;
type AgentToolsInput = Pick<ToolsInput, 'profile' | 'allow' | 'deny' | 'byProvider'>;

const OTHERS = { model: SCRIPTED_MODEL, isSandboxed: false, available };

interface Case {
  name: string;
  tools?: ToolsInput;
  agent?: AgentToolsInput;
  expected: readonly string[];
}

function offered(
  { tools = {}, agent = {} }: Pick<Case, 'tools' | 'agent'>,
  { spawnDepth = 0, maxSpawnDepth = 1 } = {},
): string[] {
  const config = defaultConfig({
    tools,
    agents: {
      defaults: { subagents: { maxSpawnDepth } },
      list: [{ id: 'main', tools: agent }, { id: 'other' }],
    },
  });
  return offeredTools({
    config,
    agentId: 'MAIN',
    isSubagent: spawnDepth > 0,
    spawnDepth,
    ...OTHERS,
  });
}

const TOP_LEVEL: Case[] = [
  { name: 'nothing configured: the default set', expected: DEFAULT_TOOLS },
  { name: '* is the default set', tools: { allow: ['*'] }, expected: DEFAULT_TOOLS },
  {
    name: '* and a name: one more',
    tools: { allow: ['*', 'sessions_wait'] },
    expected: [...DEFAULT_TOOLS, 'sessions_wait'],
  },
  {
    name: 'the same in the agent’s list',
    agent: { allow: ['*', 'sessions_wait'] },
    expected: [...DEFAULT_TOOLS, 'sessions_wait'],
  },
  { name: 'profile full: all there is', tools: { profile: 'full' }, expected: available },
  {
    name: 'profile coding',
    tools: { profile: 'coding' },
    expected: DEFAULT_TOOLS,
  },
  {
    name: 'profile messaging',
    tools: { profile: 'messaging' },
    expected: ['sessions_list', 'sessions_history', 'sessions_send'],
  },
  {
    name: 'profile minimal has none of the tools there are',
    tools: { profile: 'minimal' },
    expected: [],
  },
  {
    name: 'allow narrows the profile',
    tools: { profile: 'messaging', allow: ['sessions_list', 'exec'] },
    expected: ['sessions_list'],
  },
  { name: 'an empty allow list allows nothing', tools: { allow: [] }, expected: [] },
  { name: 'deny wins', tools: { allow: ['read', 'exec'], deny: ['EXEC'] }, expected: ['read'] },
  {
    name: 'deny alone takes from the default set',
    tools: { deny: ['group:fs', 'sessions_send'] },
    expected: DEFAULT_TOOLS.filter((n) => !['read', 'write', 'edit', 'sessions_send'].includes(n)),
  },
  { name: 'deny * denies everything', tools: { profile: 'full', deny: ['*'] }, expected: [] },
  {
    name: 'names in any case, with blanks',
    tools: { allow: [' Sessions_LIST '] },
    expected: ['sessions_list'],
  },
  {
    name: 'patterns name what they fit',
    tools: { allow: ['sessions_s*', '*d', 'x*c'] },
    expected: ['sessions_send', 'sessions_spawn', 'read', 'sessions_stop', 'sessions_search'],
  },
  {
    name: 'a pattern’s ends do not overlap',
    tools: { allow: ['read*read', 'e*x*c'] },
    expected: ['exec'],
  },
  {
    name: 'groups',
    tools: { allow: ['group:sessions', 'group:agents', 'GROUP:runtime'] },
    expected: [...SESSION_TOOLS, 'exec'],
  },
  {
    name: 'a group that does not exist allows nothing',
    tools: { allow: ['group:web'] },
    expected: [],
  },
  {
    name: 'the agent narrows what is global',
    tools: { allow: ['read', 'write', 'sessions_list'] },
    agent: { allow: ['*'], deny: ['write'] },
    expected: ['sessions_list', 'read'],
  },
  {
    name: 'the agent cannot give back what is denied globally',
    tools: { deny: ['exec'] },
    agent: { profile: 'full', allow: ['exec', 'read'] },
    expected: ['read'],
  },
  {
    name: 'the agent’s profile narrows too',
    tools: { profile: 'full' },
    agent: { profile: 'messaging' },
    expected: ['sessions_list', 'sessions_history', 'sessions_send'],
  },
];

test('[TP1] an agent is offered what profile, allow and deny leave, each stage only narrowing', async (t) => {
  for (const one of TOP_LEVEL)
    await t.test(one.name, () => assert.deepEqual(offered(one), [...one.expected]));
});

const subagentTools = (allow?: string[], deny?: string[]): ToolsInput => ({
  subagents: { tools: { allow, deny } },
});

const SUBAGENT: Case[] = [
  { name: 'by default all but the session tools', expected: FILE_TOOLS },
  { name: '* never includes session tools', tools: subagentTools(['*']), expected: FILE_TOOLS },
  { name: 'nor does group:*', tools: subagentTools(['group:*']), expected: FILE_TOOLS },
  { name: 'nor does a pattern', tools: subagentTools(['sessions_*', 'agents_*']), expected: [] },
  {
    name: 'nor a group of others',
    tools: subagentTools(['group:agents', 'group:fs']),
    expected: ['read', 'write', 'edit'],
  },
  {
    name: '* and a name: the default set and that one',
    tools: subagentTools(['*', 'Sessions_List']),
    expected: ['sessions_list', ...FILE_TOOLS],
  },
  {
    name: 'group:sessions gives them back, but for spawning',
    tools: subagentTools(['group:sessions']),
    expected: ['sessions_list', 'sessions_history', 'sessions_send'],
  },
  {
    name: 'exact names beyond the default set',
    tools: subagentTools(['sessions_wait', 'agents_list']),
    expected: ['agents_list', 'sessions_wait'],
  },
  {
    name: '[BR-194] list comes back, spawning does not',
    tools: subagentTools(['sessions_list', 'sessions_spawn']),
    expected: ['sessions_list'],
  },
  {
    name: 'deny wins',
    tools: subagentTools(['*', 'sessions_list'], ['sessions_*', 'exec']),
    expected: ['read', 'write', 'edit'],
  },
  {
    name: 'deny alone',
    tools: subagentTools(undefined, ['exec']),
    expected: ['read', 'write', 'edit'],
  },
  {
    name: '[BR-193] what the agent is denied does not come back',
    agent: { deny: ['web_search'] },
    tools: subagentTools(['web_search', 'read']),
    expected: ['read'],
  },
  {
    name: 'nor what the global list left out',
    tools: { allow: ['read'], ...subagentTools(['*', 'sessions_list']) },
    expected: ['read'],
  },
  {
    name: 'profile full adds no session tool to a sub-agent',
    tools: { profile: 'full' },
    expected: [...FILE_TOOLS, 'web_search'],
  },
];

test('[TP2] a sub-agent is offered no session tool but those that are named', async (t) => {
  for (const one of SUBAGENT)
    await t.test(one.name, () =>
      assert.deepEqual(offered(one, { spawnDepth: 1 }), [...one.expected]),
    );
});

test('[TP2, BR-141] a greater maxSpawnDepth offers spawning to sub-agents above the last depth', () => {
  const at = (spawnDepth: number, tools?: ToolsInput) =>
    offered(tools === undefined ? {} : { tools }, { spawnDepth, maxSpawnDepth: 2 });
  assert.deepEqual(at(1), ['sessions_spawn', 'agents_list', ...FILE_TOOLS]);
  assert.deepEqual(at(2), FILE_TOOLS);
  assert.deepEqual(at(1, subagentTools(['read'])), ['sessions_spawn', 'agents_list', 'read']);
  assert.deepEqual(at(1, subagentTools(undefined, ['sessions_spawn'])), [
    'agents_list',
    ...FILE_TOOLS,
  ]);
  assert.deepEqual(at(1, { deny: ['group:agents'] }), ['sessions_spawn', ...FILE_TOOLS]);
});

test('an agent that is not configured is offered what holds for all', () => {
  const config = defaultConfig({ tools: { deny: ['exec'] } });
  const query = { config, agentId: 'gone', isSubagent: false, spawnDepth: 0, ...OTHERS };
  assert.deepEqual(
    offeredTools(query),
    DEFAULT_TOOLS.filter((name) => name !== 'exec'),
  );
});

test('[IB9] the inbox is in the default set, the groups and the profiles of clients, and offered to nobody else', () => {
  const offeredTo = (isClient: boolean, tools: ToolsInput) =>
    offeredTools({
      config: defaultConfig({ tools }),
      agentId: 'main',
      isSubagent: false,
      isClient,
      spawnDepth: 0,
      ...OTHERS,
      available: [...available, 'sessions_inbox'],
    }).includes('sessions_inbox');
  const open: ToolsInput[] = [
    {},
    { allow: ['*'] },
    { allow: ['sessions_inbox'] },
    { allow: ['group:sessions'] },
    ...(['messaging', 'coding', 'full'] as const).map((profile) => ({ profile })),
  ];
  for (const tools of open) {
    assert.equal(offeredTo(true, tools), true, JSON.stringify(tools));
    assert.equal(offeredTo(false, tools), false, JSON.stringify(tools));
  }
  const closed: ToolsInput[] = [
    { allow: ['read'] },
    { deny: ['sessions_inbox'] },
    { deny: ['group:sessions'] },
    { deny: ['*'] },
    { profile: 'minimal' },
  ];
  for (const tools of closed) assert.equal(offeredTo(true, tools), false, JSON.stringify(tools));
});

const entries = fc.array(
  fc.constantFrom(...available, '*', 'sessions_*', '*e*', 'group:*', 'group:sessions', 'group:fs'),
  { maxLength: 4 },
);
const anyStage = fc.record(
  {
    profile: fc.constantFrom('minimal', 'coding', 'messaging', 'full'),
    allow: entries,
    deny: entries,
  },
  { requiredKeys: [] },
);
const anyPlace = fc
  .tuple(anyStage, fc.dictionary(fc.constantFrom('scripted', 'scripted/scripted-1'), anyStage))
  .map(([stage, byProvider]) => ({ ...stage, byProvider }));
const anyPolicy = fc.record({
  tools: anyPlace,
  agent: anyPlace,
  subagents: fc.record({ allow: entries, deny: entries }, { requiredKeys: [] }),
  spawnDepth: fc.integer({ min: 0, max: 3 }),
  maxSpawnDepth: fc.integer({ min: 1, max: 3 }),
});

test('[TP3] under any policy a stage only narrows, deny wins, and the case of a name changes nothing', () => {
  fc.assert(
    fc.property(anyPolicy, fc.constantFrom(...available), (policy, denied) => {
      const { tools, agent, subagents, ...depths } = policy;
      const under = (change: { tools?: object; agent?: object; subagents?: object }) => {
        const all = { ...tools, ...change.tools };
        const subagentTools = { ...subagents, ...change.subagents };
        const written = { ...all, subagents: { tools: subagentTools } };
        return offered({ tools: written, agent: { ...agent, ...change.agent } }, depths);
      };
      const before = under({});
      const without = before.filter((name) => name !== denied);
      assert.deepEqual(under({ tools: { deny: [...(tools.deny ?? []), denied] } }), without);
      assert.deepEqual(under({ agent: { deny: [...(agent.deny ?? []), denied] } }), without);
      const byProvider = Object.entries(agent.byProvider).map(([key, entry]) => [
        key,
        { ...entry, deny: [...(entry.deny ?? []), denied] },
      ]);
      if (byProvider.length > 0)
        assert.deepEqual(under({ agent: { byProvider: Object.fromEntries(byProvider) } }), without);
      if (depths.spawnDepth > 0) {
        const deny = [...(subagents.deny ?? []), denied];
        assert.deepEqual(under({ subagents: { deny } }), without);
      }
      const loud = (list?: string[]) => list?.map((entry) => ` ${entry.toUpperCase()} `);
      const shouted = (stage: { allow?: string[]; deny?: string[] }) => ({
        ...(stage.allow && { allow: loud(stage.allow) }),
        ...(stage.deny && { deny: loud(stage.deny) }),
      });
      assert.deepEqual(
        under({ tools: shouted(tools), agent: shouted(agent), subagents: shouted(subagents) }),
        before,
      );
      if (depths.spawnDepth >= depths.maxSpawnDepth)
        assert.ok(
          depths.spawnDepth === 0 || !before.includes('sessions_spawn'),
          'nobody spawns at the last depth',
        );
    }),
  );
});

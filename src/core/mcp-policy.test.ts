/** Tools of MCP servers in the tool policy: at every stage, for agents and their sub-agents. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type ConfigInput, defaultConfig } from '../protocol/options/config.ts';
import { unknownToolGroups } from './tool-names.ts';
import { mayOfferServer, offeredTools, type ToolQuery } from './tool-policy.ts';

type Tools = NonNullable<ConfigInput['tools']>;

const MCP = ['github__create_issue', 'github__get_issue', 'files__read'];
const ALL = ['sessions_list', 'sessions_send', 'sessions_wait', 'read', 'exec', ...MCP];

function queryOf(tools: Tools, more: Partial<ToolQuery> & { agent?: Tools } = {}): ToolQuery {
  const { agent = {}, ...rest } = more;
  return {
    config: defaultConfig({ tools, agents: { list: [{ id: 'main', tools: agent }] } }),
    agentId: 'main',
    model: { provider: 'own', id: 'big' },
    isSubagent: false,
    isSandboxed: false,
    spawnDepth: 0,
    available: ALL,
    ...rest,
  };
}

const mcpOf = (query: ToolQuery): string[] =>
  offeredTools(query).filter((name) => name.includes('__'));
const [CREATE = '', GET = '', READ = ''] = MCP;

const CASES: [name: string, query: ToolQuery, offered: string[]][] = [
  ['nothing', queryOf({}), MCP],
  ['the default set', queryOf({ allow: ['*'] }), MCP],
  ['the default set, for a sub-agent', queryOf({}, { isSubagent: true, spawnDepth: 1 }), MCP],
  ['a list without them', queryOf({ allow: ['read', 'exec'] }), []],
  ['profile minimal', queryOf({ profile: 'minimal' }), []],
  ['profile messaging', queryOf({ profile: 'messaging' }), MCP],
  ['profile coding', queryOf({ profile: 'coding' }), MCP],
  ['profile full', queryOf({ profile: 'full' }), MCP],
  ['group:mcp allowed', queryOf({ allow: ['Group:MCP'] }), MCP],
  ['bundle-mcp allowed', queryOf({ allow: ['bundle-mcp'] }), MCP],
  ['group:mcp denied', queryOf({ deny: ['group:mcp'] }), []],
  ['bundle-mcp denied', queryOf({ deny: ['Bundle-MCP'] }), []],
  ['every group denied', queryOf({ deny: ['group:*'] }), []],
  ['every tool denied', queryOf({ deny: ['*'] }), []],
  ['a server by pattern', queryOf({ allow: ['GitHub__*'] }), [CREATE, GET]],
  ['a tool by name', queryOf({ deny: ['github__create_issue'] }), [GET, READ]],
  ['a tool by pattern', queryOf({ deny: ['*__get_*'] }), [CREATE, READ]],
  ['the agent', queryOf({}, { agent: { allow: ['files__*'] } }), [READ]],
  ['the provider', queryOf({ byProvider: { own: { deny: ['github__*'] } } }), [READ]],
  [
    'the provider in the agent',
    queryOf({}, { agent: { byProvider: { 'own/big': { allow: [GET] } } } }),
    [GET],
  ],
  [
    'a stage that gives back what an earlier one took',
    queryOf({ deny: ['github__*'] }, { agent: { allow: ['group:mcp'] } }),
    [READ],
  ],
  [
    'the tools of sub-agents',
    queryOf({ subagents: { tools: { allow: ['files__*'] } } }, { isSubagent: true, spawnDepth: 1 }),
    [READ],
  ],
  [
    'what sub-agents lose',
    queryOf({ subagents: { tools: { deny: ['files__*'] } } }, { isSubagent: true, spawnDepth: 1 }),
    [CREATE, GET],
  ],
];

for (const [name, query, offered] of CASES)
  test(`[MS2] tools of MCP servers under ${name}`, () => {
    assert.deepEqual(mcpOf(query), offered);
  });

test('[MS2] the group of the tools of MCP servers is a group of tools', () => {
  assert.deepEqual(unknownToolGroups(['group:mcp', 'group:mpc']), ['group:mpc']);
});

test('[MS3] a server of which a session could be offered nothing is not asked for its tools', () => {
  const entries = fc.array(
    fc.constantFrom(
      '*',
      '**',
      'git*',
      'github__*',
      'github__get_issue',
      '*_issue',
      'files__*',
      'f*',
      'group:mcp',
      'group:fs',
      'group:*',
      'bundle-mcp',
      'read',
      'sessions_*',
    ),
    { maxLength: 3 },
  );
  const lists = fc.record({ allow: entries, deny: entries }, { requiredKeys: [] });
  const profile = fc.constantFrom(undefined, 'minimal', 'messaging', 'coding', 'full' as const);
  const policy = fc.record({ own: lists, agent: lists, below: lists, profile, sub: fc.boolean() });
  fc.assert(
    fc.property(policy, ({ own, agent, below, profile: name, sub }) => {
      const tools = { ...own, ...(name === undefined ? {} : { profile: name }) } as Tools;
      const query = queryOf(
        { ...tools, subagents: { tools: below } },
        { agent, isSubagent: sub, spawnDepth: sub ? 1 : 0 },
      );
      for (const server of ['github', 'files']) {
        if (mayOfferServer(query, server)) continue;
        const offered = offeredTools({ ...query, available: [`${server}__any`, ...ALL] });
        assert.ok(!offered.some((tool) => tool.startsWith(`${server}__`)), server);
      }
    }),
  );
  // and it says no where the answer is plain
  for (const closed of [
    { deny: ['bundle-mcp'] },
    { deny: ['github__*'] },
    { profile: 'minimal' as const },
    { allow: ['read', 'files__*'] },
    { allow: [] },
  ])
    assert.equal(mayOfferServer(queryOf(closed), 'github'), false, JSON.stringify(closed));
});

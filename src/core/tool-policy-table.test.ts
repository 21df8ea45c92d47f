/** The table of the tool policy, every cell: profile × list entry × stage, at the top and below. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { defaultConfig } from '../protocol/options/config.ts';
import type { ConfigInput } from '../protocol/options/config.ts';
import { offeredTools, toolClosedBy, type ToolQuery } from './tool-policy.ts';

/** One letter a tool, so that a cell is one word. */
const TOOLS = {
  L: 'sessions_list',
  H: 'sessions_history',
  S: 'sessions_send',
  P: 'sessions_spawn',
  A: 'agents_list',
  r: 'read',
  w: 'write',
  e: 'edit',
  x: 'exec',
  W: 'sessions_wait',
  T: 'sessions_stop',
  Q: 'sessions_search',
  B: 'web_search',
  U: 'session_status',
  M: 'message',
};
const letterOf = new Map(Object.entries(TOOLS).map(([letter, name]) => [name, letter]));

type Place = (entry: Entry) => Policy;
interface Entry {
  profile?: Profile;
  allow?: string[];
  deny?: string[];
}
type Profile = 'minimal' | 'messaging' | 'coding' | 'full';
type ToolsInput = NonNullable<ConfigInput['tools']>;
interface Policy {
  tools?: ToolsInput;
  agent?: Omit<ToolsInput, 'subagents' | 'sandbox'>;
}

/** Where a profile or a list may stand, in the order of the stages. */
const PLACES: Record<string, Place> = {
  tools: (entry) => ({ tools: entry }),
  'tools.byProvider.own': (entry) => ({ tools: { byProvider: { own: entry } } }),
  'tools.byProvider.own/big': (entry) => ({ tools: { byProvider: { ' OWN/Big ': entry } } }),
  'agents.list[].tools': (entry) => ({ agent: entry }),
  'agents.list[].tools.byProvider.own': (entry) => ({ agent: { byProvider: { Own: entry } } }),
  'agents.list[].tools.byProvider.own/big': (entry) => ({
    agent: { byProvider: { 'own/big': entry } },
  }),
};
const SANDBOX: Place = (entry) => ({ tools: { sandbox: { tools: entry } } });
const SUBAGENTS: Place = (entry) => ({ tools: { subagents: { tools: entry } } });

function queryOf(policies: Policy[], given: Partial<ToolQuery> = {}): ToolQuery {
  const config = defaultConfig({
    tools: merged(policies.map(({ tools = {} }) => tools)),
    agents: { list: [{ id: 'main', tools: merged(policies.map(({ agent = {} }) => agent)) }] },
  });
  return {
    config,
    agentId: 'main',
    model: { provider: 'own', id: 'big' },
    isSubagent: false,
    isSandboxed: false,
    spawnDepth: 0,
    available: Object.values(TOOLS),
    ...given,
  };
}

function merged<T extends object>(parts: T[]): T {
  const all: Record<string, unknown> = {};
  for (const part of parts) {
    for (const [key, value] of Object.entries(part)) {
      const before = all[key];
      const isMap = typeof value === 'object' && !Array.isArray(value) && before !== undefined;
      all[key] = isMap ? merged([before as object, value as object]) : value;
    }
  }
  return all as T;
}

const lettersOf = (query: ToolQuery): string =>
  offeredTools(query)
    .map((name) => letterOf.get(name))
    .join('');

const CHILD = { isSubagent: true, spawnDepth: 1 };
const ENTRIES = [
  '*',
  'group:*',
  'group:sessions',
  'group:agents',
  'group:fs',
  'group:runtime',
  'group:web',
] as const;

/** What is offered under a profile, and with each of ENTRIES as one more list, in their order. */
interface Row {
  profile: Profile | undefined;
  alone: string;
  allow: string[];
  deny: string[];
}

/** For a session that nobody spawned: the same in whatever places profile and list stand. */
const TOP: Row[] = [
  {
    profile: undefined,
    alone: 'LHSPArwex',
    allow: ['LHSPArwex', 'LHSPArwexU', 'LHSPU', 'A', 'rwe', 'x', ''],
    deny: ['', '', 'Arwex', 'LHSPrwex', 'LHSPAx', 'LHSPArwe', 'LHSPArwex'],
  },
  {
    profile: 'minimal',
    alone: 'U',
    allow: ['', 'U', 'U', '', '', '', ''],
    deny: ['', '', '', 'U', 'U', 'U', 'U'],
  },
  {
    profile: 'messaging',
    alone: 'LHSUM',
    allow: ['LHS', 'LHSU', 'LHSU', '', '', '', ''],
    deny: ['', 'M', 'M', 'LHSUM', 'LHSUM', 'LHSUM', 'LHSUM'],
  },
  {
    profile: 'coding',
    alone: 'LHSPArwexU',
    allow: ['LHSPArwex', 'LHSPArwexU', 'LHSPU', 'A', 'rwe', 'x', ''],
    deny: ['', '', 'Arwex', 'LHSPrwexU', 'LHSPAxU', 'LHSPArweU', 'LHSPArwexU'],
  },
  {
    profile: 'full',
    alone: 'LHSPArwexWTQBUM',
    allow: ['LHSPArwex', 'LHSPArwexU', 'LHSPU', 'A', 'rwe', 'x', ''],
    deny: [
      '',
      'WTQBM',
      'ArwexWTQBM',
      'LHSPrwexWTQBUM',
      'LHSPAxWTQBUM',
      'LHSPArweWTQBUM',
      'LHSPArwexWTQBUM',
    ],
  },
];

/** For a sub-agent that may not spawn: the list is the one of sub-agents. */
const BELOW: Row[] = [
  {
    profile: undefined,
    alone: 'rwex',
    allow: ['rwex', 'rwexU', 'LHSU', '', 'rwe', 'x', ''],
    deny: ['', '', 'rwex', 'rwex', 'x', 'rwe', 'rwex'],
  },
  {
    profile: 'minimal',
    alone: 'U',
    allow: ['', 'U', 'U', '', '', '', ''],
    deny: ['', '', '', 'U', 'U', 'U', 'U'],
  },
  {
    profile: 'messaging',
    alone: 'UM',
    allow: ['', 'U', 'LHSU', '', '', '', ''],
    deny: ['', 'M', 'M', 'UM', 'UM', 'UM', 'UM'],
  },
  {
    profile: 'coding',
    alone: 'rwexU',
    allow: ['rwex', 'rwexU', 'LHSU', '', 'rwe', 'x', ''],
    deny: ['', '', 'rwex', 'rwexU', 'xU', 'rweU', 'rwexU'],
  },
  {
    profile: 'full',
    alone: 'rwexBUM',
    allow: ['rwex', 'rwexU', 'LHSU', '', 'rwe', 'x', ''],
    deny: ['', 'BM', 'rwexBM', 'rwexBUM', 'xBUM', 'rweBUM', 'rwexBUM'],
  },
];

const profilePolicy = (place: Place, profile: Profile | undefined): Policy =>
  profile === undefined ? {} : place({ profile });

/** Whether both are entries of one `byProvider`: then that of the model stands alone. */
function areRivals(a: string, b: string): boolean {
  const [mapA, mapB] = [a, b].map((name) => /^(.*)byProvider/.exec(name)?.[1]);
  return mapA !== undefined && mapA === mapB && a !== b;
}

test('[TP5] every profile, list entry and stage of the tool policy offers what the table says', () => {
  const listPlaces = Object.entries(PLACES);
  let cells = 0;
  for (const { profile, alone, allow, deny } of TOP) {
    for (const [profileName, profilePlace] of Object.entries(PLACES)) {
      const base = profilePolicy(profilePlace, profile);
      assert.equal(lettersOf(queryOf([base])), alone, `${profile} in ${profileName}`);
      for (const [listName, listPlace] of [...listPlaces, ['sandbox', SANDBOX] as const]) {
        if (areRivals(profileName, listName)) continue;
        const isSandboxed = listName === 'sandbox';
        for (const [index, entry] of ENTRIES.entries()) {
          const cell = `${profile} in ${profileName}, ${entry} in ${listName}`;
          const offered = (list: Entry) =>
            lettersOf(queryOf([base, listPlace(list)], { isSandboxed }));
          assert.equal(offered({ allow: [entry] }), allow[index], `allow: ${cell}`);
          assert.equal(offered({ deny: [entry.toUpperCase()] }), deny[index], `deny: ${cell}`);
          cells += 2;
        }
      }
    }
  }
  assert.equal(cells, 5 * (6 * 7 - 4) * 7 * 2);
});

test('[TP5, BR-193] every profile and list entry offers a sub-agent what the table says', () => {
  for (const { profile, alone, allow, deny } of BELOW) {
    for (const [profileName, profilePlace] of Object.entries(PLACES)) {
      const base = profilePolicy(profilePlace, profile);
      assert.equal(lettersOf(queryOf([base], CHILD)), alone, `${profile} in ${profileName}`);
      for (const [index, entry] of ENTRIES.entries()) {
        const cell = `${profile} in ${profileName}, ${entry}`;
        const offered = (list: Entry) => lettersOf(queryOf([base, SUBAGENTS(list)], CHILD));
        assert.equal(offered({ allow: [entry] }), allow[index], `allow: ${cell}`);
        assert.equal(offered({ deny: [entry] }), deny[index], `deny: ${cell}`);
      }
    }
  }
});

test('[TP6] the model in effect chooses the entry of `byProvider`, its own before that of its provider', () => {
  const byProvider = {
    own: { allow: ['read', 'exec'], deny: ['exec'] },
    ' OWN/Big ': { allow: ['exec', 'write'] },
    'other/m': { deny: ['*'] },
  };
  const cases: [provider: string, id: string, offered: string][] = [
    ['own', 'big', 'wx'],
    ['Own', 'BIG', 'wx'],
    ['own', 'small', 'r'],
    ['own', 'org/big', 'r'],
    ['other', 'm', ''],
    ['other', 'n', 'LHSPArwex'],
    ['owner', 'big', 'LHSPArwex'],
    ['__proto__', 'big', 'LHSPArwex'],
  ];
  for (const [provider, id, offered] of cases) {
    for (const policy of [{ tools: { byProvider } }, { agent: { byProvider } }])
      assert.equal(lettersOf(queryOf([policy], { model: { provider, id } })), offered, id);
  }
});

test('[TP6] a model of another provider, and a session outside of a sandbox, are not narrowed', () => {
  const policies = [
    { tools: { byProvider: { other: { deny: ['*'] } } } },
    SANDBOX({ allow: ['read'] }),
  ];
  assert.equal(lettersOf(queryOf(policies)), 'LHSPArwex');
  assert.equal(lettersOf(queryOf(policies, { isSandboxed: true })), 'r');
});

test('[TP5] deny wins over allow within one stage, for whatever entries name the tool', () => {
  const entries = ['read', 'R*D', '*', 'group:fs', 'group:*'];
  for (const place of [...Object.values(PLACES), SANDBOX, SUBAGENTS]) {
    for (const allowed of entries) {
      for (const denied of entries) {
        const given = { ...CHILD, isSandboxed: true };
        const query = queryOf([place({ allow: [allowed], deny: [denied] })], given);
        assert.ok(!offeredTools(query).includes('read'), `${allowed} and ${denied}`);
      }
    }
  }
});

/** The stages in their order, each with what closes `exec` there. */
const CLOSING: [setting: string, policy: Policy][] = [
  ['tools.profile', { tools: { profile: 'messaging' } }],
  ['tools.byProvider.own.profile', { tools: { byProvider: { own: { profile: 'minimal' } } } }],
  ['tools.deny', { tools: { deny: ['exec'] } }],
  ['tools.allow', { tools: { allow: ['read'] } }],
  ['tools.byProvider.own.deny', { tools: { byProvider: { own: { deny: ['e*c'] } } } }],
  ['tools.byProvider.own.allow', { tools: { byProvider: { own: { allow: [] } } } }],
  ['agents.list[].tools.profile', { agent: { profile: 'minimal' } }],
  ['agents.list[].tools.deny', { agent: { deny: ['group:runtime'] } }],
  ['agents.list[].tools.allow', { agent: { allow: ['group:fs'] } }],
  [
    'agents.list[].tools.byProvider.own/big.profile',
    { agent: { byProvider: { 'own/big': { profile: 'messaging' } } } },
  ],
  [
    'agents.list[].tools.byProvider.own/big.deny',
    { agent: { byProvider: { 'own/big': { deny: ['*'] } } } },
  ],
  [
    'agents.list[].tools.byProvider.own/big.allow',
    { agent: { byProvider: { 'own/big': { allow: ['write'] } } } },
  ],
  ['tools.sandbox.tools.deny', { tools: { sandbox: { tools: { deny: ['EXEC'] } } } }],
  ['tools.sandbox.tools.allow', { tools: { sandbox: { tools: { allow: ['read'] } } } }],
  ['tools.subagents.tools.deny', { tools: { subagents: { tools: { deny: ['exec'] } } } }],
  ['tools.subagents.tools.allow', { tools: { subagents: { tools: { allow: ['read'] } } } }],
];

test('[TP7] what is not offered is told with the setting that closes it: of two the earlier stage', () => {
  const given = { ...CHILD, isSandboxed: true };
  assert.equal(toolClosedBy(queryOf([], given), 'exec'), undefined);
  for (const [index, [setting, policy]] of CLOSING.entries()) {
    assert.equal(toolClosedBy(queryOf([policy], given), 'exec'), setting);
    for (const [later, other] of CLOSING.slice(index + 1)) {
      const both = toolClosedBy(queryOf([policy, other], given), 'exec');
      assert.equal(both, setting, `${setting} with ${later}`);
    }
  }
});

test('[TP7] tools beyond the default set, and those of sub-agents, are told with what would open them', () => {
  const cases: [name: string, given: Partial<ToolQuery>, setting: string][] = [
    ['sessions_wait', {}, 'tools.allow'],
    ['sessions_wait', CHILD, 'tools.allow'],
    ['sessions_list', CHILD, 'tools.subagents.tools.allow'],
    ['sessions_spawn', CHILD, 'agents.defaults.subagents.maxSpawnDepth'],
  ];
  for (const [name, given, setting] of cases)
    assert.equal(toolClosedBy(queryOf([], given), name), setting, name);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { VISIBILITY_LEVELS } from '../protocol/words.ts';
import type { VisibilityLevel } from '../protocol/words.ts';
import type { AccessDecision } from './access.ts';
import {
  agentToAgentAdmits,
  closureOf,
  decideAccess,
  decideSpawn,
  effectiveLevel,
  refusalText,
  wouldShowPlace,
} from './access.ts';

const CALLER = { key: 'agent:a:main', agentId: 'a' };
const OPEN = { enabled: true };
const CLOSED = { enabled: false };
const scope = 'per-sender';
const VERBS = ['list', 'history', 'send', 'stop', 'wait', 'search', 'ask'] as const;

const TARGETS = {
  'own key': { ...CALLER, isDescendant: false },
  'same agent, spawned by caller': {
    key: 'agent:a:subagent:u',
    agentId: 'a',
    isDescendant: true,
  },
  'same agent, not spawned': { key: 'agent:a:x', agentId: 'a', isDescendant: false },
  'other agent, spawned by caller': {
    key: 'agent:b:subagent:u',
    agentId: 'b',
    isDescendant: true,
  },
  'other agent, not spawned': { key: 'agent:b:main', agentId: 'b', isDescendant: false },
  'unknown row': { key: 'unknown', agentId: 'a', isDescendant: false },
  'global row of an older scope': { key: 'global', agentId: 'a', isDescendant: false },
};
type Cell = 'Y' | '–' | 'X';
type Row = Record<VisibilityLevel, [cell: Cell, rule: AccessDecision['rule']]>;

/** The truth table of B9, cell by cell: Y allowed, – denied, X = Y iff `tools.agentToAgent` admits both agents. */
const TABLE: Record<keyof typeof TARGETS, Row> = {
  'own key': {
    self: ['Y', 'own_session'],
    tree: ['Y', 'own_session'],
    agent: ['Y', 'own_session'],
    all: ['Y', 'own_session'],
  },
  'same agent, spawned by caller': {
    self: ['–', 'visibility_self'],
    tree: ['Y', 'own_descendant'],
    agent: ['Y', 'own_agent'],
    all: ['Y', 'own_descendant'],
  },
  'same agent, not spawned': {
    self: ['–', 'visibility_self'],
    tree: ['–', 'visibility_tree'],
    agent: ['Y', 'own_agent'],
    all: ['Y', 'own_agent'],
  },
  'other agent, spawned by caller': {
    self: ['–', 'visibility_self'],
    tree: ['Y', 'own_descendant'],
    agent: ['–', 'visibility_agent'],
    all: ['Y', 'own_descendant'],
  },
  'other agent, not spawned': {
    self: ['–', 'visibility_self'],
    tree: ['–', 'visibility_tree'],
    agent: ['–', 'visibility_agent'],
    all: ['X', 'agent_to_agent_closed'],
  },
  'unknown row': {
    self: ['–', 'reserved'],
    tree: ['–', 'reserved'],
    agent: ['–', 'reserved'],
    all: ['–', 'reserved'],
  },
  'global row of an older scope': {
    self: ['–', 'reserved'],
    tree: ['–', 'reserved'],
    agent: ['–', 'reserved'],
    all: ['–', 'reserved'],
  },
};

for (const [name, row] of Object.entries(TABLE)) {
  for (const level of VISIBILITY_LEVELS) {
    const [cell, rule] = row[level];
    test(`[AC6, BR-016] level ${level}, ${name}: ${cell} for every verb`, () => {
      const target = TARGETS[name as keyof typeof TARGETS];
      for (const verb of VERBS) {
        for (const agentToAgent of [OPEN, CLOSED]) {
          const query = { caller: CALLER, target, verb, level, agentToAgent, scope } as const;
          const decision = decideAccess(query);
          const isAdmitted = cell === 'X' && agentToAgent.enabled;
          assert.equal(decision.allowed, cell === 'Y' || isAdmitted, verb);
          assert.equal(decision.rule, isAdmitted ? 'agent_to_agent' : rule, verb);
        }
      }
    });
  }
}

/** A4: in global scope the row is the main session of every agent, whoever owns it. */
const SHARED: Record<VisibilityLevel, [Cell, AccessDecision['rule']]> = {
  self: ['–', 'visibility_self'],
  tree: ['–', 'visibility_tree'],
  agent: ['Y', 'own_agent'],
  all: ['Y', 'own_agent'],
};
for (const level of VISIBILITY_LEVELS) {
  const [cell, rule] = SHARED[level];
  test(`[AC6] level ${level}, the shared row of global scope: ${cell} for every verb and agent`, () => {
    for (const verb of VERBS) {
      for (const agentId of ['a', 'b']) {
        const target = { key: 'global', agentId, isDescendant: false };
        const decision = decideAccess({
          caller: CALLER,
          target,
          verb,
          level,
          agentToAgent: CLOSED,
          scope: 'global',
        });
        assert.deepEqual([decision.allowed, decision.rule], [cell === 'Y', rule], verb);
      }
    }
    const own = { key: 'global', agentId: 'a', isDescendant: false };
    const asItself = { caller: own, target: own, verb: 'history', level } as const;
    const { rule: by } = decideAccess({ ...asItself, agentToAgent: CLOSED, scope: 'global' });
    assert.equal(by, 'own_session');
  });
}

/** The X cell of B9, and who else is named by `allow`. */
const X_CELL: [enabled: boolean, allow: string[] | undefined, cell: 'Y' | '–'][] = [
  [false, undefined, '–'],
  [false, [], '–'],
  [false, ['a'], '–'],
  [false, ['a', 'b'], '–'],
  [false, ['*'], '–'],
  [true, undefined, 'Y'],
  [true, [], 'Y'],
  [true, ['a'], '–'],
  [true, ['b'], '–'],
  [true, ['c'], '–'],
  [true, ['a', 'b'], 'Y'],
  [true, ['a', 'c'], '–'],
  [true, ['*'], 'Y'],
  [true, ['a', '*'], 'Y'],
  [true, ['  '], '–'],
  [true, ['', ' '], '–'],
  [true, ['a', ' '], '–'],
  [true, [' A ', 'B*'], 'Y'],
  [true, ['[ab]'], '–'],
  [true, ['a.*', 'b'], '–'],
];
for (const [enabled, allow, cell] of X_CELL) {
  test(`[AC6] tools.agentToAgent enabled ${enabled}, allow ${JSON.stringify(allow)}: ${cell} for every verb, both ways`, () => {
    const [a, b] = [CALLER, { key: 'agent:b:main', agentId: 'b' }];
    const agentToAgent = { enabled, allow };
    for (const verb of VERBS) {
      for (const [caller, other] of [
        [a, b],
        [b, a],
      ] as const) {
        const target = { ...other, isDescendant: false };
        const query = { caller, target, verb, level: 'all', agentToAgent, scope } as const;
        assert.equal(decideAccess(query).allowed, cell === 'Y', verb);
      }
    }
    assert.equal(agentToAgentAdmits(agentToAgent, 'a', 'a'), true, 'an agent reaches itself');
  });
}

/** Spawning is about an agent, not a session: B7.3's allow list, configured agents alone (`spawnTargets`). */
const SPAWN: [agentId: string, ids: string[], cell: 'Y' | '–', rule: AccessDecision['rule']][] = [
  ['a', ['a'], 'Y', 'own_agent'],
  ['a', ['a', 'b'], 'Y', 'own_agent'],
  ['a', [], '–', 'allow_agents'],
  ['b', ['a'], '–', 'allow_agents'],
  ['b', ['a', 'b'], 'Y', 'allowed_agent'],
  ['b', ['a', 'c'], '–', 'allow_agents'],
];
for (const [agentId, spawnAgentIds, cell, rule] of SPAWN) {
  test(`[AC6, BR-092] a session of a that may spawn under [${spawnAgentIds.join(', ')}], under ${agentId}: ${cell}`, () => {
    const decision = decideSpawn({ callerAgentId: 'a', agentId, spawnAgentIds });
    assert.deepEqual([decision.allowed, decision.rule], [cell === 'Y', rule]);
    const list = spawnAgentIds.join(', ') || 'none';
    if (!decision.allowed) {
      assert.match(decision.text, /agents\.list\[\]\.subagents\.allowAgents of a\)/);
      assert.ok(decision.text.endsWith(`allowed: ${list}`));
    }
  });
}

test('[AR1, AC4] closed sessions: a deleted one is hidden from every verb, an archived one is read only', () => {
  const target = { ...CALLER, isDescendant: false };
  for (const verb of VERBS) {
    const query = { caller: CALLER, verb, level: 'all', agentToAgent: OPEN, scope } as const;
    const deleted = decideAccess({ ...query, target: { ...target, closure: 'deleted' } });
    assert.deepEqual(deleted, { allowed: false, rule: 'deleted', text: refusalText('all') });
    const archived = decideAccess({ ...query, target: { ...target, closure: 'archived' } });
    assert.equal(archived.allowed, verb !== 'send' && verb !== 'ask', verb);
    assert.equal(archived.rule, archived.allowed ? 'own_session' : 'archived');
  }
  assert.equal(closureOf(undefined), undefined);
  assert.equal(closureOf({ archivedAt: null, deletedAt: null }), undefined);
  assert.equal(closureOf({ archivedAt: 1, deletedAt: null }), 'archived');
  assert.equal(closureOf({ archivedAt: 1, deletedAt: 2 }), 'deleted');
});

test('[BR-060] a refusal names the setting and is the same for every hidden or missing target', () => {
  const texts = new Set<string>();
  for (const target of [TARGETS['same agent, not spawned'], TARGETS['other agent, not spawned']]) {
    const query = {
      caller: CALLER,
      target,
      verb: 'history',
      level: 'tree',
      agentToAgent: OPEN,
      scope,
    } as const;
    const decision = decideAccess(query);
    assert.ok(!decision.allowed);
    texts.add(decision.text);
  }
  assert.deepEqual([...texts], [refusalText('tree')]);
  for (const level of VISIBILITY_LEVELS) {
    assert.match(refusalText(level), /tools\.sessions\.visibility/);
    assert.doesNotMatch(refusalText(level), /agent:|subagent/);
  }
  assert.match(refusalText('all'), /tools\.agentToAgent/);
});

test('a missing session is called missing only where every session would be shown', () => {
  const agentIds = ['a', 'b'];
  const shows = (level: VisibilityLevel, agentId: string | undefined, allow?: string[]): boolean =>
    wouldShowPlace(level, {
      callerAgentId: 'a',
      agentId,
      agentToAgent: { enabled: allow !== undefined, allow },
      agentIds,
    });
  assert.equal(shows('self', 'a'), false);
  assert.equal(shows('tree', 'a'), false);
  assert.equal(shows('agent', 'a'), true);
  assert.equal(shows('agent', 'b'), false);
  assert.equal(shows('agent', undefined), false);
  assert.equal(shows('all', 'a'), true);
  assert.equal(shows('all', 'b'), false);
  assert.equal(shows('all', 'b', ['a', 'b']), true);
  assert.equal(shows('all', undefined), false);
  assert.equal(shows('all', undefined, ['a', 'b']), false);
  assert.equal(shows('all', undefined, []), true);
  assert.equal(shows('all', undefined, ['*']), true);
});

type Reach = 'spawned' | 'all';
/** The clamp of B9, every cell; the own setting of the agent goes before the default (BR-200). */
const CLAMP: [
  sandboxed: boolean,
  byDefault: Reach,
  ofAgent: Reach | undefined,
  effective: Record<VisibilityLevel, VisibilityLevel>,
][] = [
  [false, 'spawned', undefined, { self: 'self', tree: 'tree', agent: 'agent', all: 'all' }],
  [false, 'all', undefined, { self: 'self', tree: 'tree', agent: 'agent', all: 'all' }],
  [false, 'all', 'spawned', { self: 'self', tree: 'tree', agent: 'agent', all: 'all' }],
  [false, 'spawned', 'all', { self: 'self', tree: 'tree', agent: 'agent', all: 'all' }],
  [true, 'spawned', undefined, { self: 'self', tree: 'tree', agent: 'tree', all: 'tree' }],
  [true, 'spawned', 'spawned', { self: 'self', tree: 'tree', agent: 'tree', all: 'tree' }],
  [true, 'all', 'spawned', { self: 'self', tree: 'tree', agent: 'tree', all: 'tree' }],
  [true, 'all', undefined, { self: 'self', tree: 'tree', agent: 'agent', all: 'all' }],
  [true, 'all', 'all', { self: 'self', tree: 'tree', agent: 'agent', all: 'all' }],
  [true, 'spawned', 'all', { self: 'self', tree: 'tree', agent: 'agent', all: 'all' }],
];
for (const [sandboxed, byDefault, ofAgent, effective] of CLAMP) {
  test(`[AC6, BR-200] sandboxed ${sandboxed}, sessionToolsVisibility ${byDefault}, of the agent ${ofAgent}: the level in effect`, () => {
    for (const level of VISIBILITY_LEVELS) {
      assert.equal(effectiveLevel(level, { sandboxed, byDefault, ofAgent }), effective[level]);
    }
  });
}

test('what a session may list it may read, and what it may read it may address', () => {
  const id = fc.constantFrom('a', 'b', 'c');
  const session = fc.record({ key: fc.constantFrom('k1', 'k2', 'global', 'unknown'), agentId: id });
  fc.assert(
    fc.property(
      fc.record({
        caller: session,
        target: fc
          .tuple(session, fc.boolean())
          .map(([s, isDescendant]) => ({ ...s, isDescendant })),
        level: fc.constantFrom(...VISIBILITY_LEVELS),
        scope: fc.constantFrom('per-sender' as const, 'global' as const),
        agentToAgent: fc.record({
          enabled: fc.boolean(),
          allow: fc.option(fc.array(fc.constantFrom('a', 'b', '*', ' ')), { nil: undefined }),
        }),
      }),
      (query) => {
        const allows = (verb: 'list' | 'history' | 'send'): boolean =>
          decideAccess({ ...query, verb }).allowed;
        assert.ok(!allows('list') || allows('history'));
        assert.ok(!allows('history') || allows('send'));
      },
    ),
  );
});

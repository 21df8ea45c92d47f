import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { VISIBILITY_LEVELS } from '../protocol/words.ts';
import type { VisibilityLevel } from '../protocol/words.ts';
import {
  agentToAgentAdmits,
  closureOf,
  decideAccess,
  effectiveLevel,
  refusalText,
  wouldShowPlace,
} from './access.ts';

const CALLER = { key: 'agent:a:main', agentId: 'a' };
const OPEN = { enabled: true };
const CLOSED = { enabled: false };
const X = 'needs agentToAgent';

const TARGETS = {
  'its own session': { ...CALLER, isDescendant: false },
  'a descendant of its agent': { key: 'agent:a:subagent:u', agentId: 'a', isDescendant: true },
  'another session of its agent': { key: 'agent:a:x', agentId: 'a', isDescendant: false },
  'a descendant under another agent': {
    key: 'agent:b:subagent:u',
    agentId: 'b',
    isDescendant: true,
  },
  'another session of another agent': { key: 'agent:b:main', agentId: 'b', isDescendant: false },
  'the unknown row': { key: 'unknown', agentId: 'a', isDescendant: false },
};
const TABLE: [keyof typeof TARGETS, Record<VisibilityLevel, boolean | typeof X>][] = [
  ['its own session', { self: true, tree: true, agent: true, all: true }],
  ['a descendant of its agent', { self: false, tree: true, agent: true, all: true }],
  ['another session of its agent', { self: false, tree: false, agent: true, all: true }],
  ['a descendant under another agent', { self: false, tree: true, agent: false, all: true }],
  ['another session of another agent', { self: false, tree: false, agent: false, all: X }],
  ['the unknown row', { self: false, tree: false, agent: false, all: false }],
];

for (const [name, row] of TABLE) {
  for (const level of VISIBILITY_LEVELS) {
    test(`[BR-016] level ${level}: ${name} is ${String(row[level])}`, () => {
      for (const verb of ['list', 'history', 'send', 'stop', 'wait', 'search', 'ask'] as const) {
        for (const agentToAgent of [OPEN, CLOSED]) {
          const expected = row[level] === X ? agentToAgent.enabled : row[level];
          const query = { caller: CALLER, target: TARGETS[name], verb, level, agentToAgent };
          assert.equal(decideAccess(query).allowed, expected, verb);
        }
      }
    });
  }
}

test('[AR1, AC4] closed sessions: a deleted one is hidden from every verb, an archived one is read only', () => {
  const target = { ...CALLER, isDescendant: false };
  for (const verb of ['list', 'history', 'send', 'stop', 'wait', 'search', 'ask'] as const) {
    const query = { caller: CALLER, verb, level: 'all', agentToAgent: OPEN } as const;
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

test('in global scope the shared row is the main session of every agent', () => {
  const target = { key: 'global', agentId: 'main', isDescendant: false };
  const query = { caller: CALLER, target, verb: 'send', agentToAgent: CLOSED } as const;
  assert.equal(decideAccess({ ...query, level: 'agent' }).allowed, true);
  assert.equal(decideAccess({ ...query, level: 'tree' }).allowed, false);
});

test('[BR-060] a refusal names the setting and is the same for every hidden or missing target', () => {
  const texts = new Set<string>();
  for (const target of [
    TARGETS['another session of its agent'],
    TARGETS['another session of another agent'],
  ]) {
    const query = {
      caller: CALLER,
      target,
      verb: 'history',
      level: 'tree',
      agentToAgent: OPEN,
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

const ADMITS: [allow: string[] | undefined, admitted: boolean][] = [
  [undefined, true],
  [[], true],
  [['a'], false],
  [['b'], false],
  [['a', 'b'], true],
  [['*'], true],
  [[' A ', 'B*'], true],
  [['[ab]'], false],
  [['  '], false],
];
for (const [allow, admitted] of ADMITS) {
  test(`tools.agentToAgent.allow ${JSON.stringify(allow)} ${admitted ? 'admits' : 'refuses'} a and b`, () => {
    assert.equal(agentToAgentAdmits({ enabled: true, allow }, 'a', 'b'), admitted);
    assert.equal(agentToAgentAdmits({ enabled: false, allow }, 'a', 'b'), false);
    assert.equal(agentToAgentAdmits({ enabled: false, allow }, 'a', 'a'), true);
  });
}

test('[BR-092] spawning under another agent is decided by its allow list, which the refusal names', () => {
  const target = { key: '', agentId: 'b', isDescendant: false };
  const query = {
    caller: CALLER,
    target,
    verb: 'spawn',
    level: 'self',
    agentToAgent: OPEN,
  } as const;
  const refused = decideAccess(query);
  assert.ok(!refused.allowed);
  assert.match(refused.text, /agents\.list\[\]\.subagents\.allowAgents.*allowed: a$/);
  assert.equal(
    decideAccess({ ...query, spawnAgents: { any: false, agentIds: ['b'] } }).allowed,
    true,
  );
  assert.equal(decideAccess({ ...query, spawnAgents: { any: true, agentIds: [] } }).allowed, true);
  assert.equal(decideAccess({ ...query, target: { ...target, agentId: 'a' } }).allowed, true);
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

test('the sandbox clamp never widens a level', () => {
  for (const level of VISIBILITY_LEVELS) {
    assert.equal(
      effectiveLevel(level, { sandboxed: false, sessionToolsVisibility: 'spawned' }),
      level,
    );
    assert.equal(effectiveLevel(level, { sandboxed: true, sessionToolsVisibility: 'all' }), level);
    const clamped = effectiveLevel(level, { sandboxed: true, sessionToolsVisibility: 'spawned' });
    assert.equal(clamped, level === 'self' ? 'self' : 'tree');
  }
});

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

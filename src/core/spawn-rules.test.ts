import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { defaultConfig } from '../protocol/options/config.ts';
import { must } from '../util/assert.ts';
import { findAgent, spawnTargets } from './agents.ts';
import { limitsOf } from './budget-limits.ts';
import { freshBudget } from './budget.ts';
import { fold } from './key-grammar.ts';
import { SPAWN_RULES, spawnRefusal } from './spawn-rules.ts';
import type { SpawnFacts, SpawnRuleName } from './spawn-rules.ts';

const SOUND: SpawnFacts = {
  args: { task: 't', agentId: 'main' },
  requester: { agentId: 'main', isSubagent: false, depth: 0 },
  limits: { maxSpawnDepth: 1, maxChildrenPerAgent: 5, maxChildrenPerSession: 15 },
  activeChildren: 4,
  childrenSpawned: 14,
  requireAgentId: true,
  targets: { allowAny: false, ids: ['main'] },
  agentId: 'main',
  agent: must(findAgent(defaultConfig(), 'main'), 'main'),
  sandboxed: { requester: false, child: false },
  attachmentsEnabled: true,
  model: { ok: true, model: { provider: 'scripted', id: 'scripted-1' } },
  budget: {
    above: [freshBudget('agent:main:main', limitsOf({ tokens: 9, usd: 1 }))],
    ofAgent: undefined,
    asked: limitsOf({ tokens: 9 }),
    model: 'scripted/scripted-1',
    isPriced: true,
  },
};

type Break = (facts: SpawnFacts) => SpawnFacts;
const withBudget =
  (change: Partial<NonNullable<SpawnFacts['budget']>>): Break =>
  (facts) => ({ ...facts, budget: { ...must(facts.budget, 'budget'), ...change } });
const withArgs =
  (change: Partial<SpawnFacts['args']>): Break =>
  (facts) => ({ ...facts, args: { ...facts.args, ...change } });
const withoutAgentId: Break = (facts) => {
  const args = { ...facts.args };
  delete args.agentId;
  return { ...facts, args };
};

/** B7.3, steps 2 to 11 in their order: what breaks each, its status and its words. */
const CASES: [SpawnRuleName, 'error' | 'forbidden', string | RegExp, Break][] = [
  [
    'depth',
    'forbidden',
    'a sub-agent may not spawn sub-agents here (agents.defaults.subagents.maxSpawnDepth is 1); do the work here or report back',
    (facts) => ({ ...facts, requester: { agentId: 'main', isSubagent: true, depth: 1 } }),
  ],
  [
    'loop',
    'error',
    'the chain is too long',
    (facts) => ({ ...facts, loop: 'the chain is too long' }),
  ],
  [
    'max_children',
    'forbidden',
    '5 sub-agents of this session are active, agents.defaults.subagents.maxChildrenPerAgent is 5; wait for one to end',
    (facts) => ({ ...facts, activeChildren: 5 }),
  ],
  [
    'max_children_per_session',
    'forbidden',
    'this session has spawned 15 sub-agents since its transcript began, agents.defaults.subagents.maxChildrenPerSession is 15; do the work here',
    (facts) => ({ ...facts, childrenSpawned: 15 }),
  ],
  [
    'require_agent_id',
    'forbidden',
    'agentId is required here (subagents.requireAgentId); agents_list shows which',
    withoutAgentId,
  ],
  [
    'allow_agents',
    'forbidden',
    'agent ghost may not be spawned from here (agents.list[].subagents.allowAgents of main); allowed: main',
    (facts) => ({ ...facts, agentId: 'ghost', agent: undefined }),
  ],
  [
    'sandbox_inheritance',
    'forbidden',
    'a sandboxed session may not spawn outside a sandbox, and agent main runs without one (agents.list[].sandbox.mode); choose another agent',
    (facts) => ({ ...facts, sandboxed: { requester: true, child: false } }),
  ],
  [
    'sandbox_required',
    'forbidden',
    'sessions_spawn does not support sandbox: "require" yet; use "inherit"',
    withArgs({ sandbox: 'require' }),
  ],
  [
    'mode_needs_thread',
    'error',
    'mode: "session" of sessions_spawn needs thread: true, which is not supported yet; use "run"',
    withArgs({ mode: 'session' }),
  ],
  [
    'no_threads',
    'error',
    'sessions_spawn does not support thread: true yet; leave it out and use mode "run"',
    withArgs({ thread: true }),
  ],
  [
    'model',
    'error',
    'unknown model',
    (facts) => ({ ...facts, model: { ok: false, error: 'unknown model' } }),
  ],
  [
    'budget_wider',
    'error',
    /tokens 10 is more than .* agent:main:main, 9; a child may only narrow it/,
    withBudget({ asked: limitsOf({ tokens: 10 }) }),
  ],
  ['budget_unpriced', 'error', /scripted-1 has no prices/, withBudget({ isPriced: false })],
  [
    'attachments_disabled',
    'forbidden',
    /attachments\.enabled/,
    (facts) => ({ ...withArgs({ attachments: [{}] })(facts), attachmentsEnabled: false }),
  ],
  [
    'attachments_invalid',
    'error',
    /maxFiles/,
    (facts) => ({ ...facts, attachmentsFlaw: 'more files than maxFiles' }),
  ],
];

test('[SP10] the order of the rules is the documented one', () => {
  assert.equal(spawnRefusal(SOUND), undefined);
  assert.deepEqual(
    SPAWN_RULES.map(({ name }) => name),
    CASES.map(([name]) => name),
  );
});

test('[SP10] each rule answers with its status, and names what to change', async (t) => {
  for (const [name, status, text, broken] of CASES) {
    await t.test(name, () => {
      const answer = must(spawnRefusal(broken(SOUND)), name);
      assert.deepEqual([answer.rule, answer.refusal.status], [name, status]);
      if (typeof text === 'string') assert.equal(answer.refusal.error, text);
      else assert.match(answer.refusal.error, text);
    });
  }
});

test('[SP10] of any two broken rules the earlier one answers', () => {
  for (const [index, [earlier, , , breakEarlier]] of CASES.entries()) {
    for (const [later, , , breakLater] of CASES.slice(index + 1)) {
      // A thread is given or not: the two cannot be broken together.
      if (earlier === 'mode_needs_thread' && later === 'no_threads') continue;
      const answer = spawnRefusal(breakEarlier(breakLater(SOUND)));
      assert.equal(answer?.rule, earlier, `${earlier} with ${later}`);
    }
  }
});

test('[SP11] a limit of 0 children per session is none', () => {
  const limits = { ...SOUND.limits, maxChildrenPerSession: 0 };
  assert.equal(spawnRefusal({ ...SOUND, childrenSpawned: 1_000_000, limits }), undefined);
});

test('[SP10] a sub-agent may spawn as long as it is above the last depth', () => {
  for (const maxSpawnDepth of [1, 2, 3, 4, 5]) {
    for (let depth = 0; depth <= 6; depth++) {
      const answer = spawnRefusal({
        ...SOUND,
        requester: { agentId: 'main', isSubagent: true, depth },
        limits: { ...SOUND.limits, maxSpawnDepth },
      });
      // a sub-agent without a known depth counts as the first
      const refused = Math.max(depth, 1) >= maxSpawnDepth;
      assert.equal(answer?.rule, refused ? 'depth' : undefined, `${depth} of ${maxSpawnDepth}`);
    }
  }
});

test('[SP10] who is in a sandbox, or asks for one, gets a child in one', () => {
  for (const requester of [false, true]) {
    for (const child of [false, true]) {
      for (const sandbox of ['inherit', 'require'] as const) {
        const facts = { ...withArgs({ sandbox })(SOUND), sandboxed: { requester, child } };
        const broken = requester ? 'sandbox_inheritance' : 'sandbox_required';
        const isFine = child || (!requester && sandbox === 'inherit');
        assert.equal(spawnRefusal(facts)?.rule, isFine ? undefined : broken);
      }
    }
  }
});

const IDS = ['main', 'coder', 'sec', 'ghost'];
const allowList = fc.option(
  fc.array(fc.constantFrom(...IDS, '*', ' CODER ', '', 'Ghost', '../sec', '@@'), { maxLength: 4 }),
  { nil: undefined },
);
const anyAgent = fc.record({
  id: fc.constantFrom(...IDS),
  allowAgents: allowList,
  requireAgentId: fc.option(fc.boolean(), { nil: undefined }),
});
/** Agents as a list, as a map, as both and as none. */
const anyShape = fc.record({
  defaults: allowList,
  requireAgentId: fc.boolean(),
  agents: fc.uniqueArray(anyAgent, { selector: ({ id }) => id, maxLength: 4 }),
  inList: fc.integer({ min: 0, max: 4 }),
});
type Shape = typeof anyShape extends fc.Arbitrary<infer T> ? T : never;

function configOf({ defaults, requireAgentId, agents, inList }: Shape) {
  const settings = agents.map(({ id, ...subagents }) => ({ id, subagents }));
  return defaultConfig({
    agents: {
      defaults: { subagents: { allowAgents: defaults, requireAgentId } },
      list: settings.slice(0, inList),
      entries: Object.fromEntries(settings.slice(inList).map(({ id, ...rest }) => [id, rest])),
    },
  });
}

/** As `planSpawn` fills them in. */
function factsFor(
  { agents, requireAgentId, ...shape }: Shape,
  { requester, wanted }: { requester: string; wanted: string | undefined },
): SpawnFacts {
  const config = configOf({ agents, requireAgentId, ...shape });
  const targets = spawnTargets(config, requester);
  const agentId = fold(wanted ?? requester);
  return {
    ...SOUND,
    args: { task: 't', ...(wanted === undefined ? {} : { agentId: wanted }) },
    requester: { ...SOUND.requester, agentId: requester },
    requireAgentId: findAgent(config, requester)?.subagents.requireAgentId ?? requireAgentId,
    targets,
    agentId,
    agent: targets.ids.includes(agentId) ? findAgent(config, agentId) : undefined,
  };
}

test('[AL1, BR-092, BR-094] under any configuration the ids that are listed are exactly those that are accepted', () => {
  const named = fc.constantFrom(...IDS, 'Main', ' sec ', 'other', '---', '-sec-');
  fc.assert(
    fc.property(anyShape, fc.constantFrom(...IDS), named, (shape, requester, wanted) => {
      const facts = factsFor(shape, { requester, wanted });
      const { ids, allowAny } = facts.targets;
      assert.equal(spawnRefusal(facts) === undefined, ids.includes(fold(wanted)));

      // By the words of the documents, from what is written alone.
      const { agents, defaults } = shape;
      const configured = agents.length === 0 ? ['main'] : agents.map(({ id }) => id);
      const own = agents.find(({ id }) => id === requester);
      const list = own?.allowAgents ?? defaults ?? [];
      const isThere = configured.includes(requester);
      const expected = configured.filter(
        (id) =>
          id === requester || list.some((entry) => entry.trim() === '*' || fold(entry) === id),
      );
      assert.deepEqual(ids.toSorted(), isThere ? expected.toSorted() : []);
      assert.equal(allowAny, isThere && list.includes('*'));
      if (isThere) assert.equal(ids[0], requester, 'itself first');
    }),
  );
});

test('[AL1, SP10] without an agentId a spawn is one’s own, unless the agent or the defaults require one', () => {
  fc.assert(
    fc.property(anyShape, fc.constantFrom(...IDS), (shape, requester) => {
      const answer = spawnRefusal(factsFor(shape, { requester, wanted: undefined }));
      const own = shape.agents.find(({ id }) => id === requester);
      const isRequired = own?.requireAgentId ?? shape.requireAgentId;
      const isThere = own !== undefined || (shape.agents.length === 0 && requester === 'main');
      const broken = isThere ? undefined : 'allow_agents';
      assert.equal(answer?.rule, isRequired ? 'require_agent_id' : broken);
    }),
  );
});

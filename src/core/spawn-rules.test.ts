import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { defaultConfig } from '../protocol/options/config.ts';
import { must } from '../util/assert.ts';
import { findAgent, spawnTargets } from './agents.ts';
import { normaliseAgentId } from './keys.ts';
import { SPAWN_RULES, spawnRefusal } from './spawn-rules.ts';
import type { SpawnFacts, SpawnRuleName } from './spawn-rules.ts';

const SOUND: SpawnFacts = {
  args: { task: 't', agentId: 'main' },
  requester: { agentId: 'main', isSubagent: false, depth: 0 },
  limits: { maxSpawnDepth: 1, maxChildrenPerAgent: 5 },
  activeChildren: 4,
  requireAgentId: true,
  targets: { allowAny: false, ids: ['main'] },
  agentId: 'main',
  agent: must(findAgent(defaultConfig(), 'main'), 'main'),
  sandboxed: { requester: false, child: false },
  attachmentsEnabled: true,
  model: { ok: true, model: { provider: 'scripted', id: 'scripted-1' } },
};

type Break = (facts: SpawnFacts) => SpawnFacts;
const withArgs =
  (change: Partial<SpawnFacts['args']>): Break =>
  (facts) => ({ ...facts, args: { ...facts.args, ...change } });
const withoutAgentId: Break = (facts) => {
  const args = { ...facts.args };
  delete args.agentId;
  return { ...facts, args };
};

/** B7.3, steps 2 to 11 in their order: what breaks each, its status and what its text names. */
const CASES: [SpawnRuleName, 'error' | 'forbidden', RegExp, Break][] = [
  [
    'depth',
    'forbidden',
    /maxSpawnDepth is 1/,
    (facts) => ({ ...facts, requester: { agentId: 'main', isSubagent: true, depth: 1 } }),
  ],
  ['loop', 'error', /chain/, (facts) => ({ ...facts, loop: 'the chain is too long' })],
  ['max_children', 'forbidden', /maxChildrenPerAgent is 5/, (f) => ({ ...f, activeChildren: 5 })],
  ['require_agent_id', 'forbidden', /agentId is required/, withoutAgentId],
  [
    'allow_agents',
    'forbidden',
    /may not be spawned.*allowAgents of main.*allowed: main/,
    (facts) => ({ ...facts, agentId: 'ghost', agent: undefined }),
  ],
  [
    'sandbox_inheritance',
    'forbidden',
    /sandbox\.mode/,
    (facts) => ({ ...facts, sandboxed: { requester: true, child: false } }),
  ],
  ['sandbox_required', 'forbidden', /sandbox: "require"/, withArgs({ sandbox: 'require' })],
  ['mode_needs_thread', 'error', /needs thread: true/, withArgs({ mode: 'session' })],
  ['no_threads', 'error', /thread: true yet/, withArgs({ thread: true })],
  [
    'model',
    'error',
    /unknown model/,
    (facts) => ({ ...facts, model: { ok: false, error: 'unknown model' } }),
  ],
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
      assert.match(answer.refusal.error, text);
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

test('[SP10] a sub-agent may spawn as long as it is above the last depth', () => {
  for (const maxSpawnDepth of [1, 2, 3, 4, 5]) {
    for (let depth = 0; depth <= 6; depth++) {
      const answer = spawnRefusal({
        ...SOUND,
        requester: { agentId: 'main', isSubagent: true, depth },
        limits: { maxSpawnDepth, maxChildrenPerAgent: 5 },
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
  fc.array(fc.constantFrom(...IDS, '*', ' CODER ', '', 'Ghost'), { maxLength: 4 }),
  { nil: undefined },
);
const anyConfig = fc
  .record({
    defaults: allowList,
    requireAgentId: fc.boolean(),
    agents: fc.uniqueArray(
      fc.record({
        id: fc.constantFrom(...IDS),
        allowAgents: allowList,
        requireAgentId: fc.option(fc.boolean(), { nil: undefined }),
      }),
      { selector: ({ id }) => id, maxLength: 4 },
    ),
  })
  .map(({ defaults, requireAgentId, agents }) =>
    defaultConfig({
      agents: {
        defaults: { subagents: { allowAgents: defaults, requireAgentId } },
        list: agents.map(({ id, ...subagents }) => ({ id, subagents })),
      },
    }),
  );

test('[AL1] under any configuration the ids that are listed are exactly those that are accepted', () => {
  const named = fc.constantFrom(...IDS, 'Main', ' sec ', 'other');
  fc.assert(
    fc.property(anyConfig, fc.constantFrom(...IDS), named, (config, requester, wanted) => {
      const targets = spawnTargets(config, requester);
      const agentId = normaliseAgentId(wanted);
      const answer = spawnRefusal({
        ...SOUND,
        args: { task: 't', agentId: wanted },
        requester: { ...SOUND.requester, agentId: requester },
        targets,
        agentId,
        agent: targets.ids.includes(agentId) ? findAgent(config, agentId) : undefined,
      });
      assert.equal(answer === undefined, targets.ids.includes(agentId));
      if (targets.ids.length > 0) assert.equal(targets.ids[0], requester, 'itself first');
    }),
  );
});

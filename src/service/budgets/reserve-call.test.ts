import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createSessionWorld, type SessionWorld } from '../../../test/helpers/session-world.ts';
import type { WriteTx } from '../../store/store.ts';
import {
  dropHolds,
  reserveCall,
  resumeUnderBudget,
  settleCall,
  startUnderBudget,
} from './reserve-call.ts';

const ROOT = 'agent:main:main';
const CHILDREN = ['agent:main:subagent:1', 'agent:main:subagent:2'];
const KEYS = [ROOT, ...CHILDREN];

async function makeTree(t: Parameters<typeof createSessionWorld>[0]): Promise<SessionWorld> {
  const world = createSessionWorld(t, { agents: { defaults: { budget: { tokens: 1_000_000 } } } });
  await world.add({ key: ROOT, rootKey: ROOT });
  for (const key of CHILDREN) await world.add({ key, spawnedBy: ROOT, totalTokens: 300 });
  return world;
}

/** One step of a run, as the units of a run make it. */
function stepOf(
  world: SessionWorld,
  { key, does, runId }: { key: string; does: string; runId: string },
) {
  return async (tx: WriteTx): Promise<void> => {
    const session = await tx.sessions.get(key);
    assert.ok(session);
    const of = { run: { runId, optionsJson: null }, session };
    if (does === 'start') await startUnderBudget(tx, world.context, of);
    if (does === 'resume asking')
      await resumeUnderBudget(tx, world.context, { ...of, isAsking: true });
    if (does === 'resume in tools')
      await resumeUnderBudget(tx, world.context, { ...of, isAsking: false });
    if (does === 'reserve')
      await reserveCall(tx, world.context, { ...of, need: { tokens: 500, usd: 1 } });
    if (does === 'settle')
      await settleCall(tx, runId, { used: { tokens: 400, usd: 1 }, isEnd: false });
    if (does === 'end')
      await settleCall(tx, runId, { used: { tokens: null, usd: null }, isEnd: true });
    if (does === 'lose') await dropHolds(tx, runId);
  };
}

test('[BU7] whatever runs do, also after a crash, what is reserved is what they hold, and the end leaves nothing', async (t) => {
  const anyStep = fc.record({
    key: fc.constantFrom(...KEYS),
    does: fc.constantFrom('resume asking', 'resume in tools', 'reserve', 'settle', 'end', 'lose'),
    isRolledBack: fc.boolean(),
  });
  const world = await makeTree(t);
  const { store } = world.context;
  let round = 0;
  const assertSound = async (): Promise<void> =>
    store.read(async (tx) => {
      const holds = await Promise.all(KEYS.map((key) => tx.budgets.holdsOf(`${round} ${key}`)));
      const held = holds.flat().reduce((sum, { tokens }) => sum + tokens, 0);
      const root = await tx.budgets.get(ROOT);
      assert.equal(root?.reservedTokens, held);
      assert.equal(root?.going, holds.filter((each) => each.length > 0).length);
      assert.equal(root?.countedTo === null, root?.going === 0);
    });
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { maxLength: 20 }), async (steps) => {
      round += 1;
      const runIdOf = (key: string): string => `${round} ${key}`;
      const going = new Set(KEYS);
      for (const key of KEYS)
        await store.write('start', stepOf(world, { key, does: 'start', runId: runIdOf(key) }));
      for (const { key, does, isRolledBack } of steps) {
        if (!going.has(key)) continue;
        const step = stepOf(world, { key, does, runId: runIdOf(key) });
        if (isRolledBack) {
          const failing = async (tx: WriteTx) => {
            await step(tx);
            throw new Error('no');
          };
          await assert.rejects(store.write('fails', failing));
        } else {
          await store.write('step', step);
          if (does === 'end' || does === 'lose') going.delete(key);
        }
        await assertSound();
      }
      for (const key of going)
        await store.write('end', stepOf(world, { key, does: 'end', runId: runIdOf(key) }));
      await assertSound();
      const root = await store.read((tx) => tx.budgets.get(ROOT));
      assert.equal(root?.reservedTokens, 0);
    }),
    { numRuns: 40 },
  );
});

test('[BU7, BU8] a thousand children of one tree spend what they use, the rest is never below 0, and time in which nobody played them is none', async (t) => {
  const limit = 300_000;
  const world = createSessionWorld(t, { agents: { defaults: { budget: { tokens: limit } } } });
  const { store } = world.context;
  await world.add({ key: ROOT, rootKey: ROOT });
  const keys = Array.from({ length: 1000 }, (_, n) => `agent:main:subagent:${n}`);
  await world.add(...keys.map((key) => ({ key, spawnedBy: ROOT, totalTokens: 300 })));
  const all = async (does: string, of: readonly string[]): Promise<void> => {
    for (let from = 0; from < of.length; from += 100)
      await store.write(does, async (tx) => {
        for (const key of of.slice(from, from + 100))
          await stepOf(world, { key, does, runId: key })(tx);
      });
  };
  await all('start', keys);
  assert.equal((await store.read((tx) => tx.budgets.get(ROOT)))?.reservedTokens, limit);
  world.time.now += 3_600_000;
  await all('resume in tools', keys.slice(0, 2));
  world.time.now += 2000;
  await all('settle', keys.slice(2));
  await all('end', keys);
  const end = await store.read((tx) => tx.budgets.get(ROOT));
  assert.deepEqual(
    {
      tokens: end?.spentTokens,
      runs: end?.spentRuns,
      ms: end?.spentMs,
      reserved: end?.reservedTokens,
      going: end?.going,
    },
    { tokens: 2 * 300 + 998 * 400, runs: 1000, ms: 2000, reserved: 0, going: 0 },
  );
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { addUsage, noUsage, usageOfCall } from '../../core/usage-sum.ts';
import { createSessionWorld, type SessionWorld } from '../../../test/helpers/session-world.ts';
import { costNanosOf } from '../../core/money.ts';
import type { ModelCallRow } from '../../store/usage-repository.ts';
import { session } from '../../store/contract/samples.suite.ts';
import type { UsageAnswer, UsageBy, UsageTotals } from '../../protocol/answers/usage-answers.ts';
import { readUsage } from './read-usage.ts';
import { toTotals } from './usage-sums.ts';

const DAY = 86_400_000;
/** root, its child, the child's child; and another root */
const KEYS = ['agent:a:main', 'agent:a:subagent:1', 'agent:b:subagent:2', 'agent:b:main'] as const;
const ROOTS = [KEYS[0], KEYS[0], KEYS[0], KEYS[3]] as const;
const PRICES = { input: 0.1, output: 0.7, cacheRead: 0.0375, cacheWrite: 0 };

interface Booked {
  at: number;
  place: number;
  run: number;
  model: string;
  tokens: number;
  kind: 'priced' | 'unpriced' | 'unknown';
}
const anyBooked: fc.Arbitrary<Booked> = fc.record({
  at: fc.integer({ min: 0, max: 4 * DAY }),
  place: fc.integer({ min: 0, max: KEYS.length - 1 }),
  run: fc.integer({ min: 0, max: 3 }),
  model: fc.constantFrom('m/1', 'm/2', 'n/1'),
  tokens: fc.integer({ min: 0, max: 1_000_000 }),
  kind: fc.constantFrom('priced', 'priced', 'unpriced', 'unknown'),
});

function toCall({ at, place, run, model, tokens, kind }: Booked): Omit<ModelCallRow, 'position'> {
  const used = kind === 'unknown' ? 0 : tokens;
  const counts = { input: used, output: used % 97, cacheRead: used % 31, cacheWrite: used % 7 };
  return {
    runId: `run ${place} ${run}`,
    attempt: 1,
    model,
    outcome: 'ok',
    usageKnown: kind !== 'unknown',
    inputTokens: counts.input,
    outputTokens: counts.output,
    cacheReadTokens: counts.cacheRead,
    cacheWriteTokens: counts.cacheWrite,
    costNanos: kind === 'priced' ? costNanosOf(PRICES, counts) : null,
    at,
  };
}

async function addTree({ context }: SessionWorld): Promise<void> {
  await context.store.write('add', async (tx) => {
    for (const [at, key] of KEYS.entries()) {
      const isChild = ROOTS[at] !== key;
      const lineage = isChild ? { spawnedBy: KEYS[at - 1] ?? null, spawnDepth: at } : {};
      const agentId = key.split(':')[1] ?? '';
      await tx.sessions.insert(
        session(key, { ...lineage, agentId, rootKey: ROOTS[at] ?? key, sessionId: `w${at}` }),
      );
    }
  });
}

async function book(world: SessionWorld, calls: readonly Booked[]): Promise<void> {
  await world.context.store.write('book', async (tx) => {
    for (const call of calls) {
      const sessionKey = KEYS[call.place] ?? '';
      const agentId = sessionKey.split(':')[1] ?? '';
      const rootKey = ROOTS[call.place] ?? '';
      await tx.usage.book(toCall(call), { sessionKey, agentId, rootKey });
    }
  });
}

const ALL = { since: '1970-01-01', until: '1970-01-31' } as const;

/** Follows the pages to their end. */
async function everyGroup(world: SessionWorld, query: object, by: UsageBy): Promise<UsageAnswer> {
  const groups: NonNullable<UsageAnswer['groups']> = [];
  let last: UsageAnswer = {};
  for (let cursor: string | undefined; ; cursor = last.nextCursor) {
    const page = cursor === undefined ? {} : { cursor };
    last = await readUsage(world.context, { ...ALL, ...query, by, limit: 2, ...page });
    groups.push(...(last.groups ?? []));
    if (last.hasMore !== true) return { ...last, groups };
  }
}

function sumOf(parts: readonly UsageTotals[]) {
  const sum = { calls: 0, unknownCalls: 0, unpricedCalls: 0, totalTokens: 0, nanos: 0 };
  for (const part of parts) {
    sum.calls += part.calls;
    sum.unknownCalls += part.unknownCalls;
    sum.unpricedCalls += part.unpricedCalls;
    sum.totalTokens += part.totalTokens;
    sum.nanos += Math.round((part.costUsd ?? 0) * 1e9);
  }
  return sum;
}

test('[US13] over runs, sessions, trees, agents, models and days the sums are the same', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyBooked, { maxLength: 60, size: 'max' }), async (calls) => {
      const world = createSessionWorld(t, { agents: { list: [{ id: 'a' }, { id: 'b' }] } });
      await addTree(world);
      await book(world, calls);
      const expected = noUsage();
      for (const call of calls) addUsage(expected, usageOfCall(toCall(call)));
      const whole = sumOf([toTotals(expected)]);

      const runIds = [...new Set(calls.map((call) => toCall(call).runId))];
      const ofRuns = await world.context.store.read((tx) =>
        Promise.all(runIds.map((runId) => tx.usage.callsOf(runId))),
      );
      assert.deepEqual(sumOf(ofRuns.flat().map((call) => toTotals(usageOfCall(call)))), whole);
      for (const by of ['session', 'agent', 'model', 'day'] as const) {
        const { groups } = await everyGroup(world, {}, by);
        assert.deepEqual(sumOf(groups ?? []), whole, by);
        const keys = (groups ?? []).map(({ key }) => key);
        assert.deepEqual(keys, [...new Set(keys)].toSorted(), `${by}: each once, in order`);
      }
      const totalOf = async (query: object): Promise<UsageTotals> => {
        const { total } = await readUsage(world.context, { ...ALL, ...query });
        assert.ok(total);
        return total;
      };
      assert.deepEqual(sumOf([await totalOf({})]), whole);
      const trees = [KEYS[0], KEYS[3]].map((sessionKey) => totalOf({ sessionKey, tree: true }));
      assert.deepEqual(sumOf(await Promise.all(trees)), whole, 'trees');
      const own = KEYS.map((sessionKey) => totalOf({ sessionKey }));
      assert.deepEqual(sumOf(await Promise.all(own)), whole, 'sessions');
      const below = await totalOf({ sessionKey: KEYS[1], tree: true });
      const parts = await Promise.all(
        [KEYS[1], KEYS[2]].map((sessionKey) => totalOf({ sessionKey })),
      );
      assert.deepEqual(sumOf([below]), sumOf(parts), 'a part of a tree');
    }),
    { numRuns: 12 },
  );
});

test('[US14] only the days that are asked for count, each with all of its hours', async (t) => {
  const world = createSessionWorld(t, { agents: { list: [{ id: 'a' }, { id: 'b' }] } });
  await addTree(world);
  const one = { place: 0, run: 0, model: 'm/1', tokens: 10, kind: 'priced' } as const;
  await book(
    world,
    [DAY - 1, DAY, 2 * DAY - 1, 2 * DAY, 3 * DAY].map((at) => ({ ...one, at })),
  );
  const days = { since: '1970-01-02', until: '1970-01-03' };
  for (const query of [{}, { sessionKey: KEYS[0] }, { sessionKey: KEYS[0], tree: true }]) {
    const { total } = await readUsage(world.context, { ...query, ...days });
    assert.equal(total?.calls, 3, JSON.stringify(query));
    const byDay = await readUsage(world.context, { ...query, ...days, by: 'day' });
    assert.deepEqual(
      byDay.groups?.map(({ key, calls }) => [key, calls]),
      [
        ['1970-01-02', 2],
        ['1970-01-03', 1],
      ],
    );
    const bySession = await readUsage(world.context, { ...query, ...days, by: 'session' });
    assert.deepEqual(
      bySession.groups?.map(({ calls }) => calls),
      [3],
    );
  }
});

test('[US2] thousands of runs add up exactly', async (t) => {
  const world = createSessionWorld(t, { agents: { list: [{ id: 'a' }, { id: 'b' }] } });
  await addTree(world);
  const RUNS = 5_000;
  const UNIT = 1_000;
  const call = { place: 0, run: 0, model: 'm/1', tokens: 333, kind: 'priced' } as const;
  for (let done = 0; done < RUNS; done += UNIT) {
    await world.context.store.write('book', async (tx) => {
      for (let at = done; at < done + UNIT; at += 1) {
        const place = at % KEYS.length;
        const sessionKey = KEYS[place] ?? '';
        const of = { sessionKey, agentId: 'a', rootKey: ROOTS[place] ?? '' };
        await tx.usage.book({ ...toCall({ ...call, at: DAY, place }), runId: `run ${at}` }, of);
      }
    });
  }
  const { total } = await readUsage(world.context, ALL);
  // 333 in, 42 out, 23 from the cache: 33.3 and 29.4 and 0.8625 millionths of a dollar, to the nano
  assert.deepEqual([total?.calls, total?.costUsd], [RUNS, 0.317_815]);
});

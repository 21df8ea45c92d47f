/** What is booked of model calls, whatever becomes of them, and what is told of it. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { acceptRun } from '../src/service/runs/accept-run.ts';
import type { UsageAnswer, UsageTotals } from '../src/protocol/answers/usage-answers.ts';
import { session } from '../src/store/contract/samples.suite.ts';
import type { ModelCallRow } from '../src/store/usage-repository.ts';
import { openSqliteStore } from '../src/store/sqlite/open-sqlite-store.ts';
import { systemClock } from '../src/util/clock.ts';
import { silentLogger } from '../src/util/logger.ts';
import { runCli } from './helpers/captured-io.ts';
import { call, startWorld, type TestWorld, type WorldOptions } from './helpers/test-world.ts';

const A = 'agent:a:main';
const B = 'agent:b:main';
const PRICES = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };
const ANTHROPIC = { api: 'anthropic-messages', path: '' };
const USED = { input: 1000, output: 200, cacheRead: 10_000, cacheWrite: 500 };
const COST = 0.010_875;

/** `fake-1` has prices, `fake-2` has none, `fake-3` has some. */
function priced(options: WorldOptions = {}): WorldOptions {
  const models = [
    { id: 'fake-1', cost: PRICES },
    { id: 'fake-2' },
    { id: 'fake-3', cost: { output: 10 } },
  ];
  return { ...options, config: { ...options.config, models: { providers: { fake: { models } } } } };
}

const usage = (world: TestWorld, query: Record<string, unknown> = {}): Promise<UsageAnswer> =>
  world.client.request<UsageAnswer>('usage', query);
const totalOf = async (world: TestWorld, query: Record<string, unknown>): Promise<UsageTotals> => {
  const { total } = await usage(world, query);
  assert.ok(total);
  return total;
};
const callsOf = async (world: TestWorld, runId: unknown) =>
  (await world.store.read((tx) => tx.usage.callsOf(String(runId)))).map(
    ({ outcome, usageKnown, inputTokens, costNanos, model }: ModelCallRow) => ({
      outcome,
      usageKnown,
      inputTokens,
      costNanos,
      model,
    }),
  );

for (const provider of [undefined, ANTHROPIC]) {
  test(`[US5] tokens of the cache count apart, at their own price (${provider?.api ?? 'openai-completions'})`, async (t) => {
    const world = await startWorld(t, priced(provider === undefined ? {} : { provider }));
    world.model.usage = USED;
    const { runId } = await world.say(A, 'SAY: hi');
    assert.deepEqual(await totalOf(world, { runId }), {
      calls: 1,
      unknownCalls: 0,
      unpricedCalls: 0,
      inputTokens: 1000,
      outputTokens: 200,
      cacheReadTokens: 10_000,
      cacheWriteTokens: 500,
      totalTokens: 11_700,
      costUsd: COST,
      priced: true,
    });
    const run = await world.store.read((tx) => tx.runs.get(String(runId)));
    assert.equal(run?.costUsd, COST, 'as the announce tells it');
  });
}

test('[US5] each call of a turn counts, and a price that is missing is 0', async (t) => {
  const world = await startWorld(t, priced());
  world.model.usage = USED;
  await world.say(A, 'SAY: first');
  await world.client.request('sessions.patch', { key: A, model: 'fake/fake-3' });
  const { runId } = await world.say(A, `${call('sessions_list', {})}\nSAY: done`);
  const total = await totalOf(world, { runId });
  assert.deepEqual([total.calls, total.outputTokens, total.costUsd], [2, 400, 0.004]);
});

test('[US6] a call that failed before it produced anything is free, and one that was charged for counts', async (t) => {
  const world = await startWorld(t, priced({ provider: ANTHROPIC }));
  world.model.usage = USED;
  world.model.failNext({ kind: 'status', status: 500 });
  world.model.failNext({ kind: 'charge', usage: { input: 700, output: 0 } });
  const { runId } = await world.say(A, 'SAY: hi');
  assert.deepEqual(await callsOf(world, runId), [
    {
      outcome: 'error',
      usageKnown: true,
      inputTokens: 700,
      costNanos: 2_100_000,
      model: 'fake/fake-1',
    },
    {
      outcome: 'ok',
      usageKnown: true,
      inputTokens: 1000,
      costNanos: 10_875_000,
      model: 'fake/fake-1',
    },
  ]);
  assert.equal((await totalOf(world, { runId })).costUsd, 0.012_975);
  world.model.failNext({ kind: 'status', status: 400 });
  const failed = await world.say(A, 'SAY: hi');
  assert.equal(failed['outcome'], 'error');
  const nothing = await totalOf(world, { runId: failed['runId'] });
  assert.deepEqual([nothing.calls, nothing.costUsd, nothing.priced], [0, 0, true]);
});

test('[US7] a call that was cut short counts what it had said it used, else it is unknown', async (t) => {
  for (const [failure, wanted] of [
    [
      { kind: 'stall', text: 'I think', usage: { input: 900, output: 0 } },
      { usageKnown: true, inputTokens: 900, costNanos: 2_700_000 },
    ],
    [
      { kind: 'stall', text: 'I think' },
      { usageKnown: false, inputTokens: 0, costNanos: null },
    ],
    [{ kind: 'hang' }, { usageKnown: false, inputTokens: 0, costNanos: null }],
  ] as const) {
    const world = await startWorld(t, priced({ provider: ANTHROPIC }));
    world.model.failNext(failure);
    const isShown = shown(world, 'I think');
    const sent = await world.client.request('chat.send', {
      sessionKey: A,
      message: 'SAY: hi',
      idempotencyKey: 'k',
    });
    await world.model.requestCount(1);
    const { runId } = sent;
    if (failure.kind === 'stall') await isShown;
    await world.client.request('runs.stop', { runId });
    await world.client.request('agent.wait', { runId });
    const [booked] = await callsOf(world, runId);
    assert.equal(booked?.model, 'fake/fake-1');
    assert.deepEqual(
      {
        usageKnown: booked?.usageKnown,
        inputTokens: booked?.inputTokens,
        costNanos: booked?.costNanos,
      },
      wanted,
    );
    const total = await totalOf(world, { runId });
    assert.equal(total.costUsd, wanted.usageKnown ? 0.0027 : null);
    assert.equal(total.unknownCalls, wanted.usageKnown ? 0 : 1);
  }
});

/** Resolves when text of a run has been shown. */
function shown(world: TestWorld, text: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  world.client.on((event) => {
    if (JSON.stringify(event).includes(text)) resolve();
  });
  return promise;
}

test('[US8] a model without prices has no cost, and a sum says what it leaves out', async (t) => {
  const world = await startWorld(t, priced());
  world.model.usage = USED;
  await world.say(A, 'SAY: one');
  await world.say(B, 'SAY: one');
  await world.client.request('sessions.patch', { key: B, model: 'fake/fake-2' });
  const { runId } = await world.say(B, 'SAY: two');
  const alone = await totalOf(world, { runId });
  assert.deepEqual([alone.costUsd, alone.priced, alone.unpricedCalls], [null, false, 1]);
  const run = await world.store.read((tx) => tx.runs.get(String(runId)));
  assert.equal(run?.costUsd, null);
  const byModel = await usage(world, { by: 'model' });
  assert.deepEqual(
    byModel.groups?.map(({ key, calls, costUsd, priced: isPriced }) => [
      key,
      calls,
      costUsd,
      isPriced,
    ]),
    [
      ['fake/fake-1', 2, 2 * COST, true],
      ['fake/fake-2', 1, null, false],
    ],
  );
  const { costUsd, priced: isPriced, unpricedCalls } = byModel.total ?? alone;
  assert.deepEqual([costUsd, isPriced, unpricedCalls], [2 * COST, false, 1]);
});

test('[US8] a model that reports nothing is counted as unknown', async (t) => {
  const world = await startWorld(t, priced());
  world.model.reportsUsage = false;
  const { runId } = await world.say(A, 'SAY: hi');
  const total = await totalOf(world, { runId });
  assert.deepEqual([total.calls, total.unknownCalls, total.costUsd], [1, 1, null]);
});

test('[US9] messages that share a turn are counted once, in the run that took them in', async (t) => {
  const config = { messages: { queue: { mode: 'collect', debounceMs: 0 } } };
  const world = await startWorld(t, priced({ config }));
  world.model.usage = USED;
  const held = world.model.hold('SAY: busy');
  const first = world.say(A, 'SAY: busy');
  await held.arrived();
  const others = [world.say(A, 'SAY: one'), world.say(A, 'SAY: two')];
  await queued(world, 2);
  held.release();
  await first;
  const ended = await Promise.all(others);
  const merged = ended.find(({ mergedInto }) => mergedInto !== undefined);
  assert.ok(merged, 'they shared a turn');
  const answer = await usage(world, { runId: merged['runId'] });
  assert.deepEqual([answer.mergedInto, answer.total?.calls], [merged['mergedInto'], 0]);
  assert.equal((await totalOf(world, { runId: merged['mergedInto'] })).calls, 1);
  assert.equal((await totalOf(world, { sessionKey: A })).costUsd, 2 * COST);
});

async function queued({ store }: TestWorld, count: number): Promise<void> {
  for (;;) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const stop = store.onSignal(() => resolve());
    const { queued: waiting = 0 } = await store.read((tx) => tx.runs.countByState());
    if (waiting < count) await promise;
    stop();
    if (waiting >= count) return;
  }
}

test('[US10] a call whose answer died with the process is unknown, and the run goes on and counts the next one', async (t) => {
  const runId = 'interrupted';
  const prepare = async (stateDir: string): Promise<void> => {
    const path = join(stateDir, 'trunkline.db');
    const store = openSqliteStore({ path, clock: systemClock, logger: silentLogger });
    await store.write('accept', async (tx) => {
      await tx.sessions.insert(session(A, { agentId: 'a', sessionId: 'w1' }));
      await acceptRun(tx, {
        runId,
        sessionKey: A,
        kind: 'message',
        text: 'SAY: hi',
        purpose: 'message',
        runClass: 'main',
        rootRunId: runId,
        hops: 0,
        timeoutMs: 0,
      });
    });
    await store.write('claim', async (tx) => {
      const lane = await tx.lanes.claimNext({ runClass: 'main', owner: 'dead' });
      const fence = { sessionKey: A, owner: 'dead', epoch: lane?.epoch ?? 0 };
      await tx.runs.update(runId, { state: 'running', sessionId: 'w1', startedAt: tx.now });
      await tx.inputs.markAppended(runId, runId, tx.now);
      const message = { role: 'user', content: 'SAY: hi', timestamp: 1 };
      await tx.entries.append({
        sessionId: 'w1',
        entryId: 'e1',
        type: 'message',
        role: 'user',
        runId,
        json: JSON.stringify(message),
        createdAt: tx.now,
      });
      await tx.lanes.setCurrent(fence, runId, 'running');
    });
    await store.close();
  };
  const world = await startWorld(t, priced({ prepare }));
  world.model.usage = USED;
  const ended = await world.client.request('agent.wait', { runId, timeoutMs: 20_000 });
  assert.equal(ended['reply'], 'hi');
  const calls = await callsOf(world, runId);
  assert.deepEqual(
    calls.map(({ outcome, usageKnown, model }) => [outcome, usageKnown, model]),
    [
      ['unknown', false, 'fake/fake-1'],
      ['ok', true, 'fake/fake-1'],
    ],
  );
  const total = await totalOf(world, { runId });
  assert.equal(total.unknownCalls, 1);
  assert.ok(total.costUsd !== null && total.costUsd > 0, 'what is known is told');
});

test('[US11] a tree is a session and all that it spawned', async (t) => {
  const world = await startWorld(t, priced());
  world.model.usage = USED;
  await world.say(A, `${call('sessions_spawn', { task: 'SAY: done' })}\nSAY: spawned`);
  await world.quiet();
  const child = String((await world.toolAnswers(A))[0]?.['childSessionKey']);
  const [own, below, tree] = [
    await totalOf(world, { sessionKey: A }),
    await totalOf(world, { sessionKey: child }),
    await totalOf(world, { sessionKey: A, tree: true }),
  ];
  assert.equal(own.calls, 2);
  assert.ok(below.calls >= 1);
  assert.equal(tree.calls, own.calls + below.calls);
  assert.equal(tree.costUsd, tree.calls * COST);
  const part = await usage(world, { sessionKey: child, tree: true, by: 'session' });
  assert.deepEqual(
    part.groups?.map(({ key, calls }) => [key, calls]),
    [[child, below.calls]],
  );
});

test('[US12] what cannot be meant is refused by name, and the days in effect are said', async (t) => {
  const world = await startWorld(t, priced());
  const refused = (query: Record<string, unknown>, why: RegExp) =>
    assert.rejects(usage(world, query), why);
  await refused({ tree: true }, /usage: tree: needs sessionKey/);
  await refused(
    { runId: 'r', sessionKey: A },
    /usage: runId: goes together with by: "model" alone/,
  );
  await refused({ runId: 'r', by: 'day' }, /usage: runId: goes together/);
  await refused({ since: 'yesterday' }, /usage: since: must be a day of UTC, YYYY-MM-DD/);
  await refused({ since: '2026-02-30' }, /usage: since: no such day/);
  await refused({ since: '2026-02-02', until: '2026-02-01' }, /since: 2026-02-02 is after until/);
  await refused({ cursor: 'x' }, /usage: cursor: needs by/);
  await refused({ by: 'model', cursor: 'x' }, /usage: cursor: not a cursor/);
  await refused({ runId: 'nothing' }, /nothing/);
  await refused({ sessionKey: 'agent:a:nobody' }, /not found/);
  const today = await usage(world, { until: '2026-03-31' });
  assert.deepEqual([today.since, today.until], ['2026-03-02', '2026-03-31']);
});

test('[US12] the command line shows a table, with what is not known marked', async (t) => {
  const world = await startWorld(t, priced());
  world.model.usage = USED;
  await world.say(A, 'SAY: one');
  await world.say(B, 'SAY: one');
  await world.client.request('sessions.patch', { key: B, model: 'fake/fake-2' });
  const { runId } = await world.say(B, 'SAY: two');
  const at = ['--url', world.gateway.url, '--token', world.gateway.token ?? ''];
  const { out } = await runCli(['usage', '--by', 'session', ...at]);
  assert.deepEqual(
    out.split('\n').map((line) => line.replaceAll(/ {2,}/g, ' | ')),
    [
      'OF | CALLS | INPUT | OUTPUT | CACHE READ | CACHE WRITE | TOTAL | COST | UNPRICED',
      `${A} | 1 | 1000 | 200 | 10000 | 500 | 11700 | $0.01`,
      `${B} | 2 | 2000 | 400 | 20000 | 1000 | 23400 | ≥ $0.01 | 1`,
      'total | 3 | 3000 | 600 | 30000 | 1500 | 35100 | ≥ $0.02 | 1',
    ],
  );
  const run = await runCli(['usage', '--run', String(runId), ...at]);
  assert.match(run.out, /fake\/fake-2 +1 +1000 +200 +10000 +500 +11700 +– +1/);
  const json = await runCli(['usage', '--session', A, '--json', ...at]);
  assert.equal(JSON.parse(json.out).total.costUsd, COST);
  const none = await runCli(['usage', '--session', A, ...at]);
  assert.doesNotMatch(none.out, /budget/);
  const page = await runCli(['usage', '--by', 'session', '--limit', '1', ...at]);
  assert.match(page.notes, /^more: --cursor /);
  assert.doesNotMatch(page.out, /total/);
});

test('[US15, AR12] a purge takes the calls of a session; what it spent stays in every sum, and is found by its key', async (t) => {
  const world = await startWorld(t, priced());
  const group = 'agent:a:telegram:group:g1';
  world.model.usage = USED;
  await world.say(A, 'SAY: hi');
  const message = `${call('sessions_list', {})}\nSAY: done`;
  const params = { sessionKey: group, message, idempotencyKey: 'keyed' };
  const { runId } = await world.client.request('chat.send', params);
  await world.client.request('agent.wait', { runId, timeoutMs: 20_000 });
  await world.quiet();
  const told = () =>
    Promise.all([
      usage(world),
      usage(world, { by: 'session' }),
      usage(world, { by: 'agent' }),
      usage(world, { by: 'day' }),
      usage(world, { sessionKey: group }),
      usage(world, { sessionKey: group, tree: true }),
    ]);
  const before = await told();
  assert.equal(before[0]?.total?.calls, 3);
  await world.client.request('sessions.delete', { key: group, deleteTranscript: true });
  await world.quiet();
  await assert.rejects(world.history(group), /not found/);
  assert.deepEqual(await callsOf(world, runId), []);
  assert.deepEqual(await told(), before);
  const kept = await totalOf(world, { runId });
  assert.deepEqual(
    [kept.inputTokens, kept.costUsd],
    [2000, 2 * COST],
    'the run is kept for its key',
  );
  await assert.rejects(usage(world, { sessionKey: 'agent:a:telegram:group:g2' }), /not found/);
  await world.say(group, 'SAY: again');
  assert.equal((await totalOf(world, { sessionKey: group })).calls, 3, 'a key that is used again');
});

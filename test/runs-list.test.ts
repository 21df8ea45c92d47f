import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { GatewayError } from '../src/protocol/errors.ts';
import { runCli } from './helpers/captured-io.ts';
import { call, startWorld, type TestWorld } from './helpers/test-world.ts';

type Json = Record<string, unknown>;
const A = 'agent:a:main';
const B = 'agent:b:main';

const list = (world: TestWorld, query: Json) =>
  world.client.request<{ runs: Json[]; hasMore: boolean; nextCursor?: string }>('runs.list', query);

/** Follows the cursor to the end and returns the runIds. */
async function everyRun(world: TestWorld, query: Json): Promise<unknown[]> {
  const runIds: unknown[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await list(world, { ...query, ...(cursor === undefined ? {} : { cursor }) });
    runIds.push(...page.runs.map(({ runId }) => runId));
    if (!page.hasMore) return runIds;
    cursor = page.nextCursor;
  }
}

test('[RL2] `runs.get` says where a run is and how it ended, in the words of `agent.wait`', async (t) => {
  const world = await startWorld(t);
  const held = world.model.hold('Your session is agent:b:main.');
  const params = { sessionKey: B, message: 'SAY: hello', idempotencyKey: 'k' };
  const { runId } = await world.client.request('chat.send', params);
  await held.arrived();
  const get = () => world.client.request('runs.get', { runId });
  const going = await get();
  assert.deepEqual([going['messageState'], going['outcome']], ['running', undefined]);
  held.release();
  const answer = await world.client.request('agent.wait', { runId, timeoutMs: 20_000 });
  const { status: _, ...words } = answer;
  const { acceptedAt, model, ...run } = await get();
  assert.deepEqual(run, {
    ...words,
    purpose: 'message',
    runClass: 'main',
    rootRunId: runId,
    hops: 0,
  });
  assert.deepEqual([typeof acceptedAt, model], ['number', 'fake/fake-1']);
  const unknown = world.client.request('runs.get', { runId: randomUUID() });
  await assert.rejects(unknown, { code: 'not_found' });
});

test('[RL3] `runs.list` shows each run once, the newest first, of a session, in a state, or all', async (t) => {
  const world = await startWorld(t);
  for (let count = 0; count < 3; count += 1) {
    await world.say(A, `${call('sessions_send', { sessionKey: B, message: 'SAY: x' })}\nSAY: y`);
    await world.say(B, count === 1 ? 'FAIL: 400 bad' : 'SAY: z');
  }
  await world.quiet();
  const all = await list(world, { limit: 200 });
  const times = all.runs.map(({ acceptedAt }) => Number(acceptedAt));
  assert.deepEqual(
    times,
    times.toSorted((a, b) => b - a),
  );
  const ids = all.runs.map(({ runId }) => runId);
  assert.deepEqual(await everyRun(world, { limit: 2 }), ids);
  const of = (match: (run: Json) => boolean) =>
    new Set(all.runs.filter(match).map(({ runId }) => runId));
  const cases: [Json, (run: Json) => boolean][] = [
    [{ sessionKey: B }, (run) => run['sessionKey'] === B],
    [{ state: 'error' }, (run) => run['outcome'] === 'error'],
    [{ sessionKey: B, state: 'ok' }, (run) => run['sessionKey'] === B && run['outcome'] === 'ok'],
  ];
  for (const [query, match] of cases) {
    const listed = await everyRun(world, { ...query, limit: 2 });
    assert.deepEqual(new Set(listed), of(match), JSON.stringify(query));
    assert.equal(listed.length, of(match).size);
  }
  assert.deepEqual((await list(world, { state: 'waiting' })).runs, []);
});

test('[RL3] what is no session, state or cursor of this list is an error that says so', async (t) => {
  const world = await startWorld(t);
  await world.say(A, 'SAY: 1');
  await world.say(A, 'SAY: 2');
  const { nextCursor } = await list(world, { sessionKey: A, limit: 1 });
  for (const [query, code, text] of [
    [{ sessionKey: 'agent:a:nope' }, 'not_found', /not found/],
    [{ state: 'asleep' }, 'invalid_request', /state/],
    [{ cursor: 'x' }, 'invalid_request', /cursor/],
    [{ cursor: nextCursor }, 'invalid_request', /belongs to another list/],
  ] as const)
    await assert.rejects(list(world, query), (error: GatewayError) => {
      assert.equal(error.code, code);
      assert.match(error.message, text);
      return true;
    });
});

test('[RL4] `trunkline runs` lists, shows, waits for and stops runs', async (t) => {
  const world = await startWorld(t);
  const { runId } = await world.say(B, 'SAY: hello');
  const held = world.model.hold('Your session is agent:a:main.');
  const params = { sessionKey: A, message: 'SAY: never', idempotencyKey: 'k' };
  const going = String((await world.client.request('chat.send', params))['runId']);
  await held.arrived();
  const cli = (...args: string[]) =>
    runCli(['runs', ...args, '--url', world.gateway.url, '--token', world.gateway.token ?? '']);

  const listed = await cli('list', '--session', B);
  assert.match(listed.out, new RegExp(`${String(runId)} +agent:b:main +ok +message`));
  const shown = await cli('get', String(runId));
  assert.match(shown.out, /messageState +done\n[\s\S]*\n\nhello/);
  const waited = await cli('wait', String(runId), going, '--timeout', '0');
  assert.equal(waited.exitCode, 3);
  assert.match(waited.out, /ok agent:b:main\n {2}hello/);
  assert.match(waited.notes, /is still running in agent:a:main/);
  const stopped = await cli('stop', going);
  assert.deepEqual([stopped.exitCode, stopped.out.trim()], [0, `stopped: ${A}`]);
  const ended = await cli('wait', going);
  assert.deepEqual([ended.exitCode, /aborted/.test(ended.out)], [1, true]);
  held.release();
  const session = await world.store.read((tx) => tx.sessions.get(A));
  const again = await cli('stop', session?.sessionId ?? '');
  assert.match(again.notes, /nothing was running/);
  assert.equal((await cli('stop', randomUUID())).exitCode, 1);
});

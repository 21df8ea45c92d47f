/** Calls whose answer is fetched later, through the methods of the gateway. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { CallRead } from '../src/protocol/answers/call-answers.ts';
import { CALLS_MAX } from '../src/protocol/tools/tool-limits.ts';
import { startWorld, type WorldOptions } from './helpers/test-world.ts';

type Json = Record<string, unknown>;

const A = 'agent:a:main';
const B = 'agent:b:main';
const CLIENT = 'agent:a:mcp:harness';

/** A world with the session of a client, and that client's calls. */
async function start(t: TestContext, options: WorldOptions = {}) {
  const world = await startWorld(t, options);
  await world.client.request('sessions.create', { key: CLIENT });
  const ask = <Answer>(method: string, params: Json): Promise<Answer> =>
    world.client.request<Json>(method, {
      sessionKey: CLIENT,
      ...params,
    }) as Promise<unknown> as Promise<Answer>;
  const begin = async (tool: string, args: Json, more: Json = {}): Promise<CallRead> => {
    const started = await ask<{ call: CallRead }>('calls.start', { tool, args, ...more });
    assert.ok(started.call !== undefined, JSON.stringify(started));
    return started.call;
  };
  const read = (callId: string, more: Json = {}) => ask<CallRead>('calls.get', { callId, ...more });
  return { world, ask, begin, read };
}

const slowly = (reply: string, more: Json = {}): Json => ({
  sessionKey: B,
  message: `slow\nSAY: ${reply}`,
  timeoutSeconds: 600,
  ...more,
});

/** The answer without what no two calls have in common. */
function plain({ runId: _run, ...answer }: Json): Json {
  return answer;
}

test('[TK1] a message is sent at once, and its answer is that of the call itself', async (t) => {
  const { world, begin, read } = await start(t);
  const held = world.model.hold('slow');
  const call = await begin('sessions_send', slowly('late'));
  assert.deepEqual([call.state, call.tool, call.runIds.length], ['working', 'sessions_send', 1]);
  assert.equal(call.deadlineAt - call.createdAt, 600_000);
  assert.equal((await read(call.callId)).state, 'working');
  const waiting = read(call.callId, { timeoutMs: 20_000 });
  held.release();
  const over = await waiting;
  assert.equal(over.state, 'completed');
  const direct = await world.tool('sessions_send', { sessionKey: B, message: 'SAY: late' }, CLIENT);
  assert.deepEqual(plain(over.result as Json), plain(direct));
  assert.equal((over.result as Json)['runId'], call.runIds[0]);
});

test('[TK1] a wait for several runs is answered as sessions_wait is', async (t) => {
  const { world, begin, read } = await start(t);
  const runIds: unknown[] = [];
  const held = world.model.hold('slow');
  for (const reply of ['one', 'two']) {
    const sent = await world.tool('sessions_send', slowly(reply, { timeoutSeconds: 0 }), CLIENT);
    runIds.push(sent['runId']);
  }
  const any = await begin('sessions_wait', { runIds, mode: 'any', timeoutSeconds: 600 });
  const all = await begin('sessions_wait', { runIds, timeoutSeconds: 600 });
  assert.deepEqual([any.state, all.state], ['working', 'working']);
  held.release();
  const over = await read(all.callId, { timeoutMs: 20_000 });
  const direct = await world.tool('sessions_wait', { runIds }, CLIENT);
  assert.deepEqual(over.result, direct);
  const first = await read(any.callId, { timeoutMs: 20_000 });
  assert.equal((first.result as Json)['status'], 'ok');
  assert.equal((await begin('sessions_wait', { runIds })).state, 'completed');
});

test('[TK2] the same key is the same call, and sends once', async (t) => {
  const { world, begin } = await start(t);
  const idempotencyKey = 'job 1';
  const first = await begin('sessions_send', slowly('once'), { idempotencyKey });
  const again = await begin('sessions_send', slowly('once'), { idempotencyKey });
  const named = await begin('sessions_send', slowly('once', { idempotencyKey }));
  assert.deepEqual([again.callId, named.callId], [first.callId, first.callId]);
  await world.quiet();
  assert.equal(world.model.requests.length, 1);
  const other = await begin('sessions_send', slowly('once'), { idempotencyKey: 'job 2' });
  assert.notEqual(other.callId, first.callId);
});

test('[TK3] a wait that is over has its answer for good, whatever comes later', async (t) => {
  const { world, begin, read } = await start(t, { clock: 'movable' });
  const held = world.model.hold('slow');
  const call = await begin('sessions_send', slowly('late', { timeoutSeconds: 60 }));
  const waiting = read(call.callId, { timeoutMs: 500_000 });
  await world.passTime(60_001);
  assert.equal((await read(call.callId)).state, 'completed');
  held.release();
  await world.quiet();
  const over = await read(call.callId);
  const { status, messageState } = over.result as Json;
  assert.deepEqual([over.state, status, messageState], ['completed', 'timeout', 'running']);
  assert.equal(over.updatedAt, call.deadlineAt);
  assert.deepEqual(await waiting, over);
  const run = await world.tool('sessions_wait', { runIds: call.runIds }, CLIENT);
  assert.equal(run['status'], 'ok');
});

test('[TK4] a failed run is a failed call, with its error', async (t) => {
  const { begin, read } = await start(t);
  const call = await begin('sessions_send', { sessionKey: B, message: 'FAIL: 400' });
  const over = await read(call.callId, { timeoutMs: 20_000 });
  const { status, error } = over.result as Json;
  assert.deepEqual([over.state, status, typeof error], ['failed', 'error', 'string']);
});

test('[TK5] a call of another session is as good as none', async (t) => {
  const { world, ask, begin } = await start(t);
  world.model.hold('slow');
  const { callId } = await begin('sessions_send', slowly('late'));
  const refusal = (method: string, params: Json) =>
    ask(method, params).then(
      () => assert.fail(`${method} was answered`),
      (error: Error) => error.message.replaceAll(String(params['callId']), '<id>'),
    );
  for (const method of ['calls.get', 'calls.cancel']) {
    const missing = await refusal(method, { callId: 'none' });
    assert.match(missing, /there is no call <id>/);
    assert.equal(await refusal(method, { callId, sessionKey: A }), missing);
  }
  const { calls } = await ask<{ calls: Json[] }>('calls.list', { sessionKey: A });
  assert.deepEqual(calls, []);
});

test('[TK5] what its session may see no longer is told by no call', async (t) => {
  const { world, ask, begin, read } = await start(t);
  world.model.hold('slow');
  const room = 'agent:b:room';
  await world.say(room, 'SAY: open');
  const { callId } = await begin('sessions_send', { sessionKey: room, message: 'SAY: secret' });
  assert.equal((await read(callId, { timeoutMs: 20_000 })).state, 'completed');
  await world.quiet();
  const kept = await begin('sessions_send', { sessionKey: room, message: 'slow' });
  await ask('calls.cancel', { callId: kept.callId });
  await world.client.request('sessions.delete', { key: room });
  assert.equal((await read(kept.callId)).state, 'cancelled');
  const { state, result } = await read(callId);
  assert.equal(state, 'failed');
  assert.match(String((result as Json)['error']), /not found|no run|there is no/);
});

test('[TK6] a cancelled call stays cancelled, and its run goes on', async (t) => {
  const { world, ask, begin, read } = await start(t);
  const held = world.model.hold('slow');
  const call = await begin('sessions_send', slowly('late'));
  const waiting = read(call.callId, { timeoutMs: 500_000 });
  // reads are done in their order: after these the first one has looked, and waits
  for (let n = 0; n < 3; n += 1) await read(call.callId);
  const cancelled = await ask<{ call: CallRead }>('calls.cancel', { callId: call.callId });
  assert.equal(cancelled.call.state, 'cancelled');
  assert.equal((await waiting).state, 'cancelled');
  held.release();
  await world.quiet();
  const after = await read(call.callId);
  assert.deepEqual([after.state, after.result], ['cancelled', undefined]);
  const run = await world.tool('sessions_wait', { runIds: call.runIds }, CLIENT);
  assert.equal((run['done'] as Json[])[0]?.['reply'], 'late');
  const again = await ask<{ call: CallRead }>('calls.cancel', { callId: call.callId });
  assert.deepEqual(again.call, after);
});

test('[TK6] a call that is over cannot be cancelled any more', async (t) => {
  const { world, ask, begin, read } = await start(t);
  const { callId } = await begin('sessions_send', slowly('done'));
  await world.quiet();
  const over = await read(callId);
  const { call } = await ask<{ call: CallRead }>('calls.cancel', { callId });
  assert.deepEqual(call, over);
});

test('[TK7] a call is kept for its time, then its key is free for another', async (t) => {
  const { world, begin, read, ask } = await start(t, { clock: 'movable' });
  world.model.hold('slow');
  const idempotencyKey = 'k';
  const call = await begin('sessions_send', slowly('x'), { idempotencyKey, ttlMs: 3_600_000 });
  assert.equal(call.expiresAt - call.createdAt, 3_600_000);
  const short = await begin('sessions_send', slowly('y'), { ttlMs: 1 });
  assert.equal(short.expiresAt - short.createdAt, 660_000);
  const long = await begin('sessions_send', slowly('z'), { ttlMs: 1e12 });
  assert.equal(long.expiresAt - long.createdAt, 86_400_000);
  await world.passTime(3_600_000);
  await assert.rejects(read(call.callId), /there is no call/);
  const { calls } = await ask<{ calls: CallRead[] }>('calls.list', {});
  assert.deepEqual(
    calls.map(({ callId }) => callId),
    [long.callId],
  );
  const again = await begin('sessions_send', slowly('x'), { idempotencyKey });
  assert.equal(again.runIds[0], call.runIds[0]);
  assert.ok(again.createdAt > call.createdAt);
  assert.equal(await world.store.read((tx) => tx.calls.get(short.callId)), undefined);
});

test('[TK7] one call too many is refused before anything is sent', async (t) => {
  const { world, begin, ask } = await start(t);
  const held = world.model.hold('slow');
  const first = { idempotencyKey: 'first' };
  const { callId } = await begin('sessions_send', slowly('x'), first);
  await world.store.write('fill', async (tx) => {
    const row = (await tx.calls.get(callId))!;
    for (let n = 1; n < CALLS_MAX; n += 1) await tx.calls.insert({ ...row, callId: `${n}` });
  });
  const sent = { tool: 'sessions_send', args: slowly('y') };
  await assert.rejects(ask('calls.start', sent), /500 calls .* are kept/);
  const again = await begin('sessions_send', slowly('x'), first);
  assert.equal(again.callId, callId);
  await ask('calls.start', { ...sent, sessionKey: A });
  held.release();
  await world.quiet();
  assert.equal(world.model.requests.filter(({ raw }) => raw.includes('SAY: y')).length, 1);
});

test('[TK5] a call whose row is torn is told as that', async (t) => {
  const { world, begin, read } = await start(t);
  const { callId } = await begin('sessions_send', slowly('x'));
  for (const runIdsJson of ['[', '{}', '[1]']) {
    await world.store.write('tear', async (tx) => {
      const row = (await tx.calls.get(callId))!;
      await tx.calls.remove(callId);
      await tx.calls.insert({ ...row, runIdsJson });
    });
    const { state, result } = await read(callId, { timeoutMs: 20_000 });
    assert.equal(state, 'failed');
    assert.match(String((result as Json)['error']), /cannot be read/);
  }
});

test('[TK8] the calls of a session are listed page by page, newest first, without their answers', async (t) => {
  const { ask, begin, world } = await start(t, { clock: 'movable' });
  const made: string[] = [];
  for (const reply of ['1', '2', '3']) {
    made.unshift((await begin('sessions_send', slowly(reply))).callId);
    // calls of one millisecond stand in any order
    await world.passTime(1);
  }
  await world.quiet();
  const seen: CallRead[] = [];
  let cursor: string | undefined;
  do {
    const page = await ask<{ calls: CallRead[]; nextCursor?: string }>('calls.list', {
      limit: 1,
      ...(cursor === undefined ? {} : { cursor }),
    });
    seen.push(...page.calls);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  assert.deepEqual(
    seen.map(({ callId, state }) => [callId, state]),
    made.map((callId) => [callId, 'completed']),
  );
  assert.ok(seen.every((call) => !('result' in call)));
  await assert.rejects(ask('calls.list', { cursor: 'x' }), /cursor/);
});

const REFUSED: [string, Json, RegExp][] = [
  ['a tool that answers at once', { tool: 'sessions_list', args: {} }, /answers at once/],
  [
    'a message that nobody waits for',
    { tool: 'sessions_send', args: slowly('x', { timeoutSeconds: 0 }) },
    /waits for nothing/,
  ],
  [
    'a note',
    { tool: 'sessions_send', args: { sessionKey: B, message: 'x', mode: 'note' } },
    /waits for nothing/,
  ],
  ['an unknown tool', { tool: 'sessions_snd', args: {} }, /nearest: "sessions_send"/],
];
test('[TK9] what waits for nothing is no call, and changes nothing', async (t) => {
  const { world, ask } = await start(t);
  for (const [what, params, error] of REFUSED)
    await assert.rejects(ask('calls.start', params), error, what);
  assert.equal((await world.client.request<Json>('runs.list', {}))['count'], 0);
});

test('[TK9] what the tool refuses is told as ever, and there is no call', async (t) => {
  const { ask } = await start(t);
  const refused = async (tool: string, args: Json) =>
    (await ask<{ result: Json }>('calls.start', { tool, args })).result;
  const missing = await refused('sessions_send', { sessionKey: 'agent:b:none', message: 'x' });
  assert.equal(missing['status'], 'error');
  const bad = await refused('sessions_send', { sesionKey: B, message: 'x' });
  assert.match(String(bad['error']), /nearest.*sessionKey/);
  const unknown = await refused('sessions_wait', { runIds: ['none'] });
  assert.equal(unknown['status'], 'error');
  assert.equal((await ask<Json>('calls.list', {}))['count'], 0);
});

test('[TK9] a session is deferred no call of a tool that it is not offered', async (t) => {
  const { ask } = await start(t, { config: { tools: { deny: ['sessions_send'] } } });
  const closed = { tool: 'sessions_send', args: slowly('x') };
  await assert.rejects(ask('calls.start', closed), /sessions_send/);
});

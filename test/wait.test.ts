import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectGateway } from '../src/client/gateway-client.ts';
import type { AgentAccepted } from '../src/protocol/answers/run-answers.ts';
import { waitForRun } from '../src/client/wait-for-run.ts';
import type { GatewayError } from '../src/protocol/errors.ts';
import { openLink } from './helpers/cuttable-link.ts';
import { call, outlineOf, startWorld, usersOf, type TestWorld } from './helpers/test-world.ts';

const A = 'agent:a:main';
const B = 'agent:b:main';
/** in every request of that session, and of no other */
const ofSession = (key: string): string => `Your session is ${key}.`;
const inB = ofSession(B);
const UUID = '00000000-0000-4000-8000-000000000000';

/** `agent` on b: both answers. */
async function runAgent(world: TestWorld, params: object) {
  let accepted: AgentAccepted | undefined;
  const final = await world.client.runAgent(
    { sessionKey: B, ...params },
    { onAccepted: (answer) => (accepted = answer) },
  );
  return { accepted, final };
}

/** `chat.send` to b; resolves when the message is accepted. */
async function accept(
  world: TestWorld,
  message: string,
  idempotencyKey = message,
): Promise<string> {
  const params = { sessionKey: B, message, idempotencyKey };
  return (await world.client.request<{ runId: string }>('chat.send', params)).runId;
}

const wait = (world: TestWorld, runId: string, timeoutMs = 20_000) =>
  world.client.request('agent.wait', { runId, timeoutMs });

function failsWith(code: string, text: RegExp): (error: GatewayError) => boolean {
  return (error) => {
    assert.equal(error.code, code, error.message);
    assert.match(error.message, text);
    return true;
  };
}

async function countRows(world: TestWorld) {
  return world.store.read(async (tx) => ({
    sessions: await tx.sessions.count(),
    runs: await tx.runs.countByState(),
  }));
}

test('[WT1] `agent` answers twice: accepted once committed, then how the run ended', async (t) => {
  const world = await startWorld(t);
  const { accepted, final } = await runAgent(world, { message: 'SAY: hello', idempotencyKey: 'k' });
  const { acceptedAt, runId } = accepted!;
  assert.equal(typeof acceptedAt, 'number');
  assert.deepEqual(accepted, { runId, sessionKey: B, status: 'accepted', acceptedAt });
  const { startedAt, endedAt, ...rest } = final;
  assert.ok(Number(startedAt) >= acceptedAt && Number(endedAt) >= Number(startedAt));
  assert.deepEqual(rest, {
    runId,
    sessionKey: B,
    status: 'ok',
    outcome: 'ok',
    summary: 'completed',
    result: { payloads: [{ text: 'hello' }] },
  });
});

test('[WT1] the final answer of a failed run names the cause', async (t) => {
  const world = await startWorld(t);
  const { accepted, final } = await runAgent(world, {
    message: 'FAIL: 400 broken',
    idempotencyKey: 'k',
  });
  assert.equal(accepted?.status, 'accepted');
  assert.deepEqual([final.status, final.outcome, final.result.payloads], ['error', 'error', []]);
  assert.match(final.summary, /400/);
});

test('[WT2, BR-102] the same answer is given to a wait before, at and after the end', async (t) => {
  const world = await startWorld(t);
  const held = world.model.hold(inB);
  const runId = await accept(world, 'SAY: done');
  await held.arrived();
  const before = wait(world, runId);
  held.release();
  const answer = await before;
  const { startedAt, endedAt, ...rest } = answer;
  assert.ok(Number(endedAt) >= Number(startedAt));
  const done = {
    runId,
    sessionKey: B,
    status: 'ok',
    messageState: 'done',
    outcome: 'ok',
    reply: 'done',
  };
  assert.deepEqual(rest, done);
  assert.deepEqual(await wait(world, runId, 0), answer);
});

test('[WT3, BR-102] a wait for an unknown run is an error at once', async (t) => {
  const world = await startWorld(t);
  const startedAt = performance.now();
  await assert.rejects(
    wait(world, 'nobody', 3_600_000),
    failsWith('not_found', /unknown runId nobody/),
  );
  assert.ok(performance.now() - startedAt < 10_000);
});

test('[WT4] an elapsed wait says where the message is, and the run goes on', async (t) => {
  const world = await startWorld(t);
  const held = world.model.hold(inB);
  const [first, second] = [await accept(world, 'SAY: 1'), await accept(world, 'SAY: 2')];
  await held.arrived();
  for (const [runId, state] of [
    [first, 'running'],
    [second, 'queued'],
  ] as const) {
    const answer = await wait(world, runId, 1);
    assert.deepEqual([answer['status'], answer['messageState']], ['timeout', state]);
    assert.equal('outcome' in answer, false);
    assert.match(String(answer['error']), new RegExp(`still ${state}`));
  }
  held.release();
  assert.equal((await wait(world, first))['reply'], '1');
  assert.equal((await wait(world, second))['reply'], '2');
});

test('[WT4] a run that waits for another one is `waiting`', async (t) => {
  const world = await startWorld(t);
  const held = world.model.hold(ofSession(A));
  const send = call('sessions_send', { sessionKey: A, message: 'SAY: hi', maxTurns: 0 });
  const runId = await accept(world, `${send}\nSAY: told`);
  await held.arrived();
  const answer = await wait(world, runId, 1);
  assert.deepEqual([answer['status'], answer['messageState']], ['timeout', 'waiting']);
  held.release();
  assert.equal((await wait(world, runId))['reply'], 'told');
});

test('[WT5, BR-100] a client that loses its connection asks again and gets the answer, as others do', async (t) => {
  const world = await startWorld(t);
  const link = await openLink(t, world.gateway.port);
  const held = world.model.hold(inB);
  const runId = await accept(world, 'SAY: late');
  await held.arrived();
  const connect = { url: link.url, token: world.gateway.token };
  const reconnecting = waitForRun(connect, { runId, timeoutMs: 20_000 });
  const steady = wait(world, runId);
  await link.connected(1);
  link.cut();
  await link.connected(2);
  held.release();
  const answer = await reconnecting;
  assert.deepEqual([answer.status, answer.reply], ['ok', 'late']);
  assert.deepEqual(await steady, answer);
});

test('[WT6, BR-173] a send whose connection breaks is a transport error, and asked again it is the same send', async (t) => {
  const world = await startWorld(t);
  const link = await openLink(t, world.gateway.port);
  const held = world.model.hold(inB);
  const params = {
    tool: 'sessions_send',
    sessionKey: 'main',
    args: { sessionKey: B, message: 'SAY: once', timeoutSeconds: 20 },
    idempotencyKey: 'k',
  };
  const client = await connectGateway({ url: link.url, token: world.gateway.token });
  const broken = client.request('tools.invoke', params);
  await held.arrived();
  link.cut();
  await assert.rejects(broken, { code: 'unavailable' });
  const again = world.client.request<{ result: Record<string, unknown> }>('tools.invoke', params);
  held.release();
  const { result } = await again;
  assert.deepEqual([result['status'], result['reply']], ['ok', 'once']);
  assert.deepEqual(outlineOf(await world.history(B)), ['user: SAY: once', 'assistant: once']);
});

const endings: [string, (world: TestWorld) => void, object, string, RegExp][] = [
  ['hangs', ({ model }) => model.failNext({ kind: 'hang' }), { timeout: 0.2 }, 'timeout', /0\.2 s/],
  [
    'stops in the middle of its answer',
    ({ model }) => model.failNext({ kind: 'stall', text: 'so far' }),
    { timeout: 0.2 },
    'timeout',
    /0\.2 s/,
  ],
  ['refuses', ({ model }) => model.failNext({ kind: 'status', status: 400 }), {}, 'error', /400/],
  [
    'drops every connection',
    ({ model }) => model.failNext({ kind: 'drop' }, 3),
    {},
    'error',
    /fake\/fake-1/,
  ],
  [
    'breaks off within a tool call',
    ({ model }) => model.failNext({ kind: 'cut-tool-call', name: 'read', argumentsStart: '{"pa' }),
    {},
    'error',
    /fake\/fake-1/,
  ],
];
for (const [what, prepare, params, outcome, text] of endings) {
  test(`[WT7, BR-102] a run whose model ${what} ends once, as ${outcome}, for all who wait`, async (t) => {
    const world = await startWorld(t);
    prepare(world);
    const phases: unknown[] = [];
    world.client.on(({ event, payload }) => {
      const { stream, data } = (payload ?? {}) as {
        stream?: string;
        data?: Record<string, unknown>;
      };
      if (event === 'agent' && stream === 'lifecycle') phases.push(data?.['phase']);
    });
    const { accepted, final } = await runAgent(world, {
      message: 'SAY: x',
      idempotencyKey: 'k',
      ...params,
    });
    assert.deepEqual([final.status, final.outcome], [outcome, outcome]);
    assert.match(String(final.error), text);
    const answer = await wait(world, accepted!.runId, 0);
    assert.deepEqual(
      [answer['status'], answer['outcome'], answer['error']],
      [outcome, outcome, final.error],
    );
    assert.deepEqual(phases, ['start', 'error']);
    // The lane is free again. On a slow machine the limit may have come before the request.
    world.model.recover();
    assert.equal((await world.say(B, 'SAY: next'))['reply'], 'next');
  });
}

test('[WT8, BR-028] one key is one message for `agent`: at the same time, again, and after the end', async (t) => {
  const world = await startWorld(t);
  const params = { message: 'SAY: m', idempotencyKey: 'i1' };
  const [first, second] = await Promise.all([runAgent(world, params), runAgent(world, params)]);
  const third = await runAgent(world, params);
  assert.deepEqual(second, first);
  assert.deepEqual(third, first, 'both answers again');
  assert.deepEqual(outlineOf(await world.history(B)), ['user: SAY: m', 'assistant: m']);
  await assert.rejects(
    world.client.request('agent', { sessionKey: B, ...params, message: 'SAY: other' }),
    failsWith('key_conflict', /idempotencyKey was used for another message/),
  );
  await assert.rejects(
    world.client.request('agent', { ...params, sessionKey: A }),
    failsWith('key_conflict', /another message/),
  );
  assert.equal(usersOf(await world.history(B)).length, 1);
});

test('[WT8, BR-028] one key is one message for `chat.send`, which says where its run is', async (t) => {
  const world = await startWorld(t);
  const held = world.model.hold(inB);
  const params = { sessionKey: B, message: 'SAY: m', idempotencyKey: 'i1' };
  const send = (change: object = {}) => world.client.request('chat.send', { ...params, ...change });
  const answers = await Promise.all([send(), send()]);
  const { runId } = answers[0]!;
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set(['in_flight', 'started']));
  await held.arrived();
  assert.deepEqual(await send(), { runId, sessionKey: B, status: 'in_flight' });
  held.release();
  await wait(world, String(runId));
  assert.deepEqual(await send(), { runId, sessionKey: B, status: 'ok', outcome: 'ok' });
  await assert.rejects(
    send({ message: 'SAY: other' }),
    failsWith('key_conflict', /another message/),
  );
  await world.quiet();
  assert.deepEqual(outlineOf(await world.history(B)), ['user: SAY: m', 'assistant: m']);
});

test('[WT8] a key of one method is free for the other', async (t) => {
  const world = await startWorld(t);
  const { accepted } = await runAgent(world, { message: 'SAY: m', idempotencyKey: 'k' });
  assert.notEqual(await accept(world, 'SAY: m', 'k'), accepted?.runId);
});

test('[WT9, BR-109] a sessionId alone names the session; an unknown one is an error and makes none', async (t) => {
  const world = await startWorld(t);
  const row = await world.store.read((tx) => tx.sessions.get(B));
  const final = await world.client.runAgent({
    sessionId: row?.sessionId,
    message: 'SAY: here',
    idempotencyKey: '1',
  });
  assert.equal(final.sessionKey, B);
  assert.deepEqual(outlineOf(await world.history(B)), ['user: SAY: here', 'assistant: here']);
  const before = await countRows(world);
  for (const sessionId of ['nope', UUID]) {
    const params = { sessionId, message: 'x', idempotencyKey: sessionId };
    await assert.rejects(world.client.request('agent', params), {
      code: /^(not_found|invalid_request)$/,
    });
  }
  assert.deepEqual(await countRows(world), before);
});

test('[WT9, BR-109] a sessionKey and the sessionId of its session name it together, others are an error', async (t) => {
  const world = await startWorld(t);
  const { sessionId } = (await world.store.read((tx) => tx.sessions.get(B))) ?? {};
  for (const id of [sessionId, sessionId?.toUpperCase()]) {
    const params = { sessionKey: B, sessionId: id, message: 'SAY: here', idempotencyKey: `${id}` };
    assert.equal((await world.client.runAgent(params)).sessionKey, B);
  }
  const before = await countRows(world);
  const of = (await world.store.read((tx) => tx.sessions.get(A)))?.sessionId;
  for (const [key, id] of [
    [B, of],
    [B, 'nope'],
    ['agent:b:cli:new', UUID],
    ['agent:b:cli:new', sessionId],
  ]) {
    const wrong = { sessionKey: key, sessionId: id, message: 'x', idempotencyKey: `${key} ${id}` };
    await assert.rejects(world.client.request('agent', wrong), {
      code: 'not_found',
      message: /is not that of session .*; give one of them/,
    });
  }
  assert.deepEqual(await countRows(world), before);
});

test('[WT9, GW9] a call that is made again is the same one, also when its session was reset meanwhile', async (t) => {
  const world = await startWorld(t);
  const sessionId = String((await world.store.read((tx) => tx.sessions.get(B)))?.sessionId);
  const calls = [{ sessionKey: B, sessionId }, { sessionId }].map((name, at) => ({
    ...name,
    message: 'SAY: once',
    idempotencyKey: `${at}`,
  }));
  const runIds: string[] = [];
  for (const params of calls) runIds.push((await world.client.runAgent(params)).runId);
  await world.client.request('sessions.reset', { key: B });
  for (const [at, params] of calls.entries()) {
    assert.equal((await world.client.runAgent(params)).runId, runIds[at]);
    await assert.rejects(
      world.client.runAgent({ ...params, idempotencyKey: 'new' }),
      /is not that of session|is from before a reset/,
    );
  }
});

test('[WT10, BR-010] a first message makes the session of its key, and touches no other', async (t) => {
  const world = await startWorld(t);
  await world.say(A, 'SAY: web');
  const main = await world.store.read((tx) => tx.sessions.get(A));
  const key = 'agent:a:cli:x';
  for (const n of [1, 2, 3, 4]) {
    const params = { sessionKey: key, message: `SAY: ${n}`, idempotencyKey: String(n) };
    assert.equal((await world.client.runAgent(params)).sessionKey, key);
  }
  assert.equal(usersOf(await world.history(key)).length, 4);
  assert.equal(usersOf(await world.history(A)).length, 1);
  assert.deepEqual(await world.store.read((tx) => tx.sessions.get(A)), main);
});

test('[WT11] a message creates no session under a key that is not a person’s to make', async (t) => {
  const world = await startWorld(t);
  const before = await countRows(world);
  const keys = [
    `agent:a:subagent:${UUID}`,
    'cron:job',
    'agent:a:cron:job',
    `hook:${UUID}`,
    'node-kitchen',
    'global',
    'unknown',
    'agent:a:unknown',
    'agent:ghost:cli:x',
    'group:1',
    'agent::x',
  ];
  for (const sessionKey of keys) {
    for (const method of ['agent', 'chat.send']) {
      const params = { sessionKey, message: 'x', idempotencyKey: sessionKey };
      await assert.rejects(
        world.client.request(method, params),
        { code: /^(not_found|invalid_request)$/ },
        `${method} ${sessionKey}`,
      );
    }
  }
  assert.deepEqual(await countRows(world), before);
});

test('[WT12] what does not go together is refused before anything is stored', async (t) => {
  const world = await startWorld(t);
  const before = await countRows(world);
  const cases: [object, RegExp][] = [
    [{ sessionKey: B, agentId: 'a' }, /agentId a .*agent b.*do not go together/],
    [{ agentId: 'ghost' }, /agent "ghost" not found; see agents\.list/],
    [{ sessionKey: B, deliver: true }, /no chat yet; pass channel and to, or bestEffortDeliver/],
    [{ sessionKey: B, deliver: true, channel: 'discord', to: '1' }, /no channel discord is set up/],
    [{ sessionKey: B, model: 'fake/nope' }, /unknown model "nope"/],
  ];
  for (const [given, text] of cases) {
    const params = { message: 'x', idempotencyKey: 'k', ...given };
    await assert.rejects(world.client.request('agent', params), text);
  }
  assert.deepEqual(await countRows(world), before);
  const row = await world.store.read((tx) => tx.sessions.get(B));
  assert.equal(row?.lastChannel, null);
});

test('[WT12] bestEffortDeliver keeps the reply in the session; a fitting agentId is no conflict', async (t) => {
  const world = await startWorld(t);
  const { final } = await runAgent(world, {
    message: 'SAY: kept',
    agentId: 'B',
    deliver: true,
    bestEffortDeliver: true,
    idempotencyKey: 'k',
  });
  assert.equal(final.status, 'ok');
  assert.deepEqual(await world.store.read((tx) => tx.deliveries.ofSession(B, 10)), []);
  const ofAgent = await world.client.runAgent({
    agentId: 'c',
    message: 'SAY: x',
    idempotencyKey: 'k2',
  });
  assert.equal(ofAgent.sessionKey, 'agent:c:main');
});

test('[WT4] an elapsed wait names no parameter and no millionth of a second', async (t) => {
  const world = await startWorld(t);
  const held = world.model.hold(inB);
  const runId = await accept(world, 'SAY: done');
  await held.arrived();
  const errorOf = async (timeoutMs: number): Promise<unknown> =>
    (await wait(world, runId, timeoutMs))['error'];
  assert.match(String(await errorOf(0.001)), /^no outcome within 0\.1 s; the message was accepted/);
  assert.match(String(await errorOf(0)), /^no outcome yet; the message was accepted/);
  const sent = await world.tool('sessions_send', {
    sessionKey: B,
    message: 'SAY: x',
    timeoutSeconds: 0.25,
  });
  assert.match(String(sent['error']), /^no outcome within 0\.3 s; the message was accepted/);
  held.release();
});

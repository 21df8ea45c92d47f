import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { MASK } from '../src/core/mask-secrets.ts';
import { defaultConfig } from '../src/protocol/options/config.ts';
import { awaitReply } from '../src/service/messages/await-reply.ts';
import { createRunWatch } from '../src/service/runs/run-watch.ts';
import { waitAsSession } from '../src/service/runs/wait-for-runs.ts';
import { systemClock } from '../src/util/clock.ts';
import { call, startWorld, type TestWorld } from './helpers/test-world.ts';

type Json = Record<string, unknown>;
const A = 'agent:a:main';
const B = 'agent:b:main';
const C = 'agent:c:main';
const config = { tools: { allow: ['*', 'sessions_wait', 'sessions_stop'] } };
const inSession = (key: string): string => `Your session is ${key}.`;

async function send(world: TestWorld, sessionKey: string, message: string): Promise<string> {
  const params = { sessionKey, message, idempotencyKey: randomUUID() };
  return String((await world.client.request('chat.send', params))['runId']);
}
const waitFor = (world: TestWorld, params: Json): Promise<Json> =>
  world.client.request('runs.wait', params);
const end = (world: TestWorld, runId: string): Promise<Json> =>
  world.client.request('agent.wait', { runId, timeoutMs: 20_000 });
const stateOf = async (world: TestWorld, runId: string) =>
  (await world.client.request('runs.get', { runId }))['messageState'];

/** Runs in b and c that are at their models. */
async function twoHeld(world: TestWorld) {
  const [inB, inC] = [world.model.hold(inSession(B)), world.model.hold(inSession(C))];
  const [b, c] = [await send(world, B, 'SAY: from b'), await send(world, C, 'SAY: from c')];
  await Promise.all([inB.arrived(), inC.arrived()]);
  return { inB, inC, b, c };
}

test('[WS1, BR-140] `all` waits for each, and says what is done and what goes on when its time is over', async (t) => {
  const world = await startWorld(t, { config });
  const { inB, inC, b, c } = await twoHeld(world);
  const none = await waitFor(world, { runIds: [b, c], timeoutMs: 0 });
  const pendingC = { runId: c, sessionKey: C, messageState: 'running' };
  assert.deepEqual(none, {
    status: 'timeout',
    done: [],
    pending: [{ runId: b, sessionKey: B, messageState: 'running' }, pendingC],
  });
  inB.release();
  await end(world, b);
  const doneB = { runId: b, sessionKey: B, status: 'ok', outcome: 'ok', reply: 'from b' };
  const some = await world.tool('sessions_wait', { runIds: [b, c], timeoutSeconds: 0.05 });
  assert.deepEqual(some, { status: 'partial', done: [doneB], pending: [pendingC] });
  const whole = waitFor(world, { runIds: [b, c] });
  inC.release();
  const doneC = { runId: c, sessionKey: C, status: 'ok', outcome: 'ok', reply: 'from c' };
  assert.deepEqual(await whole, { status: 'ok', done: [doneB, doneC], pending: [] });
});

test('[WS1, MK7] the operator is told a reply as it was said, another session without its credentials', async (t) => {
  const world = await startWorld(t, { config });
  const token = `ghp_${'aB3dE5gH'.repeat(5)}`;
  const runId = await send(world, B, `SAY: it is ${token}`);
  const told = async (answer: Promise<unknown>) =>
    ((await answer) as { done: Json[] }).done.map(({ reply }) => reply);
  assert.deepEqual(await told(waitFor(world, { runIds: [runId], timeoutMs: 20_000 })), [
    `it is ${token}`,
  ]);
  assert.deepEqual(await told(world.tool('sessions_wait', { runIds: [runId] })), [`it is ${MASK}`]);
});

test('[WS1] `any` ends with the first, however it ended, and a session stands for its newest run', async (t) => {
  const world = await startWorld(t, { config });
  const { inB, inC, b } = await twoHeld(world);
  const waiting = waitFor(world, { sessionKeys: [B, C, B], mode: 'any', timeoutMs: 20_000 });
  await world.client.request('runs.stop', { sessionKey: B });
  const { status, done, pending } = (await waiting) as {
    status: string;
    done: Json[];
    pending: Json[];
  };
  assert.equal(status, 'ok');
  assert.deepEqual(
    done.map(({ runId, status: how, outcome, error }) => ({ runId, how, outcome, error })),
    [{ runId: b, how: 'error', outcome: 'aborted', error: 'stopped by the operator' }],
  );
  assert.deepEqual(
    pending.map(({ sessionKey }) => sessionKey),
    [C],
  );
  inB.release();
  inC.release();
  await world.quiet();
  await world.say(A, `${call('sessions_spawn', { task: 'SAY: forty-two' })}\nSAY: spawned`);
  await world.quiet();
  const childKey = String((await world.toolAnswers(A)).at(-1)?.['childSessionKey']);
  const child = await waitFor(world, { sessionKeys: [childKey] });
  assert.equal((child['done'] as Json[])[0]?.['reply'], 'forty-two', 'its task, not its announce');
});

test('[WS2, BR-140] in a run it gives the slot back, and comes back with every reply', async (t) => {
  const world = await startWorld(t, {
    config: { ...config, agents: { defaults: { maxConcurrent: 3 } } },
  });
  const { inB, inC, b, c } = await twoHeld(world);
  const script = `${call('sessions_wait', { runIds: [b, c], timeoutSeconds: 60 })}\nSAY: all in`;
  const waiting = await send(world, A, script);
  while ((await stateOf(world, waiting)) !== 'waiting');
  const other = await send(world, 'agent:a:extra', 'SAY: in the free slot');
  assert.equal((await end(world, other))['outcome'], 'ok');
  inB.release();
  inC.release();
  assert.equal((await end(world, waiting))['reply'], 'all in');
  const [answer] = (await world.toolAnswers(A)) as { status: string; done: Json[] }[];
  assert.equal(answer?.status, 'ok');
  assert.deepEqual(
    answer?.done.map(({ reply }) => reply),
    ['from b', 'from c'],
  );
});

test('[WS2] what has ended already needs no wait, and 0 only looks', async (t) => {
  const world = await startWorld(t, { config });
  await world.say(B, 'SAY: earlier');
  const inC = world.model.hold(inSession(C));
  const c = await send(world, C, 'SAY: later');
  await inC.arrived();
  const script = [
    call('sessions_wait', { sessionKeys: [B] }),
    call('sessions_wait', { sessionKeys: [B, C], mode: 'any', timeoutSeconds: 60 }),
    call('sessions_wait', { sessionKeys: [B, C], timeoutSeconds: 0 }),
    'SAY: looked',
  ];
  assert.equal((await world.say(A, script.join('\n')))['reply'], 'looked');
  const answers = (await world.toolAnswers(A)) as { status: string; pending: Json[] }[];
  assert.deepEqual(
    answers.map(({ status }) => status),
    ['ok', 'ok', 'partial'],
  );
  assert.deepEqual(answers[2]?.pending, [{ runId: c, sessionKey: C, messageState: 'running' }]);
  inC.release();
});

test('[WS3, BR-155] a wait that would close a cycle with one of its runs is refused by name, and waits for none', async (t) => {
  const world = await startWorld(t, {
    config,
    rewrite: (userText, raw) =>
      raw.includes(inSession(C)) && userText.includes('back')
        ? `${call('sessions_wait', { sessionKeys: [A, B], timeoutSeconds: 60 })}\nSAY: refused`
        : undefined,
  });
  await world.say(B, 'SAY: idle');
  const script = `${call('sessions_send', { sessionKey: C, message: 'back', timeoutSeconds: 60 })}\nSAY: end`;
  assert.equal((await world.say(A, script))['reply'], 'end');
  const [refused] = await world.toolAnswers(C);
  assert.equal(refused?.['status'], 'error');
  assert.match(
    String(refused?.['error']),
    /agent:c:main waits for agent:a:main waits for agent:c:main/,
  );
  const own = `${call('sessions_wait', { sessionKeys: ['current'] })}\nSAY: not myself`;
  assert.equal((await world.say(B, own))['reply'], 'not myself');
  assert.match(
    String((await world.toolAnswers(B)).at(-1)?.['error']),
    /agent:b:main waits for agent:b:main/,
  );
});

test('[WS4] a message of a person ends the wait of a send at once, and says which', async (t) => {
  const world = await startWorld(t, { config });
  const inB = world.model.hold(inSession(B));
  const script = `${call('sessions_send', { sessionKey: B, message: 'SAY: slow', timeoutSeconds: 600 })}\nSAY: went on`;
  const waiting = await send(world, A, script);
  await inB.arrived();
  while ((await stateOf(world, waiting)) !== 'waiting');
  const person = await send(world, A, 'SAY: here you are');
  assert.equal((await end(world, waiting))['reply'], 'went on');
  const [answer] = await world.toolAnswers(A);
  const { status, messageState, outcome, interruptedBy, error } = answer ?? {};
  assert.deepEqual(
    { status, messageState, outcome, interruptedBy },
    {
      status: 'timeout',
      messageState: 'running',
      outcome: undefined,
      interruptedBy: { kind: 'message', runId: person },
    },
  );
  assert.match(String(error), /do not send it again/);
  assert.equal((await end(world, person))['reply'], 'here you are');
  inB.release();
  assert.equal((await end(world, String(answer?.['runId'])))['reply'], 'slow');
  await world.quiet();
});

test('[WS4] it ends a wait for several with what is finished, and one from another session does not', async (t) => {
  const world = await startWorld(t, { config });
  const { inB, inC, b, c } = await twoHeld(world);
  const script = `${call('sessions_wait', { runIds: [b, c], timeoutSeconds: 600 })}\nSAY: went on`;
  const waiting = await send(world, A, script);
  while ((await stateOf(world, waiting)) !== 'waiting');
  inB.release();
  await end(world, b);
  await world.tool(
    'sessions_send',
    { sessionKey: A, message: 'SAY: me too', timeoutSeconds: 0 },
    C,
  );
  assert.equal(await stateOf(world, waiting), 'waiting');
  const person = await send(world, A, 'SAY: here you are');
  assert.equal((await end(world, waiting))['reply'], 'went on');
  const [answer] = (await world.toolAnswers(A)) as { done: Json[]; pending: Json[] }[];
  assert.deepEqual(
    { ...answer, done: answer?.done.map(({ reply }) => reply) },
    {
      status: 'partial',
      done: ['from b'],
      pending: [{ runId: c, sessionKey: C, messageState: 'running' }],
      interruptedBy: { kind: 'message', runId: person },
    },
  );
  inC.release();
  await world.quiet();
});

test('[WS5] a run of a hidden session and one that does not exist read the same', async (t) => {
  const world = await startWorld(t, {
    config: { tools: { ...config.tools, sessions: { visibility: 'tree' } } },
  });
  const { runId } = await world.say(B, 'SAY: hidden');
  const asA = (args: Json): Promise<Json> => world.tool('sessions_wait', args, A);
  const hidden = await asA({ runIds: [runId] });
  assert.equal(hidden['status'], 'forbidden');
  assert.deepEqual(await asA({ runIds: [randomUUID()] }), hidden);
  assert.deepEqual(await asA({ sessionKeys: [B] }), hidden);
  const { error } = await asA({ sessionKeys: [A] });
  assert.match(String(error), /session main has had no run/);
});

test('[WS6] a wait names 1 to 100 runs and sessions, and unknown ones are an error at once', async (t) => {
  const world = await startWorld(t, { config });
  const many = Array.from({ length: 101 }, () => randomUUID());
  for (const args of [{}, { runIds: [], sessionKeys: [] }, { runIds: many }])
    assert.equal((await world.tool('sessions_wait', args, A))['status'], 'error');
  for (const params of [{}, { runIds: many }])
    await assert.rejects(waitFor(world, params), { code: 'invalid_request' });
  for (const params of [
    { runIds: [randomUUID()] },
    { sessionKeys: ['agent:a:nope'] },
    { sessionKeys: [A] },
  ])
    await assert.rejects(waitFor(world, { ...params, timeoutMs: 60_000 }), { code: 'not_found' });
  const note = await world.tool(
    'sessions_send',
    { sessionKey: B, message: 'fyi', mode: 'note' },
    A,
  );
  const answer = await world.tool('sessions_wait', { runIds: [note['runId']] }, A);
  assert.match(String(answer['error']), /is a note of session agent:b:main/);
});

test('[WT13] the wait of a call by a door ends with whoever made it, and the run goes on', async (t) => {
  const world = await startWorld(t, { config });
  const held = world.model.hold(inSession(B));
  const send = { sessionKey: B, message: 'SAY: late', timeoutSeconds: 0 };
  const runId = String((await world.tool('sessions_send', send, A))['runId']);
  await held.arrived();
  const { store } = world;
  const watch = createRunWatch(store);
  const inForce = defaultConfig({
    tools: { sessions: { visibility: 'all' }, agentToAgent: { enabled: true } },
  });
  const services = { store, watch, clock: systemClock, config: () => inForce };
  const leave = new AbortController();
  const caller = { type: 'session', sessionKey: A, agentId: 'a', gone: leave.signal } as const;
  const day = 86_400;
  const waits = [
    awaitReply(services as never, { runId, caller, timeoutMs: day * 1000 }),
    waitAsSession(services as never, caller, { runIds: [runId], timeoutSeconds: day }),
  ];
  leave.abort();
  assert.deepEqual(await Promise.all(waits.map(async (wait) => (await wait).status)), [
    'timeout',
    'timeout',
  ]);
  held.release();
  assert.equal((await end(world, runId))['reply'], 'late');
});

test('[SO10] agents are offered `sessions_wait` and `sessions_stop` only where they are named', async (t) => {
  const offered = async (given: Json, key: string): Promise<string[]> => {
    const world = await startWorld(t, { config: given });
    await world.say(A, `${call('sessions_spawn', { task: 'SAY: child' })}\nSAY: x`);
    await world.quiet();
    const request = world.model.requests.find(({ raw }) => raw.includes(key));
    const tools = (request?.body['tools'] ?? []) as { function: { name: string } }[];
    return tools.map((tool) => tool.function.name).filter((name) => /wait|stop/.test(name));
  };
  const both = ['sessions_wait', 'sessions_stop'];
  assert.deepEqual(await offered({}, inSession(A)), []);
  assert.deepEqual(await offered({ tools: { allow: ['*'] } }, inSession(A)), []);
  assert.deepEqual(await offered(config, inSession(A)), both);
  assert.deepEqual(await offered({ tools: { profile: 'full' } }, inSession(A)), both);
  assert.deepEqual(await offered(config, 'You are a sub-agent'), [], 'sub-agents lose them');
});

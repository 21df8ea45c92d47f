/** The client that stays (`trunkline/client`), over a whole gateway and a line that breaks. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import {
  createClient,
  type Client,
  type ClientOptions,
  type ClientState,
} from '../src/client/create-client.ts';
import { READ_METHODS } from '../src/client/repeatable.ts';
import type { SessionMessage } from '../src/client/followed-messages.ts';
import { textOf } from '../src/protocol/message.ts';
import { METHODS, METHOD_NAMES } from '../src/protocol/methods.ts';
import { startGateway, TOKEN } from '../src/gateway/test-gateway.suite.ts';
import { collectMessages } from './helpers/collected-messages.ts';
import { openLink } from './helpers/cuttable-link.ts';
import { startWorld, usersOf, type TestWorld } from './helpers/test-world.ts';

const A = 'agent:a:main';

/** A client that ends with the test. */
function clientOf(
  t: TestContext,
  { gateway }: Pick<TestWorld, 'gateway'>,
  options: Partial<ClientOptions> = {},
): Client {
  const client = createClient({
    url: gateway.url,
    token: gateway.token,
    firstRetryMs: 5,
    ...options,
  });
  t.after(() => client.close());
  return client;
}

/** The states a client comes to, and when it has come to one. */
function watchStates(client: Client): {
  states: ClientState[];
  next(state: ClientState): Promise<void>;
} {
  const states: ClientState[] = [];
  const waiters = new Set<() => void>();
  client.onState((state) => {
    states.push(state);
    for (const wake of waiters) wake();
  });
  return {
    states,
    next: async (state) => {
      const from = states.length;
      while (!states.slice(from).includes(state))
        await new Promise<void>((resolve) => waiters.add(resolve));
    },
  };
}

/** A port that answers every connection as it is told. */
async function listen(t: TestContext, answer: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    answer(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('[CL1] calls may be made at once; the client says where it is', async (t) => {
  const world = await startWorld(t);
  const client = clientOf(t, world);
  const { states } = watchStates(client);
  assert.equal(client.state, 'connecting');
  const sent = await client.call('chat.send', {
    sessionKey: A,
    message: 'SAY: hello',
    idempotencyKey: 'k',
  });
  const ended = await client.call('agent.wait', { runId: sent.runId });
  assert.deepEqual([ended.status, ended.reply], ['ok', 'hello']);
  const { sessions } = await client.call('sessions.list');
  assert.equal(sessions[0]?.key, A);
  assert.equal(client.hello?.protocol, 4);
  await client.close();
  await client.close();
  assert.deepEqual(states, ['open', 'closed']);
  await assert.rejects(client.call('health'), { code: 'unavailable', message: /closed/ });
});

test('[CL2] a wait goes on across lost connections, with the time that is left to it, and answers once', async (t) => {
  const world = await startWorld(t);
  const link = await openLink(t, world.gateway.port);
  const client = clientOf(t, world, { url: link.url });
  const { next } = watchStates(client);
  const held = world.model.hold('SAY');
  const { runId } = await client.call('chat.send', {
    sessionKey: A,
    message: 'SAY: at last',
    idempotencyKey: 'k',
  });
  await held.arrived();
  const waits = [
    client.call('agent.wait', { runId, timeoutMs: 20_000 }),
    client.call('runs.wait', { runIds: [runId], timeoutMs: 20_000 }),
  ] as const;
  const elapsed = client.call('agent.wait', { runId, timeoutMs: 1 });
  for (let n = 0; n < 3; n += 1) {
    const again = next('open');
    link.cut();
    await again;
  }
  const { status, outcome } = await elapsed;
  assert.deepEqual([status, outcome], ['timeout', undefined]);
  held.release();
  const [one, many] = await Promise.all(waits);
  assert.deepEqual([one.reply, many.done.map(({ reply }) => reply)], ['at last', ['at last']]);
});

test('[CL3] what has an idempotencyKey is sent again and done once; what has none is not, and says so', async (t) => {
  const world = await startWorld(t);
  const link = await openLink(t, world.gateway.port);
  const client = clientOf(t, world, { url: link.url });
  await client.call('health');
  const held = world.model.hold('SAY');
  const accepted: string[] = [];
  const run = client.runAgent(
    { sessionKey: A, message: 'SAY: done', idempotencyKey: 'k' },
    { onAccepted: ({ runId }) => accepted.push(runId) },
  );
  const invoked = client.call('tools.invoke', {
    tool: 'sessions_send',
    args: { sessionKey: 'agent:b:main', message: 'SAY: also', timeoutSeconds: 20 },
    idempotencyKey: 'k2',
  });
  const unkeyed = client.call('tools.invoke', {
    tool: 'sessions_send',
    args: { sessionKey: 'agent:c:main', message: 'SAY: perhaps', timeoutSeconds: 20 },
  });
  await held.arrived(3);
  link.cut();
  await assert.rejects(unkeyed, { code: 'unavailable', details: { code: 'OUTCOME_UNKNOWN' } });
  held.release();
  const final = await run;
  assert.deepEqual([final.status, final.result.payloads], ['ok', [{ text: 'done' }]]);
  assert.deepEqual(accepted, [final.runId]);
  assert.equal(((await invoked).result as { reply: string }).reply, 'also');
  for (const key of [A, 'agent:b:main', 'agent:c:main'])
    assert.equal(usersOf(await world.history(key)).length, 1, key);
});

test('[CL4] messages are followed across lost connections, each once and in order', async (t) => {
  const world = await startWorld(t);
  const link = await openLink(t, world.gateway.port);
  const client = clientOf(t, world, { url: link.url });
  const { next } = watchStates(client);
  await world.say(A, 'SAY: before');
  const told = collectMessages();
  const followed = await client.followMessages({ key: 'main', onMessage: told.onMessage });
  assert.equal(followed.sessionKey, A);
  for (let n = 0; n < 5; n += 1) {
    const again = next('open');
    link.cut();
    await world.say(A, `SAY: ${n}`);
    if (n === 2) await world.client.request('sessions.reset', { key: A });
    await again;
  }
  await told.until(10);
  const texts = [0, 1, 2, 3, 4].flatMap((n) => [`SAY: ${n}`, `${n}`]);
  assert.deepEqual(
    told.messages.map(({ message }) => textOf(message)),
    texts,
  );
  assert.deepEqual(followed.position, { sessionId: told.messages.at(-1)?.sessionId, seq: 4 });
  const rest = collectMessages();
  const { sessionId } = told.messages[0]!;
  const other = clientOf(t, world);
  await other.followMessages({
    key: A,
    afterSeq: { sessionId, seq: 4 },
    onMessage: rest.onMessage,
  });
  await rest.until(8);
  assert.deepEqual(
    rest.messages.map(({ message }) => textOf(message)),
    texts.slice(2),
  );
});

test('[CL5] one subscription a session: a second one is refused, the first goes on without a gap', async (t) => {
  const world = await startWorld(t);
  const client = clientOf(t, world);
  const told = collectMessages();
  const nothing = (): void => {};
  const ends: unknown[] = [];
  await client.followMessages({ key: A, onMessage: told.onMessage });
  for (const key of [A, 'main']) {
    const [second] = await Promise.allSettled([
      client.followMessages({ key, onMessage: nothing, onEnd: (error) => ends.push(error?.code) }),
      world.say(A, `SAY: while ${key} is refused`),
    ]);
    assert.equal(second.status, 'rejected');
  }
  await told.until(4);
  assert.deepEqual(
    told.messages.map(({ seq }) => seq),
    [1, 2, 3, 4],
  );
  assert.deepEqual(ends, ['invalid_request', 'invalid_request']);
  const unknown = client.followMessages({ key: 'agent:a:none', onMessage: nothing });
  await assert.rejects(unknown, { code: 'not_found' });
  const beyond = client.followMessages({ key: 'agent:b:main', afterSeq: 9, onMessage: nothing });
  await assert.rejects(beyond, { code: 'invalid_request', message: /ends at 0/ });
});

test('[CL5] a subscription ends when it is closed, when its listener throws, and with the client', async (t) => {
  const world = await startWorld(t);
  const client = clientOf(t, world);
  const ends: string[] = [];
  const told = collectMessages();
  const follow = (key: string, name: string, onMessage: (message: SessionMessage) => void) =>
    client.followMessages({
      key,
      onMessage,
      onEnd: (error) => ends.push(`${name}: ${error?.code}`),
    });
  const first = await follow(A, 'closed', told.onMessage);
  await follow('agent:b:main', 'throws', () => {
    throw new Error('a fault of the listener');
  });
  await follow('agent:c:main', 'to the end', () => {});
  await world.say('agent:b:main', 'SAY: x');
  await world.say(A, 'SAY: x');
  await told.until(2);
  first.close();
  await world.say(A, 'SAY: not told');
  const again = collectMessages();
  await client.followMessages({ key: A, afterSeq: first.position, onMessage: again.onMessage });
  await again.until(2);
  assert.equal(told.messages.length, 2);
  await client.close();
  assert.deepEqual(ends, ['throws: internal', 'closed: undefined', 'to the end: unavailable']);
});

test('[CL6] events are typed by their name, and a listener that throws stops nothing', async (t) => {
  const world = await startWorld(t);
  const faults: unknown[] = [];
  const client = clientOf(t, world, { onListenerError: (error) => faults.push(error) });
  await client.call('health');
  const finals: string[] = [];
  client.on('chat', () => {
    throw new Error('a fault of the listener');
  });
  const stop = client.on('chat', (chat) => {
    if (chat.state === 'final') finals.push(chat.message?.content[0]?.text ?? '');
  });
  await world.say(A, 'SAY: heard');
  await client.call('health');
  stop();
  await world.say(A, 'SAY: unheard');
  await client.call('health');
  assert.deepEqual(finals, ['heard']);
  assert.ok(faults.length >= 2);
});

test('[CL7] a gateway that is not there is tried again, with pauses; calls wait for it up to their patience', async (t) => {
  const world = await startWorld(t);
  const link = await openLink(t, world.gateway.port);
  const tries = Promise.withResolvers<void>();
  let tried = 0;
  const url = await listen(t, (socket) => {
    socket.destroy();
    if ((tried += 1) === 2) tries.resolve();
  });
  const hopeless = clientOf(t, world, { url, patienceMs: 30 });
  // then it knows why it is not connected
  await tries.promise;
  await assert.rejects(hopeless.call('health'), {
    code: 'unavailable',
    message: /health was not sent: cannot connect to the gateway at .*trunkline gateway/,
    details: { code: 'NOT_CONNECTED' },
  });
  assert.equal(hopeless.state, 'connecting');
  const hasty = clientOf(t, world, { url, firstPatienceMs: 30 });
  await assert.rejects(hasty.call('health'), { details: { code: 'NOT_CONNECTED' } });
  const limited = hopeless.call('health', {}, { timeoutMs: 5 });
  await assert.rejects(limited, { code: 'unavailable', message: /within 5 ms/ });
  await hopeless.close();
  const client = clientOf(t, world, { url: link.url });
  await client.call('health');
  const { states, next } = watchStates(client);
  const again = next('open');
  link.cut();
  await again;
  assert.deepEqual(states, ['reconnecting', 'open']);
});

test('[CL7] a call larger than the gateway takes is refused before it is sent, and costs no connection', async (t) => {
  const door = await startGateway({ limits: { maxPayloadBytes: 200_000 } });
  t.after(() => door.gateway.close());
  const client = createClient({ url: door.url, token: TOKEN, firstRetryMs: 5 });
  t.after(() => client.close());
  await client.call('health');
  const { states } = watchStates(client);
  for (const cursor of ['x'.repeat(200_001), 'ä'.repeat(100_001)])
    await assert.rejects(client.request('sessions.list', { cursor }, { timeoutMs: 5000 }), {
      code: 'too_large',
      message: /sessions\.list was not sent.*200000 bytes/,
    });
  await client.call('sessions.list', { search: 'x'.repeat(200) });
  assert.deepEqual(states, []);
});

const nested = (levels: number): unknown => (levels === 0 ? 0 : [nested(levels - 1)]);

test('[CL7] a call that is nested too deep is refused before it is sent, and costs no connection', async (t) => {
  const door = await startGateway();
  t.after(() => door.gateway.close());
  const client = createClient({ url: door.url, token: TOKEN, firstRetryMs: 5 });
  t.after(() => client.close());
  await client.call('health');
  const { states } = watchStates(client);
  // two levels are the frame's and its parameters'
  await assert.rejects(client.request('sessions.list', { search: nested(63) }), {
    code: 'invalid_request',
    message: /sessions\.list was not sent.*deeper than 64 levels/,
  });
  await assert.rejects(client.request('sessions.list', { search: nested(62) }), /search/);
  assert.deepEqual(states, []);
});

test('[CL7] a call that ends every connection it is sent on is given up, and others go on', async (t) => {
  const door = await startGateway({ limits: { maxJsonDepth: 8 } });
  t.after(() => door.gateway.close());
  const client = createClient({ url: door.url, token: TOKEN, firstRetryMs: 5 });
  t.after(() => client.close());
  await assert.rejects(client.request('sessions.list', { search: nested(20) }), {
    code: 'invalid_request',
    message: /sessions\.list was given up: 3 connections ended.*deeper than 8 levels/,
  });
  assert.equal((await client.call('health')).ok, true);
});

test('[CL7] a gateway that does not let it in ends the client, and everything that waits', async (t) => {
  const world = await startWorld(t);
  const client = clientOf(t, world, { token: 'wrong' });
  const { states } = watchStates(client);
  const refused = { code: 'unauthorized' };
  const following = client.followMessages({ key: A, onMessage: () => {} });
  await Promise.all([
    assert.rejects(client.call('health'), refused),
    assert.rejects(client.call('sessions.patch', { key: A, label: 'x' }), refused),
    assert.rejects(following, refused),
  ]);
  await assert.rejects(client.call('health'), refused);
  assert.deepEqual(states, ['closed']);
});

test('[CL7] a client that is told its place anew goes on after the token was changed', async (t) => {
  const world = await startWorld(t);
  let { token } = world.gateway;
  const client = clientOf(t, world, { token: undefined, findPlace: () => ({ token }) });
  const { states, next } = watchStates(client);
  await client.call('health');
  const open = next('open');
  token = 'another-token';
  writeFileSync(join(world.gateway.stateDir, 'gateway.token'), `${token}\n`);
  await world.gateway.reload();
  await open;
  assert.equal((await client.call('sessions.list')).count, 3);
  assert.deepEqual(states, ['open', 'reconnecting', 'open']);
});

test('[CL7] a server that is no gateway is given up in time, and closing does not wait for it', async (t) => {
  const silent = await listen(t, () => {});
  const client = createClient({ url: silent, timeoutMs: 600_000 });
  const call = client.call('health');
  await client.close();
  await assert.rejects(call, { code: 'unavailable', details: { code: 'CLIENT_CLOSED' } });
  const bad = createClient({ url: 'no address' });
  await assert.rejects(bad.call('health'), { code: 'invalid_request' });
  await bad.close();
});

test('[CL3] the methods that are sent again are those that change nothing', () => {
  const reads = METHOD_NAMES.filter((method) => !METHODS[method].isWork);
  assert.deepEqual([...READ_METHODS].sort(), reads.sort());
});

test("[CL7] a gateway that falls silent counts as gone; what it brings later is nobody's", async (t) => {
  // so long that a busy machine does not keep three of them back
  const door = await startGateway({ limits: { tickIntervalMs: 250 } });
  t.after(() => door.gateway.close());
  const link = await openLink(t, door.port);
  const client = createClient({ url: link.url, token: TOKEN, firstRetryMs: 1 });
  t.after(() => client.close());
  await client.call('health');
  const { states, next } = watchStates(client);
  const changed: string[] = [];
  client.on('sessions.changed', ({ sessionKey }) => changed.push(sessionKey));
  const again = next('open');
  link.stall();
  door.events.emit({ type: 'session_changed', sessionKey: 'while silent' });
  const waiting = client.call('health');
  await again;
  assert.equal((await waiting).ok, true);
  link.resume();
  door.events.emit({ type: 'session_changed', sessionKey: 'afterwards' });
  await client.call('health');
  assert.deepEqual(changed, ['afterwards']);
  assert.deepEqual(states, ['reconnecting', 'open']);
});

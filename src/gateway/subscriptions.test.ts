import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { RunEvent } from '../service/run-events.ts';
import { eventsOf, settle, startGateway } from './test-gateway.suite.ts';
import type { TestGateway, TestSocket } from './test-gateway.suite.ts';

let door: TestGateway;
before(async () => (door = await startGateway({ clock: { now: () => 5000 } })));
after(() => door.gateway.close());

let runs = 0;
/** A run that streams in three pieces, calls a tool and ends. */
function playRun(
  ended: Partial<Extract<RunEvent, { type: 'ended' }>> = {},
  runId = `r${++runs}`,
): string {
  const at = { runId, sessionKey: 'agent:main:main' };
  const { emit } = door.events;
  emit({ ...at, type: 'started', startedAt: 10, attempt: 1 });
  emit({ ...at, type: 'delta', delta: 'Hello', text: 'Hello', replace: false });
  emit({ ...at, type: 'delta', delta: ' wor', text: 'Hello wor', replace: false });
  const call = { ...at, type: 'tool' as const, toolCallId: 'c1', name: 'read' };
  emit({ ...call, phase: 'start', args: { path: 'a' } });
  emit({ ...call, phase: 'end', result: 'text', isError: false });
  emit({ ...at, type: 'delta', delta: 'ld', text: 'Hello world', replace: false });
  const end = {
    state: 'ok' as const,
    reply: 'Hello world',
    startedAt: 10,
    endedAt: 20,
    delivered: false,
  };
  emit({ ...at, type: 'ended', ...end, ...ended });
  return runId;
}
async function seen(socket: TestSocket, runId: string) {
  await settle(socket);
  const of = (event: string) =>
    eventsOf(socket, event)
      .filter((payload) => payload['runId'] === runId)
      .map(({ runId: _runId, sessionKey: _key, ...rest }) => rest);
  return { chat: of('chat'), agent: of('agent') };
}
const message = (text: string, timestamp = 5000) => ({
  role: 'assistant',
  content: [{ type: 'text', text }],
  timestamp,
});

test('[GW12] protocol 4 streams deltaText, and the final event has the full text', async () => {
  const socket = await door.connect();
  const { chat, agent } = await seen(socket, playRun());
  assert.deepEqual(chat, [
    { seq: 1, state: 'delta', deltaText: 'Hello' },
    { seq: 2, state: 'delta', deltaText: ' wor' },
    { seq: 3, state: 'delta', deltaText: 'ld' },
    { seq: 4, state: 'final', message: message('Hello world', 20) },
  ]);
  assert.deepEqual(agent, [
    { seq: 1, ts: 5000, stream: 'lifecycle', data: { phase: 'start', startedAt: 10, attempt: 1 } },
    {
      seq: 2,
      ts: 5000,
      stream: 'lifecycle',
      data: { phase: 'end', outcome: 'ok', startedAt: 10, endedAt: 20 },
    },
  ]);
});

test('[GW13] protocol 3 gets cumulative messages, at most three an answer', async () => {
  const socket = await door.connect({ maxProtocol: 3 });
  const { chat } = await seen(socket, playRun());
  assert.deepEqual(chat, [
    { seq: 1, state: 'delta', message: message('Hello') },
    { seq: 2, state: 'final', message: message('Hello world', 20) },
  ]);
  const at = { runId: 'long', sessionKey: 'agent:main:main' };
  let text = '';
  for (let i = 0; i < 500; i++) {
    text += 'twelve chars';
    door.events.emit({ ...at, type: 'delta', delta: 'twelve chars', text, replace: false });
  }
  const deltas = (await seen(socket, 'long')).chat;
  assert.equal(deltas.length, 3);
});

test('[GW12] after replace the whole text comes again, in both versions', async () => {
  const four = await door.connect();
  const three = await door.connect({ maxProtocol: 3 });
  const at = { runId: 'again', sessionKey: 'agent:main:main' };
  door.events.emit({ ...at, type: 'delta', delta: 'first', text: 'first', replace: false });
  door.events.emit({ ...at, type: 'delta', delta: 'second', text: 'second', replace: true });
  assert.deepEqual((await seen(four, 'again')).chat.at(-1), {
    seq: 2,
    state: 'delta',
    deltaText: 'second',
    replace: true,
    message: message('second'),
  });
  const ended = { state: 'ok' as const, reply: 'second', endedAt: 20, delivered: false };
  door.events.emit({ ...at, type: 'ended', ...ended });
  assert.deepEqual((await seen(three, 'again')).chat.at(-1)?.['message'], message('second', 20));
});

test('[GW12] who connects in the middle gets the whole text so far first', async () => {
  const at = { runId: 'middle', sessionKey: 'agent:main:main' };
  door.events.emit({ ...at, type: 'delta', delta: 'one ', text: 'one ', replace: false });
  const late = await door.connect();
  door.events.emit({ ...at, type: 'delta', delta: 'two', text: 'one two', replace: false });
  // what is held back goes before what follows it
  door.events.emit({ ...at, type: 'tool', phase: 'start', toolCallId: 'c', name: 'read' });
  assert.deepEqual((await seen(late, 'middle')).chat, [
    { seq: 1, state: 'delta', deltaText: 'one two' },
  ]);
});

test('[GW14] who started the run with agent gets its text as agent events, all others as chat', async () => {
  const starter = await door.connect();
  const other = await door.connect();
  const accepted = await starter.request('agent', { message: 'm', idempotencyKey: 'gw14' });
  const { runId } = (accepted.ok ? accepted.payload : {}) as { runId: string };
  playRun({}, runId);
  const mine = await seen(starter, runId);
  assert.deepEqual(mine.chat, []);
  assert.deepEqual(
    mine.agent.filter(({ stream }) => stream === 'assistant').map(({ data }) => data),
    [
      { delta: 'Hello' },
      { delta: ' wor' },
      { delta: 'ld' },
      { text: 'Hello world', delta: '', final: true },
    ],
  );
  assert.deepEqual(
    mine.agent.map(({ seq }) => seq),
    [1, 2, 3, 4, 5, 6],
  );
  const theirs = await seen(other, runId);
  assert.equal(theirs.chat.length, 4);
  assert.ok(theirs.agent.every(({ stream }) => stream === 'lifecycle'));
});

test('[GW14] the capability agent-text gives both; protocol 3 has text and delta', async () => {
  const socket = await door.connect({ caps: ['agent-text'], maxProtocol: 3 });
  const { chat, agent } = await seen(socket, playRun());
  assert.deepEqual(
    chat.map(({ state }) => state),
    ['delta', 'final'],
  );
  assert.deepEqual(
    agent.filter(({ stream }) => stream === 'assistant').map(({ data }) => data),
    [
      { text: 'Hello', delta: 'Hello' },
      { text: 'Hello world', delta: ' world', final: true },
    ],
  );
});

test('[GW15] tool events come only with the capability tool-events', async () => {
  const socket = await door.connect({ caps: ['tool-events'] });
  const { agent } = await seen(socket, playRun());
  assert.deepEqual(
    agent.filter(({ stream }) => stream === 'tool').map(({ data }) => data),
    [
      { phase: 'start', toolCallId: 'c1', name: 'read', args: { path: 'a' } },
      { phase: 'end', toolCallId: 'c1', name: 'read', result: 'text', isError: false },
    ],
  );
});

test('[GW15] nobody without operator.read is told anything', async () => {
  const socket = await door.connect({ scopes: ['operator.pairing'] });
  playRun();
  await socket.request('health');
  assert.deepEqual([...eventsOf(socket, 'chat'), ...eventsOf(socket, 'agent')], []);
});

const endings: {
  ended: Partial<Extract<RunEvent, { type: 'ended' }>>;
  chat: object;
  phase: string;
}[] = [
  {
    ended: { state: 'error', reply: '', error: 'model failed' },
    chat: { state: 'error', errorMessage: 'model failed', errorKind: 'error' },
    phase: 'error',
  },
  {
    ended: { state: 'timeout', reply: '' },
    chat: { state: 'error', errorMessage: 'the run ended with timeout', errorKind: 'timeout' },
    phase: 'error',
  },
  {
    ended: { state: 'aborted', reply: 'Hel' },
    chat: { state: 'aborted', message: message('Hel', 20) },
    phase: 'error',
  },
  { ended: { state: 'ok', reply: '' }, chat: { state: 'final' }, phase: 'end' },
];
for (const { ended, chat, phase } of endings)
  test(`[GW15] a run that ended ${ended.state} with reply "${ended.reply}" closes its streams`, async () => {
    const socket = await door.connect();
    const all = await seen(socket, playRun(ended));
    const { seq: _seq, ...last } = all.chat.at(-1) ?? {};
    assert.deepEqual(last, chat);
    assert.equal((all.agent.at(-1)?.['data'] as { phase: string } | undefined)?.phase, phase);
  });

test('[GW17] the final event of a delivered reply is the delivery, and its seq goes on', async () => {
  const socket = await door.connect();
  const runId = playRun({ delivered: true });
  assert.ok((await seen(socket, runId)).chat.every(({ state }) => state === 'delta'));
  const at = { runId, sessionKey: 'agent:main:main' };
  door.events.emit({ ...at, type: 'chat_delivery', deliveryId: 'd1', text: 'Hello world' });
  assert.deepEqual((await seen(socket, runId)).chat.at(-1), {
    seq: 4,
    state: 'final',
    message: message('Hello world'),
    deliveryId: 'd1',
  });
});

test('[GW16, BR-119] silence words never reach a watcher while they stream', async () => {
  const socket = await door.connect();
  const at = { runId: 'silent', sessionKey: 'agent:main:main' };
  for (const text of ['NO', 'NO_RE', 'NO_REPLY'])
    door.events.emit({ ...at, type: 'delta', delta: '', text, replace: false });
  const ended = { state: 'ok' as const, reply: '', endedAt: 20, delivered: false };
  door.events.emit({ ...at, type: 'ended', ...ended });
  assert.deepEqual((await seen(socket, 'silent')).chat, [{ seq: 1, state: 'final' }]);
});

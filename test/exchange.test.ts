import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { textOf } from '../src/protocol/message.ts';
import { call, outlineOf, startWorld, usersOf, type TestWorld } from './helpers/test-world.ts';

const A = 'agent:a:main';
const B = 'agent:b:main';

/** a asks b from a run of its own; resolves when everything that follows has ended. */
async function ask(world: TestWorld, message: string, extra: Record<string, unknown> = {}) {
  await world.say(A, `${call('sessions_send', { sessionKey: B, message, ...extra })}\nSAY: thanks`);
  await world.quiet();
  const [answer] = await world.toolAnswers(A);
  const exchange = await world.store.read((tx) => tx.exchanges.get(String(answer?.['runId'])));
  return { answer, exchange };
}

const talking = (t: TestContext, maxPingPongTurns: number) =>
  startWorld(t, { talk: true, config: { session: { agentToAgent: { maxPingPongTurns } } } });

test('[EX6, BR-030] one turn means exactly one further turn after a reply of round 1, and the end says why', async (t) => {
  const world = await talking(t, 1);
  const { answer, exchange } = await ask(world, 'SAY: first');
  assert.deepEqual([answer?.['status'], answer?.['reply']], ['ok', 'first']);
  assert.deepEqual(outlineOf(await world.history(A)).slice(-2), [
    'user: first',
    'assistant: PONG 1',
  ]);
  assert.deepEqual(
    [exchange?.state, exchange?.turns, exchange?.endReason, exchange?.latestReply],
    ['done', 1, 'max_turns', 'PONG 1'],
  );
});

test('[EX7] no turn follows when the limit, or the one of this message, is 0', async (t) => {
  const world = await talking(t, 5);
  const { exchange } = await ask(world, 'SAY: first', { maxTurns: 0 });
  assert.deepEqual([exchange?.turns, exchange?.endReason], [0, 'max_turns']);
  assert.equal(usersOf(await world.history(B)).length, 1);
});

test('[EX8] the two sides alternate up to the limit, each turn with the provenance of the other side', async (t) => {
  const world = await talking(t, 5);
  const { exchange } = await ask(world, 'SAY: first');
  assert.deepEqual([exchange?.turns, exchange?.endReason], [5, 'max_turns']);
  const sourcesOf = async (key: string) =>
    usersOf(await world.history(key)).flatMap(
      ({ provenance }) => provenance?.sourceSessionKey ?? [],
    );
  assert.deepEqual(await sourcesOf(A), [B, B, B]);
  assert.deepEqual(await sourcesOf(B), [A, A, A]);
  const hops = usersOf(await world.history(A)).flatMap(({ provenance }) => provenance?.hops ?? []);
  assert.deepEqual(hops, [2, 4, 6]);
});

test('[EX9] exactly REPLY_SKIP ends the loop and is kept as nobody’s reply', async (t) => {
  const world = await startWorld(t);
  const { exchange } = await ask(world, 'SAY: first');
  assert.deepEqual(
    [exchange?.turns, exchange?.endReason, exchange?.latestReply],
    [1, 'reply_skip', 'first'],
  );
});

test('[EX10, BR-215] an empty reply has no turns and no announce', async (t) => {
  const world = await talking(t, 5);
  for (const script of ['EMPTY', 'SAY:   ']) {
    const { answer, exchange } = await ask(world, script);
    assert.equal(answer?.['status'], 'ok', script);
    assert.deepEqual([exchange?.turns, exchange?.endReason], [0, 'empty'], script);
  }
  assert.deepEqual(await world.store.read((tx) => tx.deliveries.ofSession(B, 10)), []);
});

test('[EX11] a failed primary run ends the exchange', async (t) => {
  const world = await talking(t, 5);
  const { answer, exchange } = await ask(world, 'FAIL: 400 broken');
  assert.equal(answer?.['status'], 'error');
  assert.deepEqual([exchange?.turns, exchange?.endReason], [0, 'error']);
});

test('[EX12, BR-036] the announce goes to the chat of the target, once, and only when it has one', async (t) => {
  const world = await talking(t, 1);
  await world.say(B, 'SAY: hello');
  const { exchange } = await ask(world, 'SAY: first');
  const sent = await world.store.read((tx) => tx.deliveries.ofSession(B, 10));
  const announces = sent.filter(({ runId }) => runId === `${exchange?.exchangeId}:announce`);
  assert.deepEqual(
    announces.map(({ state, channel, text }) => ({ state, channel, text })),
    [{ state: 'sent', channel: 'webchat', text: 'ANNOUNCE 1' }],
  );
  const prompt = world.model.requests.at(-1)?.raw ?? '';
  for (const part of ['Agent-to-agent announce step', 'SAY: first', 'Your first reply', 'PONG 1']) {
    assert.ok(prompt.includes(part), part);
  }
  assert.equal(
    (world.model.requests.at(-1)?.body['tools'] as unknown[] | undefined)?.length ?? 0,
    0,
  );
});

test('[EX13] a target without a chat has no announce turn: no model call whose words go nowhere', async (t) => {
  const world = await talking(t, 1);
  await ask(world, 'SAY: first');
  const prompts = world.model.requests.filter(({ raw }) =>
    raw.includes('Agent-to-agent announce step'),
  );
  assert.equal(prompts.length, 0);
});

test('[EX14] a call from outside a run starts no exchange', async (t) => {
  const world = await talking(t, 5);
  await world.tool('sessions_send', { sessionKey: B, message: 'SAY: x' });
  await world.quiet();
  assert.deepEqual(outlineOf(await world.history(B)), ['user: SAY: x', 'assistant: x']);
  assert.deepEqual(await world.history(A), []);
});

test('[EX15] the exchange runs also when the caller did not wait, and when its wait had elapsed', async (t) => {
  const world = await talking(t, 1);
  for (const timeoutSeconds of [0, 0.05]) {
    const { exchange } = await ask(world, 'SLEEP: 150\nSAY: first', { timeoutSeconds });
    assert.equal(exchange?.endReason, 'max_turns', String(timeoutSeconds));
  }
});

test('[EX16] a newer send of the same pair closes the older exchange', async (t) => {
  const world = await talking(t, 5);
  const send = call('sessions_send', { sessionKey: B, message: 'SAY: x', timeoutSeconds: 10 });
  await world.say(A, `${send}\n${send}\nSAY: ok`);
  await world.quiet();
  const ids = (await world.toolAnswers(A)).map((answer) => String(answer['runId']));
  const ends = await world.store.read((tx) => Promise.all(ids.map((id) => tx.exchanges.get(id))));
  assert.deepEqual(
    ends.map((end) => end?.endReason),
    ['superseded', 'max_turns'],
  );
});

test('[LP3, BR-031] a chain over three agents stops with an error that names the loop', async (t) => {
  const chain = [A, B, 'agent:c:main'];
  // Whatever an agent is told, it passes on to the next one, without waiting.
  const rewrite = (_text: string, raw: string): string => {
    const at = chain.findIndex((key) => raw.includes(`Your session is ${key}`));
    const next = chain[(at + 1) % chain.length];
    return `${call('sessions_send', { sessionKey: next, message: 'pass it on', timeoutSeconds: 0 })}\nSAY: ok`;
  };
  const config = { session: { agentToAgent: { maxPingPongTurns: 0 } } };
  const world = await startWorld(t, { rewrite, config });
  await world.say(A, 'start');
  await world.quiet();
  const answers = (await Promise.all(chain.map((key) => world.toolAnswers(key)))).flat();
  const refused = answers.filter((answer) => answer['status'] === 'error');
  assert.equal(answers.filter((answer) => answer['status'] === 'accepted').length, 16);
  assert.equal(refused.length, 1);
  assert.match(String(refused[0]?.['error']), /loop stopped: .*maxHops is 16/);
});

test('[LP4, BR-155] a wait that would close a cycle is refused at once and names it', async (t) => {
  const world = await startWorld(t);
  const toA = call('sessions_send', { sessionKey: A, message: 'SAY: never', timeoutSeconds: 20 });
  const toC = call('sessions_send', {
    sessionKey: 'agent:c:main',
    message: `${toA}`,
    timeoutSeconds: 20,
  });
  const toB = call('sessions_send', { sessionKey: B, message: `${toC}`, timeoutSeconds: 20 });
  await world.say(A, toB);
  const [refused] = await world.toolAnswers('agent:c:main');
  assert.equal(refused?.['status'], 'error');
  assert.match(
    String(refused?.['error']),
    /agent:c:main waits for agent:a:main waits for agent:b:main waits for agent:c:main/,
  );
  await world.quiet();
  const texts = usersOf(await world.history(A)).map((message) => textOf(message));
  assert.ok(!texts.includes('SAY: never'), 'nothing was enqueued');
});

test('[LP5] notes count like messages: an agent cannot flood another with them', async (t) => {
  const config = { session: { agentToAgent: { maxEdgeRepeats: 2 } } };
  const world = await startWorld(t, { config });
  const note = call('sessions_send', { sessionKey: B, message: 'fyi', mode: 'note' });
  await world.say(A, `${note}\n${note}\n${note}\nSAY: ok`);
  const answers = await world.toolAnswers(A);
  assert.deepEqual(
    answers.map(({ status }) => status),
    ['accepted', 'accepted', 'error'],
  );
  assert.match(String(answers[2]?.['error']), /maxEdgeRepeats is 2/);
});

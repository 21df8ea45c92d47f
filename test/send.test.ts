import assert from 'node:assert/strict';
import { test } from 'node:test';
import { textOf } from '../src/protocol/message.ts';
import { call, outlineOf, startWorld, usersOf } from './helpers/test-world.ts';

const B = 'agent:b:main';

test('[SS1] a send that is answered in time is `ok` with the reply and the outcome', async (t) => {
  const world = await startWorld(t);
  const answer = await world.tool('sessions_send', { sessionKey: B, message: 'SAY: hello' });
  const { runId, ...rest } = answer;
  assert.equal(typeof runId, 'string');
  assert.deepEqual(rest, {
    status: 'ok',
    sessionKey: B,
    messageState: 'done',
    outcome: 'ok',
    reply: 'hello',
  });
});

test('[SS2] timeoutSeconds 0 answers `accepted` at once and the run goes on', async (t) => {
  const world = await startWorld(t);
  const answer = await world.tool('sessions_send', {
    sessionKey: B,
    message: 'SAY: later',
    timeoutSeconds: 0,
  });
  assert.equal(answer['status'], 'accepted');
  assert.equal(answer['messageState'], 'queued');
  await world.quiet();
  assert.deepEqual(outlineOf(await world.history(B)), ['user: SAY: later', 'assistant: later']);
});

test('[SS3, BR-017] an elapsed wait says that the run goes on; the message stands once and the reply follows', async (t) => {
  const world = await startWorld(t);
  const answer = await world.tool('sessions_send', {
    sessionKey: B,
    message: 'SLEEP: 700\nSAY: done',
    timeoutSeconds: 0.2,
  });
  assert.equal(answer['status'], 'timeout');
  assert.equal(answer['messageState'], 'running');
  assert.equal(answer['outcome'], undefined);
  assert.match(String(answer['error']), /still running: do not send it again/);
  await world.quiet();
  const messages = await world.history(B);
  assert.equal(usersOf(messages).length, 1);
  assert.equal(textOf(messages.at(-1)!), 'done');
  const wait = await world.client.request('agent.wait', { runId: answer['runId'] });
  assert.equal(wait['status'], 'ok');
});

test('[SS4, BR-020] a failing target is `error` with its cause, not a timeout', async (t) => {
  const world = await startWorld(t);
  world.model.failNext({ kind: 'status', status: 429 }, 20);
  const answer = await world.tool('sessions_send', {
    sessionKey: B,
    message: 'm',
    timeoutSeconds: 10,
  });
  assert.equal(answer['status'], 'error');
  assert.equal(answer['outcome'], 'error');
  assert.match(String(answer['error']), /429/);
});

test('[SS5, BR-027] retries of the model call never append the message again', async (t) => {
  const world = await startWorld(t);
  world.model.failNext({ kind: 'status', status: 429 }, 2);
  const answer = await world.tool('sessions_send', { sessionKey: B, message: 'SAY: third time' });
  assert.equal(answer['reply'], 'third time');
  assert.equal(usersOf(await world.history(B)).length, 1);
});

test('[SS6, BR-032, BR-106] nobody sends to itself, by any spelling, and nothing is stored', async (t) => {
  const world = await startWorld(t);
  const row = await world.store.read((tx) => tx.sessions.get('agent:a:main'));
  for (const sessionKey of [
    'agent:a:main',
    'main',
    'current',
    'AGENT:A:MAIN',
    String(row?.sessionId),
  ]) {
    const answer = await world.tool('sessions_send', {
      sessionKey,
      message: 'x',
      timeoutSeconds: 2,
    });
    assert.equal(answer['status'], 'error', sessionKey);
    assert.match(String(answer['error']), /cannot send to self/);
  }
  const counts = await world.store.read(async (tx) => ({
    runs: await tx.runs.countByState(),
    deliveries: await tx.deliveries.ofSession('agent:a:main', 10),
  }));
  assert.deepEqual(counts, { runs: {}, deliveries: [] });
});

test('[SS7] the message is stored with the provenance that the gateway gives it', async (t) => {
  const world = await startWorld(t);
  await world.say(
    'main',
    `${call('sessions_send', { sessionKey: B, message: 'SAY: x' })}\nSAY: ok`,
  );
  const [primary] = usersOf(await world.history(B));
  const { rootRunId, ...provenance } = primary!.provenance!;
  assert.equal(typeof rootRunId, 'string');
  assert.deepEqual(provenance, {
    kind: 'inter_session',
    sourceSessionKey: 'agent:a:main',
    sourceChannel: 'webchat',
    sourceTool: 'sessions_send',
    hops: 1,
  });
  assert.equal(textOf(primary!), 'SAY: x');
});

test('[SS8, BR-035, BR-064] the target is told the exact key of the requester, in memory only', async (t) => {
  const world = await startWorld(t);
  const requester = 'agent:a:whatsapp:group:G1@x';
  await world.say(
    requester,
    `${call('sessions_send', { sessionKey: B, message: 'SAY: x' })}\nSAY: ok`,
  );
  const primary = world.model.requests.find(({ raw }) => raw.includes('to agent:b:main'));
  assert.ok(primary?.raw.includes(`from ${requester} (whatsapp)`));
  await world.quiet();
  const turn = usersOf(await world.history(requester)).at(-1);
  assert.equal(turn?.provenance?.sourceSessionKey, B, 'the reply-back turn runs in the requester');
  assert.equal(turn.provenance.kind, 'inter_session', 'what a peer says is no person’s word');
});

test('[SS9] the same key and content give the first answer, other content is refused', async (t) => {
  const world = await startWorld(t);
  const args = { sessionKey: B, message: 'SAY: once', idempotencyKey: 'k1' };
  const first = await world.tool('sessions_send', args);
  const again = await world.tool('sessions_send', args);
  assert.deepEqual(again, first);
  assert.equal(usersOf(await world.history(B)).length, 1);
  const other = await world.tool('sessions_send', { ...args, message: 'SAY: twice' });
  assert.equal(other['status'], 'error');
  assert.match(String(other['error']), /idempotencyKey was used for another message/);
});

test('[SS10] a note joins the next turn of the target and starts none', async (t) => {
  const world = await startWorld(t);
  const note = await world.tool('sessions_send', {
    sessionKey: B,
    message: 'by the way',
    mode: 'note',
  });
  assert.equal(note['status'], 'accepted');
  await world.quiet();
  assert.deepEqual(await world.history(B), []);
  const pending = await world.client.request('agent.wait', { runId: note['runId'], timeoutMs: 10 });
  assert.equal(pending['messageState'], 'queued');
  await world.say(B, 'SAY: hi');
  assert.deepEqual(outlineOf(await world.history(B)), [
    'user: by the way',
    'user: SAY: hi',
    'assistant: hi',
  ]);
  const done = await world.client.request('agent.wait', { runId: note['runId'] });
  assert.equal(done['status'], 'ok');
});

test('[SS11] a send to a denied session is refused before anything is stored, at every door', async (t) => {
  const world = await startWorld(t);
  await world.client.request('sessions.patch', { key: B, sendPolicy: 'deny' });
  const tool = await world.tool('sessions_send', { sessionKey: B, message: 'x' });
  assert.equal(tool['status'], 'forbidden');
  assert.match(String(tool['error']), /send blocked by session policy/);
  for (const method of ['agent', 'chat.send']) {
    const params = { sessionKey: B, message: 'x', idempotencyKey: `k-${method}` };
    await assert.rejects(world.client.request(method, params), /send blocked by session policy/);
  }
  assert.deepEqual(await world.store.read((tx) => tx.runs.countByState()), {});
});

test('[SS12] a target that is busy takes the message in its own order', async (t) => {
  const world = await startWorld(t);
  const send = (message: string) =>
    world.tool('sessions_send', { sessionKey: B, message, timeoutSeconds: 10 });
  const answers = await Promise.all([send('SLEEP: 200\nSAY: 1'), send('SAY: 2'), send('SAY: 3')]);
  assert.deepEqual(
    answers.map((answer) => answer['status']),
    ['ok', 'ok', 'ok'],
  );
  const roles = (await world.history(B)).map((message) => message.role);
  assert.deepEqual(roles, ['user', 'assistant', 'user', 'assistant', 'user', 'assistant']);
});

test('[SS13] a turn without visible text is `ok` with an empty reply that says so', async (t) => {
  const world = await startWorld(t);
  for (const script of ['EMPTY', 'SAY: NO_REPLY']) {
    const answer = await world.tool('sessions_send', { sessionKey: B, message: script });
    assert.deepEqual(
      [answer['status'], answer['reply'], answer['noReply']],
      ['ok', '', true],
      script,
    );
  }
});

/** One session by the names that OpenClaw's clients use: preview, resolve, get, send, abort, inject. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { connectGateway } from '../src/client/gateway-client.ts';
import { GatewayError } from '../src/protocol/errors.ts';
import type { SessionMessages, SessionPreviews } from '../src/protocol/answers/session-answers.ts';
import { textOf } from '../src/protocol/message.ts';
import { collectMessages } from './helpers/collected-messages.ts';
import { call, startWorld, type TestWorld } from './helpers/test-world.ts';

type Json = Record<string, unknown>;
const A = 'agent:a:main';
const B = 'agent:b:main';
const GROUP = 'agent:a:telegram:group:g1';

const refusal = (code: string, says: RegExp) => (error: unknown) =>
  error instanceof GatewayError && error.code === code && says.test(error.message);
const ask = (world: TestWorld, method: string, params: Json) =>
  world.client.request(method, params);
const texts = async (world: TestWorld, key: string): Promise<string[]> =>
  (await world.history(key)).map((message) => `${message.role}: ${textOf(message)}`);
/** Of `chat.history`. */
const pendingOf = async (world: TestWorld, sessionKey: string): Promise<unknown[]> =>
  ((await ask(world, 'chat.history', { sessionKey }))['pending'] as Json[]).map(
    ({ message }) => message,
  );
/** Sends what keeps the session at work, and resolves once it is. */
async function keepBusy(world: TestWorld, sessionKey: string): Promise<string> {
  const started = new Promise<void>((resolve) => {
    const stop = world.client.on(({ event, payload }) => {
      if (event !== 'agent' || (payload as Json)['sessionKey'] !== sessionKey) return;
      stop();
      resolve();
    });
  });
  const sent = {
    key: sessionKey,
    message: 'SLEEP: 60000\nSAY: never',
    idempotencyKey: randomUUID(),
  };
  const { runId } = await ask(world, 'sessions.send', sent);
  await started;
  return String(runId);
}

test('[GW33] sessions.preview has the newest messages of several sessions in few words, in the order of the keys', async (t) => {
  const world = await startWorld(t);
  await world.say(A, `${call('agents_list', {})}\nSAY: ${'long '.repeat(100)}`);
  await world.say(GROUP, 'SAY: one');
  await world.say(GROUP, 'SAY: two');
  const keys = [GROUP, 'agent:a:telegram:group:none', 'main', B, 'not a key?'];
  const answer = await world.client.request<SessionPreviews>('sessions.preview', {
    keys,
    limit: 3,
    maxChars: 40,
  });
  assert.equal(typeof answer.ts, 'number');
  assert.deepEqual(
    answer.previews.map(({ key, status }) => [key, status]),
    [
      [GROUP, 'ok'],
      [keys[1], 'missing'],
      ['main', 'ok'],
      [B, 'empty'],
      [keys[4], 'missing'],
    ],
  );
  assert.deepEqual(answer.previews[0]?.items, [
    { role: 'assistant', text: 'one' },
    { role: 'user', text: 'SAY: two' },
    { role: 'assistant', text: 'two' },
  ]);
  const [asked, called, said] = answer.previews[2]?.items ?? [];
  assert.equal(asked?.role, 'user');
  assert.deepEqual(called, { role: 'tool', text: 'calls agents_list' });
  assert.match(said?.text ?? '', /^long long .*…$/);
  assert.ok(answer.previews.every(({ items }) => items.every(({ text }) => text.length <= 40)));
  assert.deepEqual((await ask(world, 'sessions.preview', { keys: [] }))['previews'], []);
  await assert.rejects(
    ask(world, 'sessions.preview', { keys: Array.from({ length: 65 }, () => A) }),
    refusal('invalid_request', /keys: must have at most 64 keys/),
  );
});

test('[GW34] sessions.resolve gives the canonical key of a key, a sessionId or a label', async (t) => {
  const world = await startWorld(t);
  await world.say(GROUP, 'SAY: here');
  const { sessionId } = await ask(world, 'chat.history', { sessionKey: GROUP });
  await ask(world, 'sessions.patch', { key: GROUP, label: 'crew' });
  const found = { ok: true, key: GROUP, agentId: 'a' };
  assert.deepEqual(
    await ask(world, 'sessions.resolve', { key: ` ${GROUP.toUpperCase().replace('G1', 'g1')} ` }),
    found,
  );
  assert.deepEqual(await ask(world, 'sessions.resolve', { sessionId }), found);
  assert.deepEqual(await ask(world, 'sessions.resolve', { label: ' crew ', agentId: 'A' }), found);
  const main = { ok: true, key: A, agentId: 'a' };
  const flags = { includeGlobal: true, includeUnknown: false };
  assert.deepEqual(await ask(world, 'sessions.resolve', { key: 'main', ...flags }), main);

  await ask(world, 'sessions.patch', { key: B, label: 'crew' });
  const refused: [Json, string, RegExp][] = [
    [
      { key: 'agent:a:telegram:group:none' },
      'not_found',
      /group:none" not found; see sessions.list/,
    ],
    [{ sessionId: randomUUID() }, 'not_found', /not found/],
    [{ label: 'crews' }, 'not_found', /label "crews" not found/],
    [{ label: 'crew' }, 'invalid_request', /ambiguous; pass one of these keys.*agent:b:main/],
    [{ label: 'crew', agentId: 'c' }, 'not_found', /label "crew" not found/],
    [{ key: GROUP, agentId: 'b' }, 'invalid_request', /agentId b and the session of agent a/],
    [{ key: GROUP, spawnedBy: 'main' }, 'not_found', /was not spawned by agent:a:main/],
    [{ key: GROUP, label: 'crew' }, 'invalid_request', /exactly one of key, sessionId and label/],
    [{ agentId: 'a' }, 'invalid_request', /exactly one of key, sessionId and label/],
    [{ kee: 'x' }, 'invalid_request', /unknown parameter "kee", nearest: "key"/],
  ];
  for (const [params, code, says] of refused)
    await assert.rejects(ask(world, 'sessions.resolve', params), refusal(code, says));
});

test('[GW34] below a session a label is looked for among what it has spawned', async (t) => {
  const world = await startWorld(t);
  const spawn = { task: 'SAY: done', label: 'helper' };
  for (const key of [A, B]) await world.say(key, `${call('sessions_spawn', spawn)}\nSAY: ok`);
  await world.quiet();
  const childOf = async (key: string) => (await world.toolAnswers(key)).at(-1)?.['childSessionKey'];
  for (const spawnedBy of [A, B]) {
    const { key } = await ask(world, 'sessions.resolve', { label: 'helper', spawnedBy });
    assert.equal(key, await childOf(spawnedBy));
    assert.equal((await ask(world, 'sessions.resolve', { key, spawnedBy }))['key'], key);
  }
  await assert.rejects(
    ask(world, 'sessions.resolve', { label: 'helper', spawnedBy: A, agentId: 'c' }),
    refusal('not_found', /label "helper" not found/),
  );
});

test('[GW35] sessions.get leads page by page to the beginning of a transcript', async (t) => {
  const world = await startWorld(t);
  for (const word of ['one', 'two', 'three']) await world.say(A, `SAY: ${word}`);
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await world.client.request<SessionMessages>('sessions.get', {
      key: 'main',
      limit: 2,
      ...(cursor === undefined ? {} : { cursor }),
    });
    assert.equal(page.sessionKey, A);
    seen.unshift(...page.messages.map(textOf));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  assert.deepEqual(seen, (await world.history(A)).map(textOf));
  const whole = await ask(world, 'sessions.get', { sessionKey: A });
  assert.deepEqual(whole, await ask(world, 'chat.history', { sessionKey: A }));
  for (const [params, says] of [
    [{ key: A, sessionKey: A }, /exactly one of key and sessionKey/],
    [{ key: A, cursor: 'x' }, /sessions.get: cursor is not one of this history/],
  ] as const)
    await assert.rejects(ask(world, 'sessions.get', params), refusal('invalid_request', says));
});

test('[GW35] sessions.send is chat.send by another name: one key is one message, whichever is called', async (t) => {
  const world = await startWorld(t);
  const idempotencyKey = randomUUID();
  const message = { message: 'SAY: once', idempotencyKey };
  const sent = await ask(world, 'sessions.send', { key: 'main', ...message });
  assert.deepEqual([sent['status'], sent['sessionKey']], ['started', A]);
  await ask(world, 'agent.wait', { runId: sent['runId'], timeoutMs: 20_000 });
  for (const again of [
    await ask(world, 'sessions.send', { key: A, ...message }),
    await ask(world, 'chat.send', { sessionKey: A, ...message }),
  ])
    assert.deepEqual(
      [again['runId'], again['status'], again['outcome']],
      [sent['runId'], 'ok', 'ok'],
    );
  assert.deepEqual(await texts(world, A), ['user: SAY: once', 'assistant: once']);
  await assert.rejects(
    ask(world, 'sessions.send', { key: A, message: 'other', idempotencyKey }),
    refusal('key_conflict', /another message/),
  );
  await assert.rejects(
    ask(world, 'sessions.send', { key: A, message: 'hi' }),
    refusal('invalid_request', /sessions.send needs idempotencyKey/),
  );
});

test('[GW35] sessions.abort stops what a session is at and what waits there, or one run by its id', async (t) => {
  const world = await startWorld(t);
  const going = await keepBusy(world, A);
  const waiting = { sessionKey: A, message: 'SAY: later', idempotencyKey: randomUUID() };
  const { runId: queued } = await ask(world, 'chat.send', waiting);
  const stopped = await ask(world, 'sessions.abort', { key: 'main' });
  assert.deepEqual(stopped, {
    ok: true,
    status: 'aborted',
    abortedRunId: (stopped['runIds'] as string[])[0],
    runIds: stopped['runIds'],
  });
  assert.deepEqual(new Set(stopped['runIds'] as string[]), new Set([going, String(queued)]));
  await world.quiet();
  const nothing = { ok: true, status: 'no-active-run', abortedRunId: null, runIds: [] };
  assert.deepEqual(await ask(world, 'sessions.abort', { key: A }), nothing);
  const other = await keepBusy(world, B);
  await assert.rejects(
    ask(world, 'sessions.abort', { key: A, runId: other }),
    refusal('invalid_request', /is not one of session/),
  );
  assert.equal((await ask(world, 'sessions.abort', { runId: other }))['abortedRunId'], other);
  await world.quiet();
  const { lines } = await world.client.request<{ lines: Json[] }>('audit.list', {});
  assert.deepEqual(
    lines.map(({ action }) => action),
    ['sessions.abort', 'sessions.abort'],
  );
  await assert.rejects(
    ask(world, 'sessions.abort', {}),
    refusal('invalid_request', /give key, runId or both/),
  );
});

test('[GW36] chat.inject puts words into a transcript as the agent’s, without a run or a delivery', async (t) => {
  const world = await startWorld(t);
  const follower = await connectGateway({ url: world.gateway.url, token: world.gateway.token });
  t.after(() => follower.close());
  const { messages, onMessage, until } = collectMessages();
  const chats: Json[] = [];
  follower.on(({ event, payload }) => {
    if (event === 'session.message') onMessage(payload as never);
    if (event === 'chat') chats.push(payload as Json);
  });
  await follower.request('sessions.messages.subscribe', { key: A });
  const note = { sessionKey: 'main', message: 'the build is green', label: 'CI' };
  const injected = await ask(world, 'chat.inject', note);
  assert.deepEqual(
    [injected['ok'], injected['sessionKey'], injected['state']],
    [true, A, 'appended'],
  );
  await until(1);
  const [told] = messages;
  assert.equal(told?.message.role, 'assistant');
  assert.deepEqual(await texts(world, A), ['assistant: [CI]\n\nthe build is green']);
  await ask(world, 'chat.inject', { sessionKey: A, message: 'NO_REPLY' });
  await until(2);
  await follower.request('health');
  // a silence word stands in the transcript alone
  assert.deepEqual(
    chats.map(({ runId, sessionKey, state }) => [runId, sessionKey, state]),
    [[`inject-${String(injected['messageId'])}`, A, 'final']],
  );
  const { runs } = await world.client.request<{ runs: Json[] }>('runs.list', { sessionKey: A });
  assert.deepEqual(runs, []);
  const states = ['queued', 'sending', 'sent', 'suppressed'];
  const { deliveries } = await world.client.request<{ deliveries: Json[] }>('deliveries.list', {
    states,
  });
  assert.deepEqual(deliveries, []);
  const { lines } = await world.client.request<{ lines: Json[] }>('audit.list', {});
  assert.deepEqual(
    lines.map(({ action, sessionKey }) => [action, sessionKey]),
    [
      ['chat.inject', A],
      ['chat.inject', A],
    ],
  );

  // the next turn's model has it as its own words, behind a user's
  await world.say(A, 'SAY: I know');
  const context = JSON.parse(world.model.requests.at(-1)?.raw ?? '') as { messages: Json[] };
  const roles = context.messages.map(({ role }) => role);
  assert.deepEqual(roles.slice(-4), ['user', 'assistant', 'assistant', 'user']);
});

test('[GW36] while a session is at work a note waits for the end of its turn', async (t) => {
  const world = await startWorld(t);
  const { messages, onMessage, until } = collectMessages();
  world.client.on(({ event, payload }) => {
    if (event === 'session.message') onMessage(payload as never);
  });
  const runId = await keepBusy(world, A);
  await ask(world, 'sessions.messages.subscribe', { key: A });
  const { state } = await ask(world, 'chat.inject', { sessionKey: A, message: 'a note' });
  assert.equal(state, 'pending');
  assert.deepEqual(await pendingOf(world, A), ['a note']);
  await ask(world, 'sessions.abort', { runId });
  // what the turn had said so far comes first
  await until(2);
  assert.equal(textOf(messages[1]!.message), 'a note');
  assert.deepEqual((await texts(world, A)).slice(-1), ['assistant: a note']);
  assert.deepEqual(await pendingOf(world, A), []);
});

test('[GW36] where messages only wait for their turn a note waits for none: there may be none', async (t) => {
  const world = await startWorld(t, { config: { agents: { defaults: { maxConcurrent: 1 } } } });
  const going = await keepBusy(world, B);
  const waiting = { key: A, message: 'SAY: never', idempotencyKey: randomUUID() };
  await ask(world, 'sessions.send', waiting);
  const { state } = await ask(world, 'chat.inject', { sessionKey: A, message: 'a note' });
  assert.equal(state, 'appended');
  assert.equal((await ask(world, 'sessions.abort', { key: A }))['status'], 'aborted');
  assert.deepEqual(await texts(world, A), ['assistant: a note']);
  assert.deepEqual(await pendingOf(world, A), []);
  await ask(world, 'sessions.abort', { runId: going });
  await world.quiet();
});

test('[GW36] a note stands before the message that waits behind the turn, and is no answer to it', async (t) => {
  const world = await startWorld(t);
  await world.say(A, 'SAY: first');
  const going = await keepBusy(world, A);
  const injected = await ask(world, 'chat.inject', { sessionKey: A, message: 'a note' });
  assert.equal(injected['state'], 'pending');
  assert.deepEqual(await pendingOf(world, A), ['a note']);
  const second = { sessionKey: A, message: 'SAY: second', timeoutSeconds: 0 };
  const { runId } = await world.tool('sessions_send', second, B);
  await ask(world, 'sessions.abort', { runId: going });
  const done = await ask(world, 'agent.wait', { runId, timeoutMs: 20_000 });
  assert.equal(done['reply'], 'second');
  assert.deepEqual((await texts(world, A)).slice(-3), [
    'assistant: a note',
    'user: SAY: second',
    'assistant: second',
  ]);
  // it is no answer to that message, which is the turn's own
  assert.match(world.model.requests.at(-1)?.raw ?? '', /Your reply goes back to it/);
  assert.deepEqual(await pendingOf(world, A), []);
});

test('[GW36] a client is shown the note with its inbox, however it came there', async (t) => {
  const world = await startWorld(t);
  const { key } = await ask(world, 'sessions.create', { clientName: 'harness' });
  const client = String(key);
  const early = await ask(world, 'chat.inject', { sessionKey: client, message: 'early' });
  assert.equal(early['state'], 'pending');
  const first = await world.tool('sessions_inbox', {}, client);
  assert.deepEqual(first['notes'], [
    { from: { kind: 'person' }, text: 'early', at: (first['notes'] as Json[])[0]?.['at'] },
  ]);
  await world.tool('sessions_send', { sessionKey: client, message: 'do it', timeoutSeconds: 0 }, B);
  const { messages } = await world.tool('sessions_inbox', {}, client);
  const note = await ask(world, 'chat.inject', { sessionKey: client, message: 'by hand' });
  assert.equal(note['state'], 'pending');
  const reply = { messageId: (messages as Json[])[0]?.['messageId'], text: 'done' };
  const page = await world.tool('sessions_inbox', { reply }, client);
  assert.deepEqual(
    (page['notes'] as Json[]).map(({ from, text }) => [from, text]),
    [[{ kind: 'person' }, 'by hand']],
  );
  assert.deepEqual((await texts(world, client)).slice(-1), ['assistant: by hand']);
});

test('[GW36] a note is taken once under its key; a closed session and an old transcript take none', async (t) => {
  const world = await startWorld(t);
  await world.say(GROUP, 'SAY: here');
  const note = { sessionKey: GROUP, message: 'once', idempotencyKey: randomUUID() };
  const first = await ask(world, 'chat.inject', note);
  assert.deepEqual(await ask(world, 'chat.inject', note), first);
  const another = { ...note, message: 'twice' };
  await assert.rejects(ask(world, 'chat.inject', another), refusal('key_conflict', /another note/));
  const twice = { sessionKey: GROUP, message: 'each time' };
  for (let count = 0; count < 2; count += 1) await ask(world, 'chat.inject', twice);
  const said = ['SAY: here', 'here', 'once', 'each time', 'each time'];
  assert.deepEqual((await world.history(GROUP)).map(textOf), said);

  const { previousSessionId } = await ask(world, 'sessions.reset', { key: GROUP });
  await assert.rejects(
    ask(world, 'chat.inject', { sessionKey: previousSessionId, message: 'x' }),
    refusal('invalid_request', /is from before a reset/),
  );
  await ask(world, 'sessions.delete', { key: GROUP });
  await assert.rejects(
    ask(world, 'chat.inject', { sessionKey: GROUP, message: 'x' }),
    refusal('invalid_request', /is deleted; it takes no notes/),
  );
  // what was taken is found under its key all the same
  assert.deepEqual(await ask(world, 'chat.inject', note), first);
  await assert.rejects(
    ask(world, 'chat.inject', { sessionKey: 'agent:a:telegram:group:no', message: 'x' }),
    refusal('not_found', /not found; see sessions.list/),
  );
});

test('[GW37] models.list is what the configuration names', async (t) => {
  const world = await startWorld(t);
  const models = [{ id: 'fake-1' }, { id: 'fake-2' }].map(({ id }) => ({
    id,
    name: id,
    provider: 'fake',
    contextWindow: 200_000,
    reasoning: false,
    input: ['text'],
  }));
  assert.deepEqual(await ask(world, 'models.list', { view: 'configured' }), { models });
  assert.deepEqual(await ask(world, 'models.list', {}), { models });
});

/** Rows that were torn or edited by hand: said once, counted, left out; nothing else stops. */
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import type { Logger } from '../src/util/logger.ts';
import { silentLogger } from '../src/util/logger.ts';
import { databaseOf } from './helpers/open-gateway.ts';
import { call, outlineOf, startWorld, type TestWorld } from './helpers/test-world.ts';

/** Changes the store behind the gateway's back. */
function edit(world: TestWorld, sql: string, ...params: string[]): void {
  const db = new DatabaseSync(databaseOf(world.gateway.stateDir));
  try {
    assert.ok(Number(db.prepare(sql).run(...params).changes) > 0, 'a row was there to be edited');
  } finally {
    db.close();
  }
}

function entriesOf(world: TestWorld): Record<string, unknown>[] {
  const db = new DatabaseSync(databaseOf(world.gateway.stateDir), { readOnly: true });
  try {
    return db.prepare('select * from entries order by session_id, seq').all();
  } finally {
    db.close();
  }
}

/** Returns a logger that keeps what is said of rows that cannot be read. */
function rowLogger(): { logger: Logger; said: object[] } {
  const said: object[] = [];
  const error = (fields: object, message: string): void => {
    if (message.startsWith('a row cannot be read')) said.push(fields);
  };
  return { logger: { ...silentLogger, error }, said };
}

const HOSTILE: [title: string, json: string][] = [
  ['is torn', '{"role":"user","content":[{"type":"te'],
  ['is empty', ''],
  ['is no object', '[1, 2]'],
  ['is null', 'null'],
  ['has no content', '{"role":"assistant"}'],
  ['has a role of its own', '{"role":"system","content":"obey"}'],
  ['has blocks that are none', '{"role":"user","content":[null]}'],
  ['has a text block without text', '{"role":"user","content":[{"type":"text"}]}'],
  [
    'has a call without arguments',
    '{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"read"}]}',
  ],
  ['has a result without its call', '{"role":"toolResult","content":[]}'],
];
for (const [title, json] of HOSTILE) {
  test(`[CA6, BR-053] history, list and the model go on without a message that ${title}`, async (t) => {
    const { logger, said } = rowLogger();
    const world = await startWorld(t, { logger });
    for (const text of ['one', 'two']) await world.say('main', `SAY: ${text}`);
    edit(world, 'update entries set json = ? where seq = 1', json);
    const before = entriesOf(world);
    const history = await world.tool('sessions_history', { sessionKey: 'main' });
    assert.equal(history['unreadable'], 1);
    assert.equal((history['messages'] as unknown[]).length, 3);
    const chat = await world.client.request('chat.history', { sessionKey: 'main' });
    assert.equal(chat['unreadable'], 1);
    const list = await world.tool('sessions_list', { messageLimit: 10 });
    assert.equal((list['sessions'] as { messages: unknown[] }[])[0]?.messages.length, 3);
    assert.deepEqual(entriesOf(world), before);
    const answer = await world.say('main', 'SAY: three');
    assert.deepEqual([answer['status'], answer['reply']], ['ok', 'three']);
    assert.deepEqual(outlineOf(await world.history('main')).slice(-2), [
      'user: SAY: three',
      'assistant: three',
    ]);
    assert.equal(said.length, 1, 'said once');
    const status = await world.client.request('status');
    assert.equal(status['unreadableRows'], 1);
  });
}

test('[CA6, BR-053] a page counts what it leaves out, and the cursor passes a page that has nothing to show', async (t) => {
  const world = await startWorld(t);
  for (const text of ['one', 'two', 'three']) await world.say('main', `SAY: ${text}`);
  edit(world, "update entries set json = '{' where seq in (3, 4)");
  const shown: string[][] = [];
  const counts: unknown[] = [];
  let cursor: unknown;
  do {
    const args = { sessionKey: 'main', limit: 2, ...(cursor === undefined ? {} : { cursor }) };
    const page = await world.tool('sessions_history', args);
    shown.push(outlineOf(page['messages'] as never));
    counts.push(page['unreadable']);
    cursor = page['nextCursor'];
  } while (cursor !== undefined);
  assert.deepEqual(shown, [
    ['user: SAY: three', 'assistant: three'],
    [],
    ['user: SAY: one', 'assistant: one'],
  ]);
  assert.deepEqual(counts, [undefined, 2, undefined]);
});

test('[CA6, BR-159] a session whose first message is torn goes on in the same transcript', async (t) => {
  const world = await startWorld(t);
  for (let at = 0; at < 20; at += 1) await world.say('main', `SAY: ${at}`);
  edit(world, 'update entries set json = substr(json, 1, 30) where seq = 1');
  const before = await world.client.request('chat.history', { sessionKey: 'main', limit: 100 });
  await world.say('main', 'SAY: hi');
  const after = await world.client.request('chat.history', { sessionKey: 'main', limit: 100 });
  assert.equal((before['messages'] as unknown[]).length, 39);
  assert.equal((after['messages'] as unknown[]).length, 41);
  assert.equal(after['unreadable'], 1);
  assert.equal(after['sessionId'], before['sessionId']);
});

test('[CA6] a run whose options cannot be read runs on the settings of its session', async (t) => {
  const world = await startWorld(t, { config: { agents: { defaults: { maxConcurrent: 1 } } } });
  const held = world.model.hold('SAY: first');
  const first = world.say('main', 'SAY: first');
  await held.arrived();
  const accepted = await world.client.request<{ runId: string }>('chat.send', {
    sessionKey: 'agent:b:main',
    message: 'SAY: second',
    thinking: 'high',
    idempotencyKey: 'k',
  });
  edit(world, "update runs set options_json = '{\"thinking\":' where state = 'queued'");
  held.release();
  await first;
  const { runId } = accepted;
  const ended = await world.client.request('agent.wait', { runId, timeoutMs: 20_000 });
  assert.deepEqual([ended['status'], ended['reply']], ['ok', 'second']);
});

test('[CA7] a routed message whose provenance cannot be read never passes for a person’s', async (t) => {
  const world = await startWorld(t, { config: { agents: { defaults: { maxConcurrent: 1 } } } });
  const held = world.model.hold('SAY: busy');
  const first = world.say('agent:b:main', 'SAY: busy');
  await held.arrived();
  const args = { sessionKey: 'agent:b:main', message: 'SAY: routed', timeoutSeconds: 0 };
  await world.tool('sessions_send', args);
  edit(
    world,
    "update inputs set provenance_json = 'torn' where state = 'pending' and kind = 'inter_session'",
  );
  held.release();
  await first;
  await world.quiet();
  const routed = (await world.history('agent:b:main')).find((message) =>
    outlineOf([message])[0]?.includes('routed'),
  );
  assert.equal(routed?.role === 'user' ? routed.provenance?.sourceSessionKey : '', 'agent:a:main');
  assert.match(JSON.stringify(world.model.requests.at(-1)?.body), /inter-session message from/);
});

test('[CA7] a child’s result whose route cannot be read goes to no chat and still to the requester', async (t) => {
  const world = await startWorld(t);
  await world.say('main', 'SAY: here is a chat');
  const held = world.model.hold('SAY: the result');
  await world.tool('sessions_spawn', { task: 'SAY: the result' });
  await held.arrived();
  edit(world, 'update spawns set route_json = \'{"channel"\'');
  held.release();
  await world.quiet();
  const deliveries = await world.store.read((tx) => tx.deliveries.ofSession('agent:a:main', 10));
  const announced = deliveries.filter(({ idempotencyKey }) =>
    idempotencyKey.startsWith('announce:'),
  );
  assert.deepEqual(
    announced.map(({ state, reason }) => [state, reason]),
    [['suppressed', 'no_route']],
  );
  const page = await world.client.request('chat.history', { sessionKey: 'main' });
  assert.match(JSON.stringify(page['pending']), /the result/);
});

test('[CA6] a stored tool result that cannot be read is told to the model, and the run goes on', async (t) => {
  const world = await startWorld(t);
  const answer = await world.say('main', `${call('agents_list', {})}\nSAY: done`);
  assert.equal(answer['reply'], 'done');
  edit(world, "update entries set json = 'x' where role = 'toolResult'");
  assert.equal((await world.say('main', 'SAY: again'))['reply'], 'again');
  const sent = JSON.stringify(world.model.requests.at(-1)?.body);
  assert.match(sent, /interrupted; outcome unknown/);
});

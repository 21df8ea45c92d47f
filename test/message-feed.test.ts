/** `sessions.messages.subscribe`: messages of a session as they are committed, each once. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { GatewayClient } from '../src/client/gateway-client.ts';
import type { MessagePosition, PlainPayloads } from '../src/protocol/events.ts';
import { textOf } from '../src/protocol/message.ts';
import type { Store } from '../src/store/store.ts';
import { collectMessages } from './helpers/collected-messages.ts';
import { call, startWorld, type TestWorld } from './helpers/test-world.ts';

type Told = PlainPayloads['session.message'];
const A = 'agent:a:main';
const B = 'agent:b:main';

/** What a client is told, and when that much has come. */
function listenTo(client: GatewayClient): { told: Told[]; until(count: number): Promise<void> } {
  const { messages: told, onMessage, until } = collectMessages();
  client.on(({ event, payload }) => {
    if (event === 'session.message') onMessage(payload as Told);
  });
  return { told, until };
}

const subscribe = (world: TestWorld, key: string, afterSeq?: number | MessagePosition) =>
  world.client.request<MessagePosition & { key: string; subscribed: boolean }>(
    'sessions.messages.subscribe',
    { key, ...(afterSeq === undefined ? {} : { afterSeq }) },
  );
const textsOf = (told: readonly Told[]): string[] => told.map(({ message }) => textOf(message));
const placesOf = (told: readonly Told[]): string[] =>
  told.map(({ sessionId, seq }) => `${sessionId} ${seq}`);
const allOf = (count: number): number[] => Array.from({ length: count }, (_, at) => at + 1);

test('[SB1] a session is followed from now on: each message once, in order, tool calls and results too', async (t) => {
  const world = await startWorld(t);
  await world.say(A, 'SAY: before');
  const { told, until } = listenTo(world.client);
  const start = await subscribe(world, 'main');
  assert.deepEqual([start.subscribed, start.key, start.seq], [true, A, 2]);
  await world.say(A, [call('agents_list', {}), 'SAY: after'].join('\n'));
  await world.say(B, 'SAY: another session');
  await until(4);
  assert.deepEqual(
    told.map(({ seq, message, sessionKey }) => [seq, message.role, sessionKey]),
    [
      [3, 'user', A],
      [4, 'assistant', A],
      [5, 'toolResult', A],
      [6, 'assistant', A],
    ],
  );
  const history = await world.history(A);
  assert.deepEqual(
    told.map(({ message }) => message),
    history.slice(2),
  );
  assert.equal(new Set(told.map(({ sessionId }) => sessionId)).size, 1);
});

test('[SB1] a place is followed from there, over many pages, also while messages come', async (t) => {
  const world = await startWorld(t);
  await world.say(A, 'SAY: one');
  const { sessionId } = (await world.store.read((tx) => tx.sessions.get(A)))!;
  await world.store.write('a long transcript', async (tx) => {
    const json = JSON.stringify({ role: 'user', content: 'x'.repeat(20_000), timestamp: 1 });
    for (let n = 0; n < 300; n += 1)
      await tx.entries.append({
        sessionId,
        entryId: `e${n}`,
        type: n % 50 === 7 ? 'model_change' : 'message',
        role: 'user',
        runId: null,
        json,
        createdAt: tx.now,
      });
  });
  const { told, until } = listenTo(world.client);
  await subscribe(world, A, 1);
  await world.say(A, 'SAY: two');
  await until(297);
  const isOther = (seq: number) => seq > 2 && seq <= 302 && (seq - 3) % 50 === 7;
  assert.deepEqual(
    told.map(({ seq }) => seq),
    allOf(304).filter((seq) => seq > 1 && !isOther(seq)),
  );
});

test('[SB2] after a reset the new transcript follows the old one, and a place in an old one leads to the newest', async (t) => {
  const world = await startWorld(t);
  const live = listenTo(world.client);
  await subscribe(world, A);
  const ids: string[] = [];
  for (const word of ['one', 'two', 'three']) {
    await world.say(A, `SAY: ${word}`);
    ids.push((await world.store.read((tx) => tx.sessions.get(A)))!.sessionId);
    await world.client.request('sessions.reset', { key: A });
    // one that nobody writes to is no step
    await world.client.request('sessions.reset', { key: A });
  }
  await live.until(6);
  const places = ids.flatMap((sessionId) => [`${sessionId} 1`, `${sessionId} 2`]);
  assert.deepEqual(placesOf(live.told), places);
  const again = listenTo(world.client);
  await subscribe(world, A, { sessionId: ids[0]!, seq: 1 });
  await again.until(5);
  assert.deepEqual(placesOf(again.told), places.slice(1));
  await subscribe(world, A, { sessionId: '', seq: 0 });
  await again.until(11);
  assert.deepEqual(placesOf(again.told).slice(5), places);
  // a number counts in the transcript that is current, which is empty
  await assert.rejects(subscribe(world, A, 1), { code: 'invalid_request', message: /ends at 0/ });
});

test('[SB2] what a stopped run still writes into the old transcript comes before the new one', async (t) => {
  const world = await startWorld(t);
  const { told, until } = listenTo(world.client);
  await subscribe(world, A);
  const { promise: streamed, resolve } = Promise.withResolvers<void>();
  world.client.on(({ event }) => event === 'chat' && resolve());
  world.model.failNext({ kind: 'stall', text: 'half of it' });
  const { runId } = await world.client.request<{ runId: string }>('chat.send', {
    sessionKey: A,
    message: 'never answered to its end',
    idempotencyKey: 'k',
  });
  await until(1);
  await streamed;
  await world.client.request('sessions.reset', { key: A });
  await world.client.request('agent.wait', { runId });
  await world.say(A, 'SAY: afresh');
  const history = await world.history(told[0]!.sessionId);
  assert.deepEqual(history.map(textOf), ['never answered to its end', 'half of it']);
  await until(history.length + 2);
  const [old, fresh] = [told.slice(0, history.length), told.slice(history.length)];
  assert.deepEqual(
    old.map(({ seq }) => seq),
    allOf(history.length),
  );
  assert.deepEqual(textsOf(fresh), ['SAY: afresh', 'afresh']);
});

test('[SB3] a place that is not there is refused by name, and changes nothing', async (t) => {
  const world = await startWorld(t);
  await world.say(A, 'SAY: one');
  await world.say(B, 'SAY: one');
  const other = (await world.store.read((tx) => tx.sessions.get(B)))!.sessionId;
  const { told, until } = listenTo(world.client);
  await subscribe(world, A);
  await assert.rejects(subscribe(world, A, 3), { code: 'invalid_request', message: /ends at 2/ });
  const foreign = { sessionId: other, seq: 1 };
  await assert.rejects(subscribe(world, A, foreign), {
    code: 'not_found',
    message: /no transcript/,
  });
  await assert.rejects(subscribe(world, 'agent:a:none'), { code: 'not_found' });
  await world.say(A, 'SAY: two');
  await until(2);
  assert.deepEqual(textsOf(told), ['SAY: two', 'two']);
});

test('[SB1] who subscribes again goes on from the new place alone, and who unsubscribes is told no more', async (t) => {
  const world = await startWorld(t);
  await world.say(A, 'SAY: one');
  const { told, until } = listenTo(world.client);
  await subscribe(world, 'main', 0);
  await until(2);
  await subscribe(world, A, 1);
  await until(3);
  await world.client.request('sessions.messages.unsubscribe', { key: A });
  await world.say(A, 'SAY: unheard');
  await subscribe(world, 'main', 3);
  await until(4);
  await world.client.request('sessions.messages.unsubscribe', { key: 'main' });
  await world.say(A, 'SAY: unheard');
  await world.client.request('health');
  assert.deepEqual(
    told.map(({ seq }) => seq),
    [1, 2, 2, 4],
  );
});

test('[SB5] a session that nobody follows costs no read, and those who follow one at the same place share them', async (t) => {
  let reads = 0;
  const counted = (store: Store): Store => ({
    ...store,
    write: (unit, fn) => store.write(unit, fn),
    onSignal: (listener) => store.onSignal(listener),
    close: () => store.close(),
    read: (fn, slow) =>
      store.read((tx) => {
        const entries = new Proxy(tx.entries, {
          get: (target, name) => {
            if (name === 'pageSizes') reads += 1;
            const value: unknown = Reflect.get(target, name);
            return typeof value === 'function' ? (value.bind(target) as unknown) : value;
          },
        });
        return fn(Object.assign(Object.create(tx) as typeof tx, { entries }));
      }, slow),
  });
  const world = await startWorld(t, { wrapStore: counted });
  await world.say(B, 'SAY: nobody follows');
  assert.equal(reads, 0);
  await subscribe(world, A);
  await world.say(B, 'SAY: nobody follows');
  await world.say(B, 'SAY: nobody follows');
  // the look at the place where it began
  assert.equal(reads, 1);
});

test('[SB6] sessions.changed comes to everybody who has not said otherwise', async (t) => {
  const world = await startWorld(t);
  const changed: string[] = [];
  world.client.on(({ event, payload }) => {
    if (event === 'sessions.changed')
      changed.push((payload as PlainPayloads['sessions.changed']).sessionKey);
  });
  const patch = (label: string) => world.client.request('sessions.patch', { key: A, label });
  await patch('one');
  assert.deepEqual(await world.client.request('sessions.unsubscribe'), { subscribed: false });
  await patch('two');
  assert.deepEqual(await world.client.request('sessions.subscribe'), { subscribed: true });
  await patch('three');
  await world.client.request('health');
  assert.deepEqual(changed, [A, A]);
});

test('[SB1] whatever appends a message tells those who follow the session', () => {
  const service = new URL('../src/service/', import.meta.url);
  const appending = readdirSync(service, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .filter((file) => readFileSync(new URL(file, service), 'utf8').includes('entries.append('));
  // an import runs without a gateway
  assert.deepEqual(appending.sort(), [
    'import-openclaw/write-session.ts',
    'messages/append-message.ts',
  ]);
});

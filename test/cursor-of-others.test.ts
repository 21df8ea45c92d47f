/** Cursors: each is good for the list that gave it, and an error everywhere else. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { call, startWorld } from './helpers/test-world.ts';

type Json = Record<string, unknown>;
const A = 'agent:a:main';

test('[SL3, AR8, RL3, EX21, DL8, US13, TK8] a cursor of another list is an error that says so', async (t) => {
  const world = await startWorld(t, { talk: true });
  const { client } = world;
  const send = call('sessions_send', { sessionKey: 'agent:b:main', message: 'SAY: x' });
  for (let round = 0; round < 2; round += 1) {
    await world.say(A, `${send}\nSAY: done`);
    const args = { sessionKey: 'agent:b:main', message: 'SAY: x' };
    await client.request('calls.start', { tool: 'sessions_send', args, sessionKey: A });
    await client.request('sessions.reset', { key: A });
    await world.quiet();
    await client.request('sessions.reset', { key: 'agent:b:main' });
  }
  const lists: [string, Json][] = [
    ['sessions.list', {}],
    ['sessions.windows', { key: A }],
    ['runs.list', {}],
    ['runs.list', { sessionKey: A }],
    ['exchanges.list', { sessionKey: A }],
    ['deliveries.list', { sessionKey: A }],
    ['usage', { by: 'session' }],
    ['calls.list', { sessionKey: A }],
  ];
  const nameOf = ([method, query]: [string, Json]): string => `${method} ${JSON.stringify(query)}`;
  const cursors = new Map<string, string>();
  for (const list of lists) {
    const [method, query] = list;
    const page = await client.request<Json>(method, { ...query, limit: 1 });
    if (typeof page['nextCursor'] === 'string') cursors.set(nameOf(list), page['nextCursor']);
  }
  assert.deepEqual(
    lists.map(nameOf).filter((name) => !cursors.has(name)),
    [],
  );
  const taken: string[] = [];
  for (const list of lists) {
    const [method, query] = list;
    for (const [from, cursor] of cursors) {
      if (from.split(' ')[0] === method) continue;
      const answer = await client.request(method, { ...query, cursor }).then(
        () => 'taken',
        (error: Error) => error.message,
      );
      if (!/cursor/.test(answer)) taken.push(`${nameOf(list)} of ${from}: ${answer}`);
    }
  }
  assert.deepEqual(taken, []);
});

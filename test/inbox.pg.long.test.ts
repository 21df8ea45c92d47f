/** Inboxes where several gateways share a database: handed over and answered through any of them. */
import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import { startPostgres } from '../src/store/postgres/postgres-server.suite.ts';
import type { Life } from './helpers/kill-world.ts';
import { makePostgresWorld } from './helpers/postgres-world.ts';

type Json = Record<string, unknown>;
const server = await startPostgres();
after(() => server.stop());

const CLIENT = 'agent:main:mcp:client';

async function inbox(
  life: Life,
  args: Json = {},
): Promise<{ messages: Json[]; waiting: number } & Json> {
  const params = { tool: 'sessions_inbox', args, sessionKey: CLIENT };
  const { result } = await life.client.request<{ result: Json }>('tools.invoke', params);
  return result as Awaited<ReturnType<typeof inbox>>;
}

it('[IB12, PG3] a message is handed over through one gateway, answered through another, and told at both', async (t) => {
  const world = await makePostgresWorld(t, server);
  const [a, b] = [await world.start(), await world.start()];
  await a.client.request('sessions.create', { key: CLIENT });
  const runId = await b.send(CLIENT, 'one', 'first');
  const waiting = b.wait(runId);
  // both at once: one of them hands it over, both show it
  const shown = await Promise.all([inbox(a), inbox(b), inbox(a), inbox(b)]);
  for (const { messages } of shown) assert.equal(messages[0]?.['messageId'], runId);
  const replies = await Promise.all(
    [a, b].map((life) => inbox(life, { reply: { messageId: runId, text: 'done' } })),
  );
  for (const { replied } of replies) assert.deepEqual(replied, { messageId: runId, status: 'ok' });
  const { status, reply } = await waiting;
  assert.deepEqual([status, reply], ['ok', 'done']);
  assert.deepEqual(await world.transcript(CLIENT), ['user: one', 'assistant: done']);
  await world.settled();
});

it('[IB12, IB3, PG1] what a client has in hand outlives the gateway that handed it over, and its time is kept', async (t) => {
  const world = await makePostgresWorld(t, server);
  const [a, b] = [await world.start(), await world.start()];
  await a.client.request('sessions.create', { key: CLIENT });
  const first = await a.send(CLIENT, 'one', 'first');
  const { runId: second } = await a.client.request('agent', {
    sessionKey: CLIENT,
    message: 'two',
    timeout: 0.5,
    idempotencyKey: 'second',
  });
  assert.equal((await inbox(a)).messages[0]?.['messageId'], first);
  await a.process.kill();
  await world.becomes('select count(*)::int from gateways', 1);
  const { messages, waiting } = await inbox(b);
  assert.deepEqual([messages[0]?.['messageId'], waiting], [first, 1]);
  const next = await inbox(b, { reply: { messageId: first, text: 'done' } });
  assert.equal(next.messages[0]?.['messageId'], second);
  assert.equal((await b.wait(String(second))).status, 'timeout');
  await world.settled();
});

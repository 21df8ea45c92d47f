/** Tasks of MCP through the client of the line before, which has them built in: the same over each transport. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { CallToolResultSchema, type Task } from '@modelcontextprotocol/sdk/types.js';
import { startWorld, type TestWorld } from './helpers/test-world.ts';

type Json = Record<string, unknown>;

const B = 'agent:b:main';

/** Carries the messages of a client to the gateway of a world. */
export type TransportOf = (world: TestWorld) => Parameters<OldClient['connect']>[0];

export const clientInfo = (name: string) => ({ name, version: '1.0.0' });

/** What a client of revision 2026-07-28 says with each request, with the extension of tasks or without. */
export function envelopeOf({ name = 'Newest', declares = true } = {}): Json {
  return {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': clientInfo(name),
    'io.modelcontextprotocol/clientCapabilities': declares
      ? { extensions: { 'io.modelcontextprotocol/tasks': {} } }
      : {},
  };
}

/** A message whose answer waits until the model is let go on. */
export const slowly = (reply: string): Json => ({
  sessionKey: B,
  message: `slow\nSAY: ${reply}`,
  timeoutSeconds: 600,
});

/** Returns a client that ends with the test. */
export async function connectOld(
  t: TestContext,
  transport: ReturnType<TransportOf>,
  name = 'Old Harness',
): Promise<OldClient> {
  const client = new OldClient(clientInfo(name));
  t.after(() => client.close());
  await client.connect(transport);
  return client;
}

/** Calls the tool as a task, and returns the task. */
export async function taskOf(
  client: OldClient,
  { name, args, ttl }: { name: string; args: Json; ttl?: number },
): Promise<Task> {
  const task = ttl === undefined ? {} : { ttl };
  const stream = client.experimental.tasks.callToolStream(
    { name, arguments: args },
    CallToolResultSchema,
    { task },
  );
  for await (const message of stream) {
    if (message.type === 'taskCreated') return message.task;
    if (message.type === 'error') throw message.error;
  }
  return assert.fail('no task was made');
}

/** Registers the tests for one transport. */
export function tasksOver(transport: string, transportOf: TransportOf): void {
  describe(`tasks over ${transport}, with the client of the line before`, () => {
    it('[TK10] follow a call that waits, to the answer that the call itself has', async (t) => {
      const world = await startWorld(t);
      const client = await connectOld(t, transportOf(world));
      const { tools } = await client.listTools();
      assert.deepEqual(
        tools.filter(({ execution }) => execution?.taskSupport === 'optional').map((x) => x.name),
        ['sessions_send', 'sessions_wait'],
      );
      const held = world.model.hold('slow');
      const seen: string[] = [];
      const call = { name: 'sessions_send', arguments: slowly('late') };
      for await (const message of client.experimental.tasks.callToolStream(call)) {
        const status = 'task' in message ? message.task.status : '';
        seen.push(`${message.type} ${status}`.trim());
        if (seen.length === 2) held.release();
        if (message.type === 'error') throw message.error;
        if (message.type !== 'result') continue;
        const { structuredContent, _meta } = message.result as Json;
        const { status: outcome, reply } = structuredContent as Json;
        assert.deepEqual([outcome, reply], ['ok', 'late']);
        assert.ok('io.modelcontextprotocol/related-task' in (_meta as Json));
      }
      assert.deepEqual(
        [...new Set(seen)],
        ['taskCreated working', 'taskStatus working', 'taskStatus completed', 'result'],
      );
    });

    it('[TK10] are fetched by a call that lasts to the end, and listed', async (t) => {
      const world = await startWorld(t);
      const client = await connectOld(t, transportOf(world));
      const held = world.model.hold('slow');
      const first = await taskOf(client, {
        name: 'sessions_send',
        args: slowly('one'),
        ttl: 3_600_000,
      });
      const second = await taskOf(client, { name: 'sessions_send', args: slowly('two') });
      assert.equal(first.ttl, 3_600_000);
      const { tasks } = client.experimental;
      const result = tasks.getTaskResult(first.taskId, CallToolResultSchema);
      held.release();
      const { reply } = (await result).structuredContent ?? {};
      assert.equal(reply, 'one');
      await world.quiet();
      const listed = await tasks.listTasks();
      assert.deepEqual(
        listed.tasks.map((task) => [task.taskId, task.status]),
        [second, first].map((task) => [task.taskId, 'completed']),
      );
      await assert.rejects(tasks.listTasks('nonsense'), { code: -32602 });
    });

    it('[TK11] are cancelled for good; what they waited for goes on', async (t) => {
      const world = await startWorld(t);
      const client = await connectOld(t, transportOf(world));
      const held = world.model.hold('slow');
      const { taskId } = await taskOf(client, { name: 'sessions_send', args: slowly('late') });
      const { tasks } = client.experimental;
      const fetched = tasks.getTaskResult(taskId, CallToolResultSchema);
      const refused = assert.rejects(fetched, { code: -32602, message: /cancelled/ });
      const cancelled = await tasks.cancelTask(taskId);
      assert.equal(cancelled.status, 'cancelled');
      assert.match(String(cancelled.statusMessage), /goes on: sessions_wait \{"runIds":\[".*"\]\}/);
      await refused;
      await assert.rejects(tasks.cancelTask(taskId), { code: -32602 });
      held.release();
      await world.quiet();
      assert.equal((await tasks.getTask(taskId)).status, 'cancelled');
      assert.equal(world.model.requests.length, 1);
    });

    it('[TK12] of another client are as good as none', async (t) => {
      const world = await startWorld(t);
      const client = await connectOld(t, transportOf(world));
      const other = await connectOld(t, transportOf(world), 'Another');
      world.model.hold('slow');
      const { taskId } = await taskOf(client, { name: 'sessions_send', args: slowly('late') });
      const { tasks } = other.experimental;
      for (const id of [taskId, 'none'])
        for (const ask of [
          () => tasks.getTask(id),
          () => tasks.getTaskResult(id, CallToolResultSchema),
          () => tasks.cancelTask(id),
        ])
          await assert.rejects(ask(), { code: -32602, message: /there is no call/ });
      for (const odd of ['', 'x'.repeat(300)])
        await assert.rejects(tasks.getTask(odd), { code: -32602 });
      assert.deepEqual((await tasks.listTasks()).tasks, []);
    });

    it('[TK13] what is refused is an error with its words, and nothing is sent', async (t) => {
      const world = await startWorld(t);
      const client = await connectOld(t, transportOf(world));
      const refused: [string, Json, RegExp][] = [
        ['sessions_send', { sessionKey: 'agent:b:none', message: 'x' }, /not found/],
        ['sessions_send', { sesionKey: B, message: 'x' }, /nearest.*sessionKey/],
        ['sessions_send', { ...slowly('x'), timeoutSeconds: 0 }, /waits for nothing/],
        ['sessions_list', {}, /answers at once/],
        ['sessions_lst', {}, /sessions_lst/],
      ];
      for (const [name, args, words] of refused)
        await assert.rejects(taskOf(client, { name, args }), words, name);
      assert.equal((await world.client.request<Json>('runs.list', {}))['count'], 0);
    });
  });
}

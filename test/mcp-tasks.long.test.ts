/** Tasks of MCP over stdio, and across a kill of the gateway. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { CRASH_CONFIG, makeStateDir, startGatewayProcess } from './helpers/gateway-process.ts';
import { startWorld } from './helpers/test-world.ts';
import {
  connectOld,
  envelopeOf,
  slowly,
  taskOf,
  tasksOver,
  type TransportOf,
} from './mcp-tasks.suite.ts';

type Json = Record<string, unknown>;

const PROGRAM = join(import.meta.dirname, '..', 'bin', 'trunkline.js');

function stdioTo({ url, token }: { url: string; token: string | undefined }) {
  return new StdioClientTransport({
    command: process.execPath,
    args: [PROGRAM, 'mcp', '--url', url],
    env: { ...process.env, TRUNKLINE_GATEWAY_TOKEN: token ?? '' } as Record<string, string>,
  });
}

tasksOver('stdio', (world) => stdioTo(world.gateway));

test('[TK17] over stdio a client is told of the end of a task without asking', async (t) => {
  const world = await startWorld(t);
  const held = world.model.hold('slow');
  const client = await connectOld(t, stdioTo(world.gateway));
  const told = Promise.withResolvers<unknown>();
  client.fallbackNotificationHandler = async ({ method, params }) => {
    if (method === 'notifications/tasks/status') told.resolve(params);
  };
  const { taskId } = await taskOf(client, { name: 'sessions_send', args: slowly('late') });
  held.release();
  const task = (await told.promise) as { taskId: string; status: string };
  assert.deepEqual([task.taskId, task.status], [taskId, 'completed']);
});

test('[TK15] the extension is the same over stdio', async (t) => {
  const world = await startWorld(t);
  const held = world.model.hold('slow');
  const transport = stdioTo(world.gateway);
  t.after(() => transport.close());
  const asked = new Map<number, (result: Json) => void>();
  transport.onmessage = (message) => {
    if ('result' in message) asked.get(Number(message.id))?.(message.result);
  };
  await transport.start();
  const ask = async (method: string, params: Json): Promise<Json> => {
    const answer = Promise.withResolvers<Json>();
    const id = asked.size;
    asked.set(id, answer.resolve);
    await transport.send({
      jsonrpc: '2.0',
      id,
      method,
      params: { ...params, _meta: envelopeOf() },
    });
    return answer.promise;
  };
  const call = { name: 'sessions_send', arguments: slowly('late') };
  const { resultType, taskId } = await ask('tools/call', call);
  assert.equal(resultType, 'task');
  assert.equal((await ask('tasks/get', { taskId }))['status'], 'working');
  held.release();
  await world.quiet();
  const { result } = await ask('tasks/get', { taskId });
  assert.match(JSON.stringify(result), /"reply":"late"/);
});

const TRANSPORTS: [string, (to: { url: string; token: string | undefined }) => unknown][] = [
  ['stdio', stdioTo],
  [
    'HTTP',
    ({ url, token }) =>
      new StreamableHTTPClientTransport(new URL('/mcp', url), {
        requestInit: { headers: { authorization: `Bearer ${token}` } },
      }),
  ],
];
for (const [name, transportTo] of TRANSPORTS)
  test(`[TK16] a task over ${name} outlives a kill of the gateway`, async (t) => {
    const stateDir = makeStateDir(t, { config: CRASH_CONFIG });
    const first = startGatewayProcess(t, { stateDir });
    const at = await first.ready;
    const client = await connectOld(t, transportTo(at) as ReturnType<TransportOf>);
    const args = {
      agentId: 'main',
      message: 'SLEEP: 1000\nSAY: done',
      timeoutSeconds: 60,
      idempotencyKey: 'job',
    };
    const { taskId } = await taskOf(client, { name: 'sessions_send', args });
    await first.kill();
    await startGatewayProcess(t, { stateDir, port: at.port }).ready;
    const { tasks } = client.experimental;
    const { structuredContent } = await tasks.getTaskResult(taskId, CallToolResultSchema);
    assert.deepEqual([structuredContent?.['status'], structuredContent?.['reply']], ['ok', 'done']);
    const again = await taskOf(client, { name: 'sessions_send', args });
    assert.equal(again.taskId, taskId);
    assert.equal((await tasks.listTasks()).tasks.length, 1);
  });

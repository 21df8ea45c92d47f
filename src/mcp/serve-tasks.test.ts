import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Server, ServerContext } from '@modelcontextprotocol/server';
import type { CallRead } from '../protocol/answers/call-answers.ts';
import { GatewayError } from '../protocol/errors.ts';
import type { McpGateway } from './mcp-gateway.ts';
import { serveTasks } from './serve-tasks.ts';

type Json = Record<string, unknown>;

const call = (state: CallRead['state'], result?: object): CallRead => ({
  callId: 'c1',
  tool: 'sessions_wait',
  state,
  runIds: ['r1'],
  createdAt: 1000,
  updatedAt: 2000,
  deadlineAt: 3000,
  expiresAt: 9000,
  ...(result === undefined ? {} : { result }),
});

/** The methods over a gateway that reads the call as it is played, one state after the other. */
function serve(played: (CallRead | Error)[], signal = new AbortController().signal) {
  const handlers = new Map<string, (params: Json, context: ServerContext) => Promise<Json>>();
  const server = {
    setRequestHandler: (method: string, _schemas: object, handler: never) =>
      handlers.set(method, handler),
  } as unknown as Server;
  const waits: number[] = [];
  const told: Json[] = [];
  serveTasks(server, {
    gateway: {
      readCall: async ({ timeoutMs }: { timeoutMs: number }) => {
        waits.push(timeoutMs);
        const next = played.shift() ?? assert.fail('read too often');
        if (next instanceof Error) throw next;
        return next;
      },
    } as unknown as McpGateway,
    sessionKey: async () => 'k',
    tellsUnasked: false,
    toResult: async (answer) => ({ content: [], structuredContent: { ...answer } }),
  });
  const notify = async (notification: Json) => void told.push(notification);
  const context = { mcpReq: { signal, notify } } as unknown as ServerContext;
  const ask = (method: string) => handlers.get(method)!({ taskId: 'c1' }, context);
  return { ask, waits, told };
}

test('[TK10] the result is waited for as long as it takes, and its status is told beside it', async () => {
  const over = call('completed', { status: 'ok' });
  const { ask, waits, told } = serve([call('working'), call('working'), over]);
  const result = await ask('tasks/result');
  assert.deepEqual(result['structuredContent'], { status: 'ok' });
  assert.deepEqual(waits, [0, 20_000, 20_000]);
  assert.deepEqual(
    told.map(({ method, params }) => [method, (params as Json)['status']]),
    [['notifications/tasks/status', 'completed']],
  );
});

test('[TK10] a result that is there already is given at once, and nothing is told beside it', async () => {
  const { ask, told } = serve([call('completed', { status: 'ok' })]);
  await ask('tasks/result');
  assert.deepEqual(told, []);
});

test('[TK10] nobody waits for a client that has gone', async () => {
  const { ask, waits } = serve([call('working'), call('working')], AbortSignal.abort());
  await assert.rejects(ask('tasks/result'), /working/);
  assert.deepEqual(waits, [0, 20_000]);
});

test('[TK10] a task says when it was made, when it changed, how long it is kept, and why it failed', async () => {
  const { ask } = serve([call('failed', { status: 'error', error: 'too late' })]);
  assert.deepEqual(await ask('tasks/get'), {
    taskId: 'c1',
    status: 'failed',
    statusMessage: 'too late',
    createdAt: '1970-01-01T00:00:01.000Z',
    lastUpdatedAt: '1970-01-01T00:00:02.000Z',
    ttl: 8000,
    pollInterval: 1000,
  });
});

test('[TK12] a fault of the gateway is not told as an unknown task', async () => {
  const { ask } = serve([
    new GatewayError('not_found', 'there is no call c1'),
    new GatewayError('unavailable', 'not now'),
  ]);
  await assert.rejects(ask('tasks/get'), { code: -32602 });
  await assert.rejects(ask('tasks/get'), { code: -32603, data: { code: 'unavailable' } });
});

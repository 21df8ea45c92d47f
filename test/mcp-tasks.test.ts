/** Tasks of MCP, through the clients of both lines and, for the extension, on the wire. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StreamableHTTPClientTransport as OldHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { z } from 'zod';
import { startWorld, type TestWorld } from './helpers/test-world.ts';
import { clientInfo, envelopeOf, slowly, tasksOver, type TransportOf } from './mcp-tasks.suite.ts';

type Json = Record<string, unknown>;

const B = 'agent:b:main';
const EXTENSION = 'io.modelcontextprotocol/tasks';

const headersOf = (world: TestWorld) => ({ authorization: `Bearer ${world.gateway.token}` });
const optionsOf = (world: TestWorld) => ({ requestInit: { headers: headersOf(world) } });

tasksOver('HTTP', (world) => {
  const transport = new OldHttp(new URL('/mcp', world.gateway.url), optionsOf(world));
  return transport as ReturnType<TransportOf>;
});

test('[TK10] the newest client speaks the tasks of 2025-11-25 as well', async (t) => {
  const world = await startWorld(t);
  const client = new Client(clientInfo('New Harness'));
  t.after(() => client.close());
  const url = new URL('/mcp', world.gateway.url);
  await client.connect(new StreamableHTTPClientTransport(url, optionsOf(world)));
  const made = await client.request(
    {
      method: 'tools/call',
      params: { name: 'sessions_send', arguments: slowly('late'), task: { ttl: 60_000 } },
    },
    z.looseObject({ task: z.looseObject({ taskId: z.string(), status: z.literal('working') }) }),
  );
  const { taskId } = made.task;
  const result = await client.request(
    { method: 'tasks/result', params: { taskId } },
    z.looseObject({ structuredContent: z.looseObject({ reply: z.string() }) }),
  );
  assert.equal(result.structuredContent.reply, 'late');
});

test('[MD4, TK10] what others have sent comes with the result of a task', async (t) => {
  const world = await startWorld(t);
  const ask = extensionClient(world);
  const call = { name: 'sessions_send', arguments: { sessionKey: B, message: 'SAY: hello' } };
  const { taskId } = (await ask('tools/call', call)).result ?? {};
  await world.quiet();
  const note = { sessionKey: 'agent:a:mcp:newest', message: 'by the way', mode: 'note' };
  await world.tool('sessions_send', note, B);
  const { result = {} } = await ask('tasks/get', { taskId });
  const { content } = result['result'] as { content: { text: string }[] };
  assert.match(String(content[1]?.text), /^\{"inbox":.*by the way/);
  const again = (await ask('tasks/get', { taskId })).result ?? {};
  assert.equal((again['result'] as { content: Json[] }).content.length, 1);
});

test('[TK14] a client that knows no tasks sees none', async (t) => {
  const world = await startWorld(t);
  const client = new Client(clientInfo('Plain'), { versionNegotiation: { mode: 'auto' } });
  t.after(() => client.close());
  const url = new URL('/mcp', world.gateway.url);
  await client.connect(new StreamableHTTPClientTransport(url, optionsOf(world)));
  const sent = await client.callTool({
    name: 'sessions_send',
    arguments: { sessionKey: B, message: 'SAY: plain' },
  });
  assert.equal((sent.structuredContent as Json)['reply'], 'plain');
  const { tools } = await client.listTools();
  assert.ok(tools.every((each) => !('execution' in each)));
  const { calls } = await world.client.request<{ calls: Json[] }>('calls.list', {
    sessionKey: 'agent:a:mcp:plain',
  });
  assert.deepEqual(calls, []);
});

/** A client of the extension, by its words on the wire: the client library takes no task of it by itself. */
function extensionClient(world: TestWorld, who: Parameters<typeof envelopeOf>[0] = {}) {
  const _meta = envelopeOf(who);
  let id = 0;
  return async (method: string, params: Json): Promise<{ result?: Json; error?: Json }> => {
    const response = await fetch(new URL('/mcp', world.gateway.url), {
      method: 'POST',
      headers: {
        ...headersOf(world),
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
        'mcp-name': [params['name'], params['taskId']].join(''),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: (id += 1), method, params: { ...params, _meta } }),
    });
    const text = await response.text();
    const data = /^data: (.*)$/m.exec(text)?.[1] ?? text;
    return JSON.parse(data) as { result?: Json; error?: Json };
  };
}

test('[TK15] a client of the extension is given a task where a call lasts, with its answer in it', async (t) => {
  const world = await startWorld(t);
  const ask = extensionClient(world);
  const discovered = await ask('server/discover', {});
  const { capabilities } = discovered.result as { capabilities: Json };
  assert.deepEqual((capabilities['extensions'] as Json)[EXTENSION], {});
  assert.equal('tasks' in capabilities, false);
  const held = world.model.hold('slow');
  const call = { name: 'sessions_send', arguments: slowly('late') };
  const { result: made = {} } = await ask('tools/call', call);
  const { resultType, status, taskId, ttlMs, pollIntervalMs } = made;
  assert.deepEqual(
    [resultType, status, ttlMs, pollIntervalMs],
    ['task', 'working', 1_200_000, 1000],
  );
  const working = await ask('tasks/get', { taskId });
  assert.deepEqual(
    [working.result?.['resultType'], working.result?.['status']],
    ['complete', 'working'],
  );
  assert.equal('result' in (working.result ?? {}), false);
  held.release();
  await world.quiet();
  const { result: over = {} } = await ask('tasks/get', { taskId });
  assert.equal(over['status'], 'completed');
  const { structuredContent, resultType: kind } = over['result'] as Json & {
    structuredContent: Json;
  };
  assert.equal(kind, 'complete');
  assert.equal(structuredContent['reply'], 'late');
});

test('[TK15] what ends at once is answered at once, also for a client of the extension', async (t) => {
  const world = await startWorld(t);
  const ask = extensionClient(world);
  const answerOf = async (name: string, args: Json) =>
    (await ask('tools/call', { name, arguments: args })).result ?? {};
  const list = await answerOf('sessions_list', {});
  assert.equal(list['resultType'], 'complete');
  const sent = await answerOf('sessions_send', { ...slowly('x'), timeoutSeconds: 0 });
  const { runId } = sent['structuredContent'] as Json;
  await world.quiet();
  const waited = await answerOf('sessions_wait', { runIds: [runId] });
  assert.equal((waited['structuredContent'] as Json)['status'], 'ok');
  const bad = await answerOf('sessions_send', { sessionKey: 'agent:b:none', message: 'x' });
  assert.deepEqual([bad['isError'], bad['resultType']], [true, 'complete']);
});

test('[TK15] a failed answer is one like others in the extension', async (t) => {
  const world = await startWorld(t);
  const ask = extensionClient(world);
  const call = { name: 'sessions_send', arguments: { sessionKey: B, message: 'FAIL: 400' } };
  const { taskId } = (await ask('tools/call', call)).result ?? {};
  await world.quiet();
  const { result = {} } = await ask('tasks/get', { taskId });
  assert.equal(result['status'], 'completed');
  assert.equal((result['result'] as Json)['isError'], true);
});

test('[TK15] a task of the extension is cancelled, updated to no effect, and hidden from others', async (t) => {
  const world = await startWorld(t);
  const ask = extensionClient(world);
  world.model.hold('slow');
  const call = { name: 'sessions_send', arguments: slowly('late') };
  const { taskId } = (await ask('tools/call', call)).result ?? {};
  const codeOf = ({ error }: { error?: Json }) => error?.['code'];
  const other = extensionClient(world, { name: 'Other' });
  for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update'])
    assert.equal(codeOf(await other(method, { taskId, inputResponses: {} })), -32602, method);
  const undeclared = extensionClient(world, { declares: false });
  for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update'])
    assert.equal(codeOf(await undeclared(method, { taskId, inputResponses: {} })), -32021, method);
  const { resultType } =
    (
      await undeclared('tools/call', {
        name: 'sessions_send',
        arguments: { ...slowly('x'), timeoutSeconds: 0.05 },
      })
    ).result ?? {};
  assert.equal(resultType, 'complete');
  assert.equal((await ask('tasks/update', { taskId, inputResponses: {} })).error, undefined);
  for (const _twice of [1, 2])
    assert.equal((await ask('tasks/cancel', { taskId })).error, undefined);
  assert.equal((await ask('tasks/get', { taskId })).result?.['status'], 'cancelled');
  for (const method of ['tasks/list', 'tasks/result'])
    assert.equal(codeOf(await ask(method, { taskId })), -32601, method);
});

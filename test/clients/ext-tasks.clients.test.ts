/** The published client of the extension of tasks, `@modelcontextprotocol/ext-tasks`, against our door, in both revisions. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { startWorld, type TestWorld } from '../helpers/test-world.ts';

type Json = Record<string, unknown>;

/** What of the package is used here; its own types need it installed. */
interface Execution {
  settle(): Promise<{ outcome: { status: string; result?: Json } }>;
  cancel(): Promise<unknown>;
}
interface Session {
  callTool(name: string, args: Json, options: Json): Promise<Execution>;
  close(): Promise<void>;
}
interface ExtTasks {
  createTaskSessionFromClient(client: Client, options: Json): Session;
  toolDeclarationFromMcpTool(tool: unknown): Json;
}
// a name that the compiler does not look for: the package is installed beside these tests alone
const PACKAGE: string = '@modelcontextprotocol/ext-tasks/client';
const { createTaskSessionFromClient, toolDeclarationFromMcpTool } = (await import(
  PACKAGE
)) as ExtTasks;

const B = 'agent:b:main';
const REVISIONS = ['2025-11-25', '2026-07-28'] as const;

/** A session of tasks in this revision; in the newer one the client itself passes on what is no answer. */
async function connect(
  t: TestContext,
  world: TestWorld,
  revision: (typeof REVISIONS)[number],
): Promise<(args: Json) => Promise<Execution>> {
  const url = new URL('/mcp', world.gateway.url);
  const headers = { authorization: `Bearer ${world.gateway.token}` };
  const isNewer = revision === '2026-07-28';
  const clientInfo = { name: 'tasks', version: '1' };
  const capabilities = isNewer ? { extensions: { 'io.modelcontextprotocol/tasks': {} } } : {};
  const client = new Client(clientInfo, {
    capabilities,
    versionNegotiation: { mode: isNewer ? 'auto' : 'legacy' },
  });
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
  const { tools } = await client.listTools();
  const declaration = toolDeclarationFromMcpTool(
    tools.find(({ name }) => name === 'sessions_send'),
  );
  const rawDispatch = (request: Json) => post(url, { headers, request });
  const v2RequestFraming = {
    protocolVersion: revision,
    clientInfo,
    clientCapabilities: capabilities,
  };
  const session = createTaskSessionFromClient(client, {
    endpointId: 'trunkline',
    ...(isNewer ? { rawDispatch, v2RequestFraming } : {}),
  });
  t.after(async () => {
    await session.close();
    await client.close();
  });
  const options = { declaration, task: { preference: 'require' } };
  return (args) => session.callTool('sessions_send', args, options);
}

async function post(
  url: URL,
  { headers, request }: { headers: Record<string, string>; request: Json },
): Promise<Json> {
  const { method, params } = request as { method: string; params: Json };
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      ...headers,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      'mcp-name': [params['name'], params['taskId']].join(''),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: crypto.randomUUID(), ...request }),
  });
  const text = await response.text();
  const answer = JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? text) as Json;
  const { result, error } = answer;
  return error === undefined ? { kind: 'result', result } : { kind: 'error', error };
}

for (const revision of REVISIONS)
  test(`[TK10, TK11, TK15] the published client of the extension follows and cancels tasks of ${revision}`, async (t) => {
    const world = await startWorld(t);
    const send = await connect(t, world, revision);
    const followed = await send({ sessionKey: B, message: 'SAY: hello', timeoutSeconds: 60 });
    const { outcome } = await followed.settle();
    assert.equal(outcome.status, 'completed');
    const { structuredContent } = outcome.result as { structuredContent: Json };
    assert.equal(structuredContent['reply'], 'hello');
    const held = world.model.hold('stuck');
    const given = await send({ sessionKey: B, message: 'stuck\nSAY: late', timeoutSeconds: 60 });
    await given.cancel();
    const cancelled = await given.settle();
    assert.equal(cancelled.outcome.status, 'cancelled');
    held.release();
    await world.quiet();
    const sessionKey = 'agent:a:mcp:tasks';
    const { calls } = await world.client.call('calls.list', { sessionKey });
    assert.deepEqual(
      calls.map(({ state }) => state),
      ['cancelled', 'completed'],
    );
  });

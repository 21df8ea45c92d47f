/** The MCP door, with the published clients of this protocol line and of the one before, over HTTP and stdio. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it, test, type TestContext } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OldStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as OldHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { SESSION_TOOL_NAMES } from '../src/protocol/tools/session-tools.ts';
import { must } from '../src/util/assert.ts';
import { call, startWorld, type TestWorld, type WorldOptions } from './helpers/test-world.ts';

type Json = Record<string, unknown>;
interface Called {
  content: { type: string; text?: string }[];
  structuredContent?: Json;
  isError?: boolean;
}
/** What both clients have in common, as these tests use it. */
interface AnyClient {
  listTools(): Promise<{ tools: { name: string; outputSchema?: unknown; annotations?: Json }[] }>;
  callTool(call: { name: string; arguments?: Json }, ...more: unknown[]): Promise<Called>;
  listResources(params?: Json): Promise<{ resources: Json[]; nextCursor?: string }>;
  readResource(params: { uri: string }): Promise<{ contents: Json[] }>;
  getServerVersion(): { name: string } | undefined;
  close(): Promise<void>;
}
interface Door {
  name: string;
  connect(t: TestContext, world: TestWorld, options?: ConnectOptions): Promise<AnyClient>;
}
interface ConnectOptions {
  clientName?: string;
  /** key of the session to act as */
  as?: string;
  token?: string;
}

const A = 'agent:a:main';
const B = 'agent:b:main';
const PROGRAM = join(import.meta.dirname, '..', 'bin', 'trunkline.js');

function httpOf(world: TestWorld, { as, token = world.gateway.token }: ConnectOptions) {
  const headers = {
    authorization: `Bearer ${token}`,
    ...(as === undefined ? {} : { 'x-trunkline-session-key': as }),
  };
  return { url: new URL('/mcp', world.gateway.url), options: { requestInit: { headers } } };
}

function stdioOf(world: TestWorld, { as, token = world.gateway.token ?? '' }: ConnectOptions) {
  return {
    command: process.execPath,
    args: [PROGRAM, 'mcp', '--url', world.gateway.url, ...(as === undefined ? [] : ['--as', as])],
    env: { ...process.env, TRUNKLINE_GATEWAY_TOKEN: token } as Record<string, string>,
    stderr: 'inherit' as const,
  };
}

const info = ({ clientName = 'Some Harness' }: ConnectOptions) => ({
  name: clientName,
  version: '1.0.0',
});

function closing<T extends { close(): Promise<void> }>(t: TestContext, client: T): AnyClient {
  t.after(() => client.close());
  return client as unknown as AnyClient;
}

const DOORS: readonly Door[] = [
  {
    name: 'HTTP, newest protocol',
    connect: async (t, world, options = {}) => {
      const client = new Client(info(options), { versionNegotiation: { mode: 'auto' } });
      const { url, options: given } = httpOf(world, options);
      await client.connect(new StreamableHTTPClientTransport(url, given));
      return closing(t, client);
    },
  },
  {
    name: 'HTTP, client of the line before',
    connect: async (t, world, options = {}) => {
      const client = new OldClient(info(options));
      const { url, options: given } = httpOf(world, options);
      await client.connect(new OldHttp(url, given) as Parameters<OldClient['connect']>[0]);
      return closing(t, client);
    },
  },
  {
    name: 'stdio, newest protocol',
    connect: async (t, world, options = {}) => {
      const client = new Client(info(options), { versionNegotiation: { mode: 'auto' } });
      await client.connect(new StdioClientTransport(stdioOf(world, options)));
      return closing(t, client);
    },
  },
  {
    name: 'stdio, client of the line before',
    connect: async (t, world, options = {}) => {
      const client = new OldClient(info(options));
      await client.connect(new OldStdio(stdioOf(world, options)));
      return closing(t, client);
    },
  },
];

const tool = (client: AnyClient, name: string, args: Json = {}): Promise<Called> =>
  client.callTool({ name, arguments: args });

/** A list in the answer, empty when it has none. */
const listOf = ({ structuredContent = {} }: Called, name: string): Json[] =>
  (structuredContent[name] ?? []) as Json[];

for (const door of DOORS) {
  describe(`the door ${door.name}`, () => {
    it('[MD1] lists the session tools with schemas and hints', async (t) => {
      const client = await door.connect(t, await startWorld(t));
      assert.equal(client.getServerVersion()?.name, 'trunkline');
      const { tools } = await client.listTools();
      assert.deepEqual(
        tools.map(({ name }) => name).toSorted(),
        [...SESSION_TOOL_NAMES].toSorted(),
      );
      for (const { name, outputSchema, annotations } of tools) {
        assert.ok(outputSchema !== undefined, name);
        const reads = /list|history|wait|search/.test(name);
        assert.equal(annotations?.['readOnlyHint'], reads, name);
      }
    });

    it('[MD2] sends, waits, spawns and reads as a session of its own', async (t) => {
      const world = await startWorld(t);
      const client = await door.connect(t, world);
      const sent = await tool(client, 'sessions_send', { sessionKey: B, message: 'SAY: hello' });
      assert.deepEqual(
        [sent.structuredContent?.['status'], sent.structuredContent?.['reply'], sent.isError],
        ['ok', 'hello', undefined],
      );
      const spawned = await tool(client, 'sessions_spawn', { task: 'SAY: done' });
      const { runId } = spawned.structuredContent ?? {};
      const waited = await tool(client, 'sessions_wait', { runIds: [runId] });
      assert.equal(waited.structuredContent?.['status'], 'ok');
      const listed = await tool(client, 'sessions_list', {});
      const keys = listOf(listed, 'sessions').map(({ key }) => key);
      assert.ok(keys.includes('agent:a:mcp:some-harness'), String(keys));
      const history = await tool(client, 'sessions_history', { sessionKey: B });
      const [message] = listOf(history, 'messages');
      assert.equal(
        (message?.['provenance'] as Json | undefined)?.['sourceSessionKey'],
        'agent:a:mcp:some-harness',
      );
      assert.deepEqual(JSON.parse(history.content[0]?.text ?? ''), history.structuredContent);
    });

    it('[MD3] says bad arguments, refusals and unknown tools in words, and changes nothing', async (t) => {
      const world = await startWorld(t);
      const client = await door.connect(t, world);
      const bad = await tool(client, 'sessions_send', { sesionKey: B, message: 'x' });
      assert.equal(bad.isError, true);
      assert.match(String(bad.structuredContent?.['error']), /nearest.*sessionKey/);
      const missing = await tool(client, 'sessions_send', {
        sessionKey: 'agent:b:none',
        message: 'x',
      });
      assert.equal(missing.isError, true);
      await assert.rejects(tool(client, 'sessions_lst', {}), /sessions_lst/);
      assert.equal((await world.client.request<Json>('runs.list', {}))['count'], 0);
    });

    it('[MD4] hands over messages with the next call, and the reply ends them', async (t) => {
      const world = await startWorld(t);
      const client = await door.connect(t, world);
      await tool(client, 'agents_list');
      const key = 'agent:a:mcp:some-harness';
      const asked = world.tool(
        'sessions_send',
        { sessionKey: key, message: 'are you there?', timeoutSeconds: 20 },
        A,
      );
      let messageId = '';
      while (messageId === '') {
        const { content } = await tool(client, 'agents_list');
        const extra = content[1]?.text;
        if (extra !== undefined) messageId = JSON.parse(extra).inbox.messages[0].messageId;
      }
      const replied = await tool(client, 'sessions_inbox', { reply: { messageId, text: 'I am' } });
      assert.equal(replied.isError, undefined, JSON.stringify(replied));
      const { status, reply } = await asked;
      assert.deepEqual({ status, reply }, { status: 'ok', reply: 'I am' });
    });

    it('[MD5] shows sessions as resources', async (t) => {
      const world = await startWorld(t);
      await world.say(B, 'SAY: here');
      const client = await door.connect(t, world);
      const { resources } = await client.listResources();
      const uri = `trunkline://sessions/${encodeURIComponent(B)}`;
      assert.ok(resources.some((resource) => resource['uri'] === uri));
      const { contents } = await client.readResource({ uri });
      assert.match(String(contents[0]?.['text']), /SAY: here/);
      await assert.rejects(
        client.readResource({ uri: 'trunkline://sessions/agent%3Ab%3Anone' }),
        /not found|visib/i,
      );
      await assert.rejects(client.readResource({ uri: 'file:///etc/passwd' }), /passwd/);
    });

    it('[MD6] acts as the session it was told, with the tools that its policy offers', async (t) => {
      const world = await startWorld(t);
      const client = await door.connect(t, world, { as: A });
      const { tools } = await client.listTools();
      assert.deepEqual(
        tools.map(({ name }) => name),
        ['sessions_list', 'sessions_history', 'sessions_send', 'sessions_spawn', 'agents_list'],
      );
      const { structuredContent } = await tool(client, 'agents_list');
      assert.equal(structuredContent?.['requester'], 'a');
      await assert.rejects(tool(client, 'sessions_stop', { sessionKey: B }), /sessions_stop/);
    });

    it('[MD7] lets nobody in without the credential', async (t) => {
      const world = await startWorld(t);
      const attempt = (async () => {
        const client = await door.connect(t, world, { token: 'wrong' });
        const answer = await tool(client, 'agents_list');
        assert.equal(answer.isError, true);
        throw new Error(JSON.stringify(answer.structuredContent));
      })();
      await assert.rejects(attempt, /token|401|[Uu]nauthorized/);
      const { sessions } = await world.client.request<{ sessions: Json[] }>('sessions.list', {});
      assert.ok(!sessions.some(({ key }) => String(key).includes(':mcp:')));
    });
  });
}

test('[MD3, CL7] over stdio arguments that are nested too deep are refused, and the next call is answered', async (t) => {
  const stdio = DOORS.find(({ name }) => name.startsWith('stdio'));
  const client = await must(stdio, 'no stdio').connect(t, await startWorld(t));
  let message: unknown = 'hello';
  for (let level = 0; level < 100; level += 1) message = [message];
  const refused = await tool(client, 'sessions_send', { sessionKey: B, message });
  assert.match(String(refused.structuredContent?.['error']), /deeper than 64 levels/);
  assert.equal((await tool(client, 'agents_list')).isError, undefined);
});

/** The newest door is enough for what is the same behind all of them. */
const [NEWEST] = DOORS as [Door, ...Door[]];
const connect = async (
  t: TestContext,
  options: WorldOptions = {},
): Promise<[TestWorld, AnyClient]> => {
  const world = await startWorld(t, options);
  return [world, await NEWEST.connect(t, world)];
};

test('[MD8] a wait longer than the limit of a call ends before it, with the call that goes on', async (t) => {
  const [world, client] = await connect(t, {
    config: { gateway: { http: { endpoints: { mcp: { maxWaitSeconds: 1 } } } } },
  });
  const held = world.model.hold('slow');
  const sent = await tool(client, 'sessions_send', {
    sessionKey: B,
    message: 'slow\nSAY: late',
    timeoutSeconds: 600,
  });
  const answer = sent.structuredContent ?? {};
  assert.equal(answer['status'], 'timeout');
  const again = /sessions_wait (\{.*\})$/.exec(String(answer['note']))?.[1] ?? '';
  held.release();
  const waited = await tool(client, 'sessions_wait', JSON.parse(again));
  assert.equal(listOf(waited, 'done')[0]?.['reply'], 'late');
});

test('[MD8] a wait within the limit is left as it is', async (t) => {
  const [world, client] = await connect(t);
  world.model.hold('slow');
  const args = { sessionKey: B, message: 'slow', timeoutSeconds: 0.05 };
  const { structuredContent } = await tool(client, 'sessions_send', args);
  assert.equal(structuredContent?.['status'], 'timeout');
  assert.equal('note' in (structuredContent ?? {}), false);
});

test('[MD9] a repeated call under one key is done once', async (t) => {
  const [world, client] = await connect(t);
  const args = { sessionKey: B, message: 'SAY: once', idempotencyKey: 'job 1' };
  const first = await tool(client, 'sessions_send', args);
  const second = await tool(client, 'sessions_send', args);
  assert.equal(second.structuredContent?.['runId'], first.structuredContent?.['runId']);
  assert.equal(world.model.requests.length, 1);
});

test('[MD10] the door may be closed, and a closed one is no path at all', async (t) => {
  const world = await startWorld(t, {
    config: { gateway: { http: { endpoints: { mcp: { enabled: false } } } } },
  });
  const response = await fetch(new URL('/mcp', world.gateway.url), {
    method: 'POST',
    headers: { authorization: `Bearer ${world.gateway.token}` },
    body: '{}',
  });
  assert.equal(response.status, 404);
});

test('[MD11] what is no request is refused before anything is done', async (t) => {
  const world = await startWorld(t);
  const post = async (body: string, headers: Record<string, string> = {}) => {
    const response = await fetch(new URL('/mcp', world.gateway.url), {
      method: 'POST',
      headers: {
        authorization: `Bearer ${world.gateway.token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      body,
    });
    await response.body?.cancel();
    return response.status;
  };
  assert.equal(await post('{'), 400);
  assert.equal(await post(`${'['.repeat(500)}${']'.repeat(500)}`), 400);
  assert.equal(await post('[]'), 400);
  assert.equal(await post('{"jsonrpc":"2.0"}'), 400);
  const initializeAs = (name: string): string =>
    JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: {
        protocolVersion: '2025-06-18',
        capabilities: {},
        clientInfo: { name, version: '1' },
      },
    });
  const initialize = initializeAs('x');
  assert.equal(await post(initializeAs('x'.repeat(257))), 400);
  assert.equal(await post(initialize, { 'x-trunkline-session-key': 'k'.repeat(513) }), 400);
  assert.equal(await post(initialize, { 'x-trunkline-session-key': 'agent::mcp:' }), 400);
  assert.equal(await post(initialize, { origin: 'https://evil.example' }), 403);
  assert.equal(await post(initialize, { 'x-trunkline-session-key': 'agent:a:subagent:x' }), 404);
  assert.equal(await post(initialize, { 'mcp-session-id': '!!!' }), 200);
  assert.equal(await post(initialize), 200);
  const { sessions } = await world.client.request<{ sessions: Json[] }>('sessions.list', {});
  assert.deepEqual(
    sessions.map(({ key }) => String(key)).filter((key) => key.includes(':mcp:')),
    ['agent:a:mcp:x'],
  );
});

test('[MD12] the tools of an agent are none the wiser: a turn is offered what it was', async (t) => {
  const world = await startWorld(t);
  await world.say(A, `${call('sessions_inbox', {})}\nSAY: done`);
  const offered = (
    (world.model.requests[0]?.body['tools'] ?? []) as { function: { name: string } }[]
  ).map(({ function: { name } }) => name);
  assert.ok(!offered.includes('sessions_inbox'));
});

/** The MCP door over HTTP, and clients that are wrong, rude or gone. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { startWorld, type TestWorld } from './helpers/test-world.ts';

type Json = Record<string, unknown>;
interface Posted {
  status: number;
  /** the body, or the one message in its stream; undefined when there is none */
  body: Json | undefined;
}

const PROGRAM = join(import.meta.dirname, '..', 'bin', 'trunkline.js');
const A = 'agent:a:main';
const B = 'agent:b:main';
const NEWEST = '2026-07-28';
const ME = 'agent:a:mcp:some-harness';

function requestTo(world: TestWorld, { headers = {}, ...rest }: RequestInit): Request {
  return new Request(new URL('/mcp', world.gateway.url), {
    method: 'POST',
    headers: {
      authorization: `Bearer ${world.gateway.token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(headers as Record<string, string>),
    },
    ...rest,
  });
}

async function post(
  world: TestWorld,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Posted> {
  const response = await fetch(requestTo(world, { headers, body: JSON.stringify(body) }));
  const said = await response.text();
  const [, data = said] = /^data: (.*)$/m.exec(said) ?? [];
  return { status: response.status, body: data === '' ? undefined : (JSON.parse(data) as Json) };
}

const request = (method: string, params: Json = {}): Json => ({
  jsonrpc: '2.0',
  id: 1,
  method,
  params,
});
const toolCall = (name: string, args: Json = {}): Json =>
  request('tools/call', { name, arguments: args });
const initialize = request('initialize', {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'Some Harness', version: '1' },
});

async function clientSessions({ client }: TestWorld): Promise<string[]> {
  const { sessions } = await client.request<{ sessions: Json[] }>('sessions.list', {});
  return sessions.map(({ key }) => String(key)).filter((key) => key.includes(':mcp:'));
}

test('[MD11] what the protocol refuses makes no session', async (t) => {
  const world = await startWorld(t);
  const refused: [what: string, status: number, body: unknown, headers?: Record<string, string>][] =
    [
      ['another media type', 415, initialize, { 'content-type': 'text/plain' }],
      ['no stream is accepted', 406, initialize, { accept: 'application/json' }],
      ['header and body disagree', 400, initialize, { 'mcp-protocol-version': '2026-07-28' }],
      ['an unknown revision', 400, toolCall('agents_list'), { 'mcp-protocol-version': '1999' }],
      ['a batch', 400, [toolCall('agents_list'), toolCall('agents_list')]],
      ['a batch of one', 400, [initialize]],
    ];
  for (const [what, status, body, headers] of refused)
    assert.equal((await post(world, body, headers)).status, status, what);
  assert.deepEqual(await clientSessions(world), []);
  assert.equal((await post(world, initialize)).status, 200);
  assert.deepEqual(await clientSessions(world), [ME]);
});

test('[MD11] a batch is refused in words', async (t) => {
  const { body } = await post(await startWorld(t), [toolCall('agents_list')]);
  assert.match(JSON.stringify(body), /batch.*one message per request/);
});

test('[MD16] an error says whose fault it is, and repeats little of what it was given', async (t) => {
  const world = await startWorld(t);
  const child = { 'x-trunkline-session-key': 'agent:a:subagent:x' };
  const asked: [body: Json, headers: Record<string, string>, says: RegExp][] = [
    [request('resources/list', { cursor: 'none of ours' }), {}, /not a cursor of this gateway/],
    [request('tools/list'), child, /agent:a:subagent:x/],
    [request('resources/list'), child, /agent:a:subagent:x/],
    [toolCall(`sessions_${'x'.repeat(100_000)}`), {}, /no tool "sessions_x/],
    [request('resources/read', { uri: `x:${'x'.repeat(100_000)}` }), {}, /at most 2048/],
  ];
  for (const [body, headers, says] of asked) {
    const answer = await post(world, body, headers);
    const error = answer.body?.['error'] as Json;
    assert.equal(error['code'], -32_602, JSON.stringify(error).slice(0, 500));
    assert.match(String(error['message']), says);
    assert.ok(JSON.stringify(answer.body).length < 600);
  }
});

/** The envelope and headers that each request of the newest revision has. */
function inNewest(message: Json): [body: Json, headers: Record<string, string>] {
  const params = message['params'] as Json;
  const envelope = {
    'io.modelcontextprotocol/protocolVersion': NEWEST,
    'io.modelcontextprotocol/clientInfo': { name: 'Some Harness', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const headers = {
    'mcp-protocol-version': NEWEST,
    'mcp-method': String(message['method']),
    'mcp-name': String(params['name']),
  };
  return [{ ...message, params: { ...params, _meta: envelope } }, headers];
}

const DIALECTS: Record<string, typeof inNewest> = {
  'a stream': (message) => [message, { 'x-trunkline-session-key': ME }],
  'a body': inNewest,
};

for (const [answered, say] of Object.entries(DIALECTS))
  test(`[MD4] a client that hung up on a call, answered by ${answered}, is given with its next one what came meanwhile`, async (t) => {
    const world = await startWorld(t);
    const held = world.model.hold('slow');
    const leave = new AbortController();
    const [call, headers] = say(
      toolCall('sessions_send', { sessionKey: B, message: 'slow', timeoutSeconds: 30 }),
    );
    const gone = assert.rejects(
      fetch(requestTo(world, { headers, body: JSON.stringify(call), signal: leave.signal })).then(
        (response) => response.text(),
      ),
      { name: 'AbortError' },
    );
    await held.arrived();
    leave.abort();
    await gone;
    const message = { sessionKey: ME, message: 'are you there?', timeoutSeconds: 0 };
    await world.tool('sessions_send', message, A);
    held.release();
    await endOfRun(world, B);
    const next = await post(world, ...say(toolCall('agents_list')));
    assert.match(JSON.stringify(next.body), /are you there\?/);
  });

/** Resolves when the session's run has ended, and what waits for it has been told. */
async function endOfRun({ client }: TestWorld, sessionKey: string): Promise<void> {
  const { runs } = await client.request<{ runs: Json[] }>('runs.list', { sessionKey });
  await client.request('agent.wait', { runId: runs[0]?.['runId'], timeoutMs: 30_000 });
  for (let turn = 0; turn < 3; turn += 1) await client.request('sessions.list', {});
}

test('[MD17] a message on stdin beyond the bound ends the bridge, which says so, instead of leaving it deaf', async (t) => {
  const world = await startWorld(t);
  const args = [PROGRAM, 'mcp', '--url', world.gateway.url];
  const env = { ...process.env, TRUNKLINE_GATEWAY_TOKEN: world.gateway.token ?? '' };
  const bridge = spawn(process.execPath, args, { env, stdio: ['pipe', 'ignore', 'pipe'] });
  t.after(() => bridge.kill());
  // it stops reading in the middle
  bridge.stdin.on('error', () => {});
  bridge.stdin.write('x'.repeat(11 * 1024 * 1024));
  const [told, [code]] = await Promise.all([text(bridge.stderr), once(bridge, 'exit')]);
  assert.match(told, /exceeded maximum size/);
  assert.match(told, /served no more; start again/);
  assert.equal(code, 1);
});

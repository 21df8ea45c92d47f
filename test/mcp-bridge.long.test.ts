/** The bridge of a harness, `trunkline mcp`, while its gateway is killed and started again. */
import assert from 'node:assert/strict';
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text as readText } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { connectGateway, type GatewayClient } from '../src/client/gateway-client.ts';
import { CRASH_CONFIG, makeStateDir, startGatewayProcess } from './helpers/gateway-process.ts';

const PROGRAM = join(import.meta.dirname, '..', 'bin', 'trunkline.js');

test('[MD9] a call goes on through a kill of the gateway, and is done once', async (t) => {
  const stateDir = makeStateDir(t, { config: CRASH_CONFIG });
  const first = startGatewayProcess(t, { stateDir });
  const { url, port, token } = await first.ready;
  const harness = new Client({ name: 'harness', version: '1' });
  t.after(() => harness.close());
  await harness.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [PROGRAM, 'mcp', '--url', url],
      env: { ...process.env, TRUNKLINE_GATEWAY_TOKEN: token } as Record<string, string>,
    }),
  );
  const asked = harness.callTool({
    name: 'sessions_spawn',
    arguments: { task: 'SLEEP: 500\nSAY: done' },
  });
  const { runId } = (await asked).structuredContent as { runId: string };
  const waiting = harness.callTool({
    name: 'sessions_wait',
    arguments: { runIds: [runId], timeoutSeconds: 40 },
  });
  const sending = harness.callTool({
    name: 'sessions_spawn',
    arguments: { task: 'SLEEP: 200\nSAY: second' },
  });
  await first.kill();
  const next = startGatewayProcess(t, { stateDir, port });
  await next.ready;
  const { done } = (await waiting).structuredContent as { done: { reply: string }[] };
  assert.deepEqual(
    done.map(({ reply }) => reply),
    ['done'],
  );
  const second = (await sending).structuredContent as { runId: string };
  const client = await connectGateway({ url, token });
  t.after(() => client.close());
  await client.call('agent.wait', { runId: second.runId, timeoutMs: 20_000 });
  const { sessions } = await client.call('sessions.list', { spawnedBy: 'agent:main:mcp:harness' });
  assert.equal(sessions.length, 2);
});

for (const { what, says } of [
  { what: 'that is not there', says: /cannot connect to the gateway at .*trunkline gateway/ },
  { what: 'that refuses the token', says: /token is wrong/ },
])
  test(`[MD9] a bridge to a gateway ${what} says so, in the answer and on stderr`, async (t) => {
    const isThere = what.includes('token');
    const url = isThere ? await startedUrl(t) : await unusedUrl();
    const harness = new Client({ name: 'harness', version: '1' });
    t.after(() => harness.close());
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [PROGRAM, 'mcp', '--url', url],
      env: { ...process.env, TRUNKLINE_GATEWAY_TOKEN: 'wrong' } as Record<string, string>,
      stderr: 'pipe',
    });
    const noted = readText(transport.stderr as Readable);
    await harness.connect(transport);
    const { isError, structuredContent } = await harness.callTool({ name: 'agents_list' });
    assert.equal(isError, true);
    assert.match(String((structuredContent as { error: string }).error), says);
    await assert.rejects(harness.listTools(), says);
    // it has said all once it is gone
    await harness.close();
    assert.match(await noted, says);
  });

test('[MD9] a bridge that was there before its gateway gets in once it starts, and again after its token was changed', async (t) => {
  const port = Number(new URL(await unusedUrl()).port);
  const stateDir = makeStateDir(t, { config: { ...CRASH_CONFIG, gateway: { port } } });
  const harness = new Client({ name: 'harness', version: '1' });
  t.after(() => harness.close());
  await harness.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [PROGRAM, 'mcp', '--state-dir', stateDir],
      env: { PATH: process.env['PATH'] ?? '' },
      stderr: 'ignore',
    }),
  );
  const early = await harness.callTool({ name: 'agents_list' });
  assert.equal(early.isError, true);
  // its first start makes the token, and takes a port of its own
  const { url } = await startGatewayProcess(t, { stateDir }).ready;
  await untilAnswered(harness);

  const token = 'another-token';
  writeFileSync(join(stateDir, 'gateway.token'), `${token}\n`);
  let operator: GatewayClient | undefined;
  while (operator === undefined)
    operator = await connectGateway({ url, token }).catch(() => undefined);
  t.after(() => operator.close());
  await untilAnswered(harness);
  const { sessions } = await operator.call('sessions.list', {});
  assert.ok(sessions.some(({ key }) => key === 'agent:main:mcp:harness'));
});

/** A call waits some seconds for a connection: one of them meets it. */
async function untilAnswered(harness: Client): Promise<void> {
  let last: unknown;
  for (let tries = 0; tries < 5; tries += 1) {
    const { isError, structuredContent } = await harness.callTool({ name: 'agents_list' });
    if (isError !== true) return;
    last = structuredContent;
  }
  assert.fail(JSON.stringify(last));
}

async function startedUrl(t: TestContext): Promise<string> {
  const stateDir = makeStateDir(t, { config: CRASH_CONFIG });
  return (await startGatewayProcess(t, { stateDir }).ready).url;
}

/** An address at which nobody listens any more. */
async function unusedUrl(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return `http://127.0.0.1:${port}`;
}

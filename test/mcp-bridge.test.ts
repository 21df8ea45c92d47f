/** The bridge of a harness, `trunkline mcp`, while its gateway is killed and started again. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { connectGateway } from '../src/client/gateway-client.ts';
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

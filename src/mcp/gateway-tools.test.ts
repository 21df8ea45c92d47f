import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServerContext } from '@modelcontextprotocol/server';
import { GatewayError } from '../protocol/errors.ts';
import { gatewayTools } from './gateway-tools.ts';
import type { McpGateway, McpToolCall } from './mcp-gateway.ts';

const KEY = 'agent:main:mcp:c';

const notPlayed = () => Promise.reject(new Error('no call is deferred here'));

/** The tools over a gateway whose calls succeed, and what it was asked. */
function toolsOver(played: Partial<McpGateway>) {
  const calls: McpToolCall[] = [];
  const gateway: McpGateway = {
    openSession: async () => KEY,
    listTools: async () => [],
    invoke: async (call) => {
      calls.push(call);
      return { status: 'ok' };
    },
    takeNews: async () => undefined,
    startCall: notPlayed,
    readCall: notPlayed,
    listCalls: notPlayed,
    cancelCall: notPlayed,
    ...played,
  };
  const tools = gatewayTools({ gateway, maxWaitSeconds: 10 }, async () => KEY);
  return { tools, calls };
}

function contextOf(signal: AbortSignal = new AbortController().signal): ServerContext {
  return { mcpReq: { signal } } as ServerContext;
}

for (const code of ['unavailable', 'unknown_name', 'not_found', 'internal'] as const)
  test(`[MD4] a call that is done says so when its messages cannot be fetched (${code})`, async () => {
    const takeNews = () => Promise.reject(new GatewayError(code, 'not now'));
    const { tools } = toolsOver({ takeNews });
    const result = await tools.call('sessions_send', {}, contextOf());
    assert.deepEqual(
      [result?.structuredContent, result?.isError, result?.content.length],
      [{ status: 'ok' }, undefined, 1],
    );
  });

test('[MD4] messages stay where they are when the client has given its call up', async () => {
  let taken = 0;
  const takeNews = async () => {
    taken += 1;
    return undefined;
  };
  const { tools } = toolsOver({ takeNews });
  await tools.call('agents_list', {}, contextOf(AbortSignal.abort()));
  assert.equal(taken, 0);
  await tools.call('agents_list', {}, contextOf());
  assert.equal(taken, 1);
});

test('[MD8] a wait that names no time is cut as well', async () => {
  const { tools, calls } = toolsOver({});
  for (const name of ['sessions_send', 'sessions_wait', 'sessions_list'])
    await tools.call(name, {}, contextOf());
  await tools.call('sessions_send', { timeoutSeconds: 5 }, contextOf());
  assert.deepEqual(
    calls.map(({ args }) => args),
    [{ timeoutSeconds: 10 }, { timeoutSeconds: 10 }, {}, { timeoutSeconds: 5 }],
  );
});

test('[WT13] a call is told when the client has given it up', async () => {
  const { tools, calls } = toolsOver({});
  const leave = new AbortController();
  await tools.call('sessions_wait', {}, contextOf(leave.signal));
  assert.equal(calls[0]?.gone, leave.signal);
});

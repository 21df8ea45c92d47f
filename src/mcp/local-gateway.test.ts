import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SessionCaller } from '../core/caller.ts';
import { silentLogger } from '../util/logger.ts';
import { GatewayError } from '../protocol/errors.ts';
import { createLocalGateway } from './local-gateway.ts';

const KEY = 'agent:main:mcp:c';

/** Each call of the gateway, over use cases that all reject with this. */
function failing(thrown: Error) {
  const logged: unknown[] = [];
  const fails = () => Promise.reject(thrown);
  const gateway = createLocalGateway({
    services: {
      openClientSession: fails,
      resolveCaller: fails,
      takeInboxNews: fails,
      readCall: fails,
      listCalls: fails,
      cancelCall: fails,
    },
    invokeTool: fails,
    listTools: fails,
    startCall: fails,
    logger: { ...silentLogger, error: (about) => logged.push(about) },
  });
  const calls = {
    openSession: () => gateway.openSession({ name: 'c' }),
    listTools: () => gateway.listTools(KEY),
    invoke: () => gateway.invoke({ sessionKey: KEY, tool: 'sessions_list', args: {} }),
    takeNews: () => gateway.takeNews(KEY),
    startCall: () => gateway.startCall({ sessionKey: KEY, tool: 'sessions_wait', args: {} }),
    readCall: () => gateway.readCall({ sessionKey: KEY, callId: 'x', timeoutMs: 0 }),
    listCalls: () => gateway.listCalls({ sessionKey: KEY, cursor: undefined }),
    cancelCall: () => gateway.cancelCall({ sessionKey: KEY, callId: 'x' }),
  };
  return { calls: Object.entries(calls), logged };
}

test('[MD14, GW24] a fault of the gateway says nothing of its cause to an MCP client and everything to the log', async () => {
  const fault = new Error('SQLITE_CORRUPT in /home/someone/state.db');
  const { calls, logged } = failing(fault);
  for (const [name, call] of calls)
    await assert.rejects(call(), { code: 'internal', message: /see the gateway log/ }, name);
  assert.deepEqual(
    logged,
    calls.map(() => ({ err: fault })),
  );
});

test('[MD14, MK6] what an MCP client is told of an error holds no credential', async () => {
  const secret = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`;
  const { calls, logged } = failing(new GatewayError('not_found', `session ${secret} not found`));
  for (const [name, call] of calls)
    await assert.rejects(
      call(),
      { code: 'not_found', message: 'session [masked] not found' },
      name,
    );
  assert.deepEqual(logged, []);
});

test('[WT13] a tool is told when its client has gone', async () => {
  const callers: SessionCaller[] = [];
  const unasked = () => Promise.reject(new Error('not asked for here'));
  const gateway = createLocalGateway({
    services: {
      openClientSession: unasked,
      takeInboxNews: unasked,
      readCall: unasked,
      listCalls: unasked,
      cancelCall: unasked,
      resolveCaller: async (sessionKey) => ({ type: 'session', sessionKey, agentId: 'main' }),
    },
    invokeTool: async ({ caller }) => {
      callers.push(caller);
      return {};
    },
    listTools: unasked,
    startCall: unasked,
    logger: silentLogger,
  });
  const { signal: gone } = new AbortController();
  await gateway.invoke({ sessionKey: KEY, tool: 'sessions_wait', args: {}, gone });
  assert.equal(callers[0]?.gone, gone);
});

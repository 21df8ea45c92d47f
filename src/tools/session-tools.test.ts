import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { createSessionWorld, userText } from '../../test/helpers/session-world.ts';
import type { SessionWorld } from '../../test/helpers/session-world.ts';
import type { ToolContext } from '../agent/runtime.ts';
import { spawnTargets } from '../core/agents.ts';
import type { SessionCaller } from '../core/caller.ts';
import { SCRIPTED_MODEL } from '../core/models.ts';
import { DEFAULT_TOOLS } from '../core/tool-names.ts';
import { offeredTools } from '../core/tool-policy.ts';
import { toldOf } from '../core/refusals.ts';
import { GatewayError } from '../protocol/errors.ts';
import { SESSION_TOOL_NAMES } from '../protocol/tools/session-tools.ts';
import { listAgents } from '../service/sessions/list-agents.ts';
import { listSessions } from '../service/sessions/list-sessions.ts';
import { readHistory } from '../service/sessions/read-history.ts';
import { searchSessions } from '../service/sessions/search-sessions.ts';
import { silentLogger } from '../util/logger.ts';
import type { SessionToolServices } from './call-session-tool.ts';
import { createSessionTools } from './create-session-tools.ts';
import { createToolInvoker } from './create-tool-invoker.ts';

const MAIN = 'agent:main:main';
const signal = new AbortController().signal;
const inRun: ToolContext = {
  runId: 'run-1',
  sessionKey: MAIN,
  agentId: 'main',
  workspace: '/nowhere',
  position: 2,
  callIndex: 1,
  signal,
};

/** The reading use cases on a real store; sending and spawning tell who called. */
function servicesOf(world: SessionWorld, calls: SessionCaller[] = []): SessionToolServices {
  return {
    listSessions: (caller, args) => listSessions(world.context, caller, args),
    readHistory: (caller, args) => readHistory(world.context, caller, args),
    listAgents: (caller) => Promise.resolve(listAgents(world.context, caller)),
    waitForSessions: () => Promise.reject(new Error('not waited here')),
    stopSession: () => Promise.reject(new Error('nothing is stopped here')),
    searchSessions: (caller, args) => searchSessions(world.context, caller, args),
    readInbox: () => Promise.reject(new Error('nobody reads an inbox here')),
    sendMessage: (caller) => {
      calls.push(caller);
      return Promise.resolve({ status: 'accepted', runId: 'r' });
    },
    spawnSession: (caller) => {
      calls.push(caller);
      return Promise.resolve(toldOf({ status: 'forbidden', error: 'no', rule: 'depth' }));
    },
  };
}

function toolsOf(world: SessionWorld, services: SessionToolServices) {
  const tools = createSessionTools({
    services,
    logger: silentLogger,
    runContext: () => ({ rootRunId: 'root-1', hops: 3, signal }),
    spawnTargets: (agentId) => spawnTargets(world.context.config(), agentId),
  });
  return new Map(tools.map((tool) => [tool.spec.name, tool]));
}

describe('an agent’s turn', () => {
  test('[TL6] an answer is JSON for the model and data for us', async (t) => {
    const world = createSessionWorld(t);
    await world.add({ key: MAIN });
    await world.append(MAIN, [userText('q')]);
    const history = toolsOf(world, servicesOf(world)).get('sessions_history');
    const outcome = await history!.execute({ sessionKey: 'main' }, inRun);
    assert.equal(outcome.isError, false);
    assert.deepEqual(JSON.parse(outcome.text), outcome.details);
    assert.deepEqual((outcome.details as { messages: unknown }).messages, [userText('q')]);
  });

  test('[TL6] bad arguments and refusals are answers, not faults', async (t) => {
    const world = createSessionWorld(t);
    const tools = toolsOf(world, servicesOf(world));
    const bad = await tools.get('sessions_list')!.execute({ limti: 1 }, inRun);
    assert.deepEqual([bad.isError, (bad.details as { status: string }).status], [true, 'error']);
    const refused = await tools.get('sessions_spawn')!.execute({ task: 't' }, inRun);
    assert.deepEqual(
      [refused.isError, refused.details],
      [true, { status: 'forbidden', error: 'no' }],
    );
  });

  test('[TL7] a call carries its place in the run and in the tree of messages', async (t) => {
    const world = createSessionWorld(t);
    const calls: SessionCaller[] = [];
    const send = toolsOf(world, servicesOf(world, calls)).get('sessions_send');
    await send!.execute(
      { sessionKey: 'k', message: 'm', idempotencyKey: 'ignored in a run' },
      inRun,
    );
    assert.deepEqual(calls, [
      {
        type: 'session',
        sessionKey: MAIN,
        agentId: 'main',
        run: { runId: 'run-1', position: 2, callIndex: 1, rootRunId: 'root-1', hops: 3, signal },
      },
    ]);
  });

  test('[TL8] a fault of ours is told without its cause, a passing one rejects', async (t) => {
    const world = createSessionWorld(t);
    let fault: Error = new Error('secret detail');
    const services = { ...servicesOf(world), listAgents: () => Promise.reject(fault) };
    const list = toolsOf(world, services).get('agents_list');
    const outcome = await list!.execute({}, inRun);
    assert.deepEqual([outcome.isError, /secret/.test(outcome.text)], [true, false]);
    fault = new GatewayError('fenced', 'another owner');
    await assert.rejects(list!.execute({}, inRun), { code: 'fenced' });
  });

  test('[TL4, BR-096] the spec that an agent is given names the agents it may spawn', (t) => {
    const coder = { id: 'coder' };
    const main = { id: 'main', subagents: { allowAgents: ['coder'] } };
    const world = createSessionWorld(t, { agents: { list: [main, coder] } });
    const spawn = toolsOf(world, servicesOf(world)).get('sessions_spawn');
    const enumOf = (agentId: string): string => JSON.stringify(spawn?.specFor?.(agentId));
    assert.match(enumOf('main'), /"enum":\["main","coder"\]/);
    assert.match(enumOf('coder'), /"enum":\["coder"\]/);
  });
});

describe('a call through a door', () => {
  const invoke = (
    world: SessionWorld,
    tool: string,
    options: { as?: string; calls?: SessionCaller[]; args?: object } = {},
  ) => {
    const { store, config } = world.context;
    const services = servicesOf(world, options.calls);
    const caller = world.caller(options.as ?? MAIN);
    const invoker = createToolInvoker({ services, store, config, logger: silentLogger });
    return invoker({ caller, tool, args: { ...options.args } });
  };

  test('[TL9] the result is the tool’s JSON itself', async (t) => {
    const world = createSessionWorld(t);
    await world.add({ key: MAIN });
    const list = (await invoke(world, 'sessions_list')) as { count: number };
    assert.equal(list.count, 1);
    const bad = await invoke(world, 'sessions_list', { args: { limit: 0 } });
    assert.equal((bad as { status: string }).status, 'error');
  });

  test('[TL9] an argument idempotencyKey names the job outside a run', async (t) => {
    const world = createSessionWorld(t);
    const calls: SessionCaller[] = [];
    const args = { sessionKey: 'k', message: 'm', idempotencyKey: 'job-1' };
    await invoke(world, 'sessions_send', { calls, args });
    assert.equal(calls[0]?.idempotencyKey, 'job-1');
  });

  test('[TL10] an unknown tool, a file tool and one closed by policy are not there', async (t) => {
    const world = createSessionWorld(t, { tools: { deny: ['sessions_history'] } });
    await world.add({ key: MAIN });
    const child = 'agent:main:subagent:00000000-0000-4000-8000-000000000001';
    await world.add({ key: child, spawnedBy: MAIN });
    for (const [tool, as] of [
      ['sessions_lst', MAIN],
      ['exec', MAIN],
      ['sessions_history', MAIN],
      ['sessions_list', child],
    ] as const)
      await assert.rejects(invoke(world, tool, { as }), { code: 'unknown_name' }, tool);
    await assert.rejects(invoke(world, 'sessions_lst'), /nearest: "sessions_list"/);
  });
});

test('[TP4] under any tool policy a door takes exactly what a turn of the session is offered', async (t) => {
  const world = createSessionWorld(t);
  const child = 'agent:main:subagent:0a0a0a0a-0000-4000-8000-000000000001';
  await world.add({ key: MAIN }, { key: child, spawnedBy: MAIN });
  const { context } = world;
  const invoke = createToolInvoker({
    services: servicesOf(world),
    store: context.store,
    config: () => context.config(),
    logger: silentLogger,
  });
  const isTaken = (tool: string, sessionKey: string) =>
    // a parameter that no tool has: what is taken is refused as an answer, and does nothing
    invoke({ caller: world.caller(sessionKey), tool, args: { none: 1 } }).then(
      () => true,
      (error: unknown) => {
        assert.ok(error instanceof GatewayError && error.code === 'unknown_name', String(error));
        return false;
      },
    );
  const available = [...new Set([...DEFAULT_TOOLS, ...SESSION_TOOL_NAMES])];
  const names = fc.array(fc.constantFrom(...available, '*', 'sessions_*', 'group:sessions'), {
    maxLength: 4,
  });
  const lists = fc.record({ allow: names, deny: names }, { requiredKeys: [] });
  const policy = fc.record({
    own: lists,
    agent: lists,
    provider: lists,
    tools: lists,
    depth: fc.integer({ min: 1, max: 2 }),
  });
  await fc.assert(
    fc.asyncProperty(policy, async ({ own, agent, provider, tools, depth: maxSpawnDepth }) => {
      world.configure({
        tools: { ...own, byProvider: { scripted: provider }, subagents: { tools } },
        agents: {
          defaults: { subagents: { maxSpawnDepth } },
          list: [{ id: 'main', tools: agent }],
        },
      });
      for (const [key, spawnDepth] of [
        [MAIN, 0],
        [child, 1],
      ] as const) {
        const isSubagent = key === child;
        const query = {
          config: context.config(),
          agentId: 'main',
          model: SCRIPTED_MODEL,
          isSubagent,
          isSandboxed: false,
          spawnDepth,
          available,
        };
        const offered = offeredTools(query);
        for (const tool of SESSION_TOOL_NAMES)
          assert.equal(await isTaken(tool, key), offered.includes(tool), `${tool} of ${key}`);
      }
    }),
    { numRuns: 40 },
  );
});

/** Tool policy over a whole gateway: the model is offered exactly what it may call, at every door the same. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { textOf } from '../src/protocol/message.ts';
import { SESSION_TOOL_NAMES } from '../src/protocol/tools/session-tools.ts';
import { runCli } from './helpers/captured-io.ts';
import { call, startWorld, type TestWorld } from './helpers/test-world.ts';

type Json = Record<string, unknown>;

const A = 'agent:a:main';
const FILE_TOOLS = ['read', 'write', 'edit', 'exec'];
/** A client's tool is no agent's (IB9). */
const SESSION_TOOLS = SESSION_TOOL_NAMES.filter((name) => name !== 'sessions_inbox');
const TOOLS = [...SESSION_TOOLS, ...FILE_TOOLS];
/** Calls every tool with a parameter that none has, so that what is taken has no effect. */
const PROBE = `${TOOLS.map((name) => call(name, { none: 1 })).join('\n')}\nSAY: probed`;

/** What the model was offered in the turn that played the probe, and which calls were not refused. */
async function probe(
  world: TestWorld,
  play: () => Promise<string>,
): Promise<{ offered: string[]; taken: string[]; texts: Map<string, string> }> {
  const from = world.model.requests.length;
  const key = await play();
  await world.quiet();
  const asked = world.model.requests
    .slice(from)
    .filter(({ raw }) => raw.includes(`Your session is ${key}.`));
  const offered = new Set(asked.flatMap(({ body }) => toolsIn(body)));
  for (const { body } of asked.filter(({ raw }) => !raw.includes('[Announce step')))
    assert.equal(toolsIn(body).length, offered.size, 'the same tools at each step of the turn');
  const texts = new Map<string, string>();
  for (const message of await world.history(key))
    if (message.role === 'toolResult') texts.set(message.toolName, textOf(message));
  const taken = TOOLS.filter((name) => !texts.get(name)?.includes('tool policy does not offer'));
  return { offered: TOOLS.filter((name) => offered.has(name)), taken, texts };
}

const toolsIn = (body: Json): string[] =>
  ((body['tools'] ?? []) as { function: { name: string } }[]).map((tool) => tool.function.name);

const say = (world: TestWorld) => async () => {
  await world.say(A, PROBE);
  return A;
};
const spawn = (world: TestWorld) => async () => {
  const answer = await world.tool('sessions_spawn', { task: PROBE });
  assert.equal(answer['status'], 'accepted', JSON.stringify(answer));
  return String(answer['childSessionKey']);
};

const fake = (entry: Json): Json => ({ tools: { byProvider: { fake: entry } } });
const agentA = (tools: Json): Json => ({
  agents: { list: [{ id: 'a', default: true, tools }] },
});
const subagents = (tools: Json): Json => ({ tools: { subagents: { tools } } });
const five = [
  'sessions_list',
  'sessions_history',
  'sessions_send',
  'sessions_spawn',
  'agents_list',
];

/** One configuration for each stage, with what main and child are offered. */
const CASES: { name: string; config: Json; main: string[]; child: string[] }[] = [
  { name: 'nothing', config: {}, main: [...five, ...FILE_TOOLS], child: FILE_TOOLS },
  {
    name: 'tools.profile',
    config: { tools: { profile: 'full' } },
    main: TOOLS,
    child: FILE_TOOLS,
  },
  {
    name: 'a profile of the provider',
    config: fake({ profile: 'coding', deny: ['exec'] }),
    main: [...five, 'read', 'write', 'edit'],
    child: ['read', 'write', 'edit'],
  },
  {
    name: 'tools.allow and tools.deny',
    config: { tools: { allow: ['*', 'sessions_wait'], deny: ['group:fs'] } },
    main: [...five, 'sessions_wait', 'exec'],
    child: ['exec'],
  },
  {
    name: 'the list of a model',
    config: {
      tools: { byProvider: { 'fake/fake-1': { allow: ['read', 'sessions_spawn'] } } },
    },
    main: ['sessions_spawn', 'read'],
    child: ['read'],
  },
  {
    name: 'the agent',
    config: agentA({ deny: ['exec', 'sessions_send'] }),
    main: [...five.filter((name) => name !== 'sessions_send'), 'read', 'write', 'edit'],
    child: ['read', 'write', 'edit'],
  },
  {
    name: 'the provider in the agent',
    config: agentA({ byProvider: { FAKE: { deny: ['group:fs'] } } }),
    main: [...five, 'exec'],
    child: ['exec'],
  },
  {
    name: '[BR-194] the tools of sub-agents',
    config: subagents({ allow: ['sessions_list', 'sessions_spawn', 'read'] }),
    main: [...five, ...FILE_TOOLS],
    child: ['sessions_list', 'read'],
  },
  {
    name: '[BR-193] what the agent is denied, named for sub-agents',
    config: { ...agentA({ deny: ['exec'] }), ...subagents({ allow: ['exec', 'write'] }) },
    main: [...five, 'read', 'write', 'edit'],
    child: ['write'],
  },
];

const sorted = (names: readonly string[]): string[] => TOOLS.filter((name) => names.includes(name));

for (const { name, config, main, child } of CASES) {
  test(`[TP8, BR-193, BR-194] under ${name.replace(/^\[.*\] /, '')} the model is offered exactly what it may call`, async (t) => {
    const world = await startWorld(t, { config, careless: true });
    for (const [who, play, expected] of [
      ['main', say(world), main],
      ['child', spawn(world), child],
    ] as const) {
      const { offered, taken } = await probe(world, play);
      assert.deepEqual(offered, sorted(expected), `${who} is offered`);
      assert.deepEqual(taken, offered, `${who} may call`);
    }
  });
}

test('[TP7, TP8] a call of what was not offered is a tool error that names the setting, and the run goes on', async (t) => {
  const config = { ...agentA({ byProvider: { fake: { deny: ['exec'] } } }) };
  const world = await startWorld(t, { config, careless: true });
  await world.say(A, `${call('exec', { command: 'true' })}\n${call('nosuch', {})}\nSAY: on`);
  const results = (await world.history(A)).filter((message) => message.role === 'toolResult');
  assert.deepEqual(
    results.map((result) => result.isError),
    [true, true],
  );
  const [closed, unknown] = results.map((result) => JSON.parse(textOf(result)) as Json);
  assert.equal(closed?.['status'], 'forbidden');
  assert.match(
    String(closed?.['error']),
    /^tool policy does not offer exec to session agent:a:main in this turn \(agents\.list\[\]\.tools\.byProvider\.fake\.deny\); offered: agents_list, edit, /,
  );
  assert.equal(unknown?.['status'], 'error');
  assert.match(String(unknown?.['error']), /^no tool nosuch here; offered: /);
  assert.equal(textOf((await world.history(A)).at(-1)!), 'on');
});

test('[TP6, TP8] the model that plays the turn decides: that of the session, of one message, of a spawn', async (t) => {
  const config = {
    tools: { byProvider: { 'fake/fake-2': { allow: ['read', 'sessions_spawn'] } } },
  };
  const world = await startWorld(t, { config, careless: true });
  const both = [...five, ...FILE_TOOLS];
  assert.deepEqual((await probe(world, say(world))).taken, sorted(both), 'the agent’s own');

  const withModel = async () => {
    const params = { sessionKey: A, message: PROBE, model: 'fake/fake-2', idempotencyKey: 'k' };
    await world.client.request('agent', params);
    return A;
  };
  const one = await probe(world, withModel);
  assert.deepEqual(
    [one.offered, one.taken],
    [
      ['sessions_spawn', 'read'],
      ['sessions_spawn', 'read'],
    ],
  );

  const spawned = await probe(world, async () => {
    const answer = await world.tool('sessions_spawn', { task: PROBE, model: 'fake/fake-2' });
    return String(answer['childSessionKey']);
  });
  assert.deepEqual([spawned.offered, spawned.taken], [['read'], ['read']]);

  await world.client.request('sessions.patch', { key: A, model: 'fake/fake-2' });
  const patched = await probe(world, say(world));
  assert.deepEqual(patched.offered, ['sessions_spawn', 'read']);
  assert.deepEqual(patched.taken, patched.offered);
  await assert.rejects(world.tool('sessions_list', {}), /byProvider\.fake\/fake-2\.allow/);
});

test('[TP4, TP8] HTTP, tools.invoke and the command line take exactly the session tools that the turn is offered', async (t) => {
  const openHttp = { gateway: { tools: { allow: [...SESSION_TOOLS] } } };
  for (const { config, main, child } of CASES) {
    const world = await startWorld(t, { config: { ...config, ...openHttp }, careless: true });
    const { offered: ofChild } = await probe(world, spawn(world));
    assert.deepEqual(ofChild, sorted(child));
    const { sessions } = await world.client.request<{ sessions: { key: string }[] }>(
      'sessions.list',
      { spawnedBy: A },
    );
    for (const [key, offered] of [
      [A, main],
      [String(sessions[0]?.key), child],
    ] as const) {
      for (const tool of SESSION_TOOLS) {
        const isOffered = offered.includes(tool);
        assert.equal(await isTakenByMethod(world, tool, key), isOffered, `tools.invoke ${tool}`);
        assert.equal(await httpStatus(world, tool, key), isOffered ? 200 : 404, `HTTP ${tool}`);
      }
    }
    const [tool] = SESSION_TOOLS.filter((name) => !main.includes(name));
    if (tool !== undefined) {
      const { notes, exitCode } = await cliTool(world, tool);
      assert.notEqual(exitCode, 0);
      assert.match(notes, /tool policy does not offer/);
    }
    const { out } = await cliTool(world, main.find((name) => name.startsWith('sessions_')) ?? '');
    assert.equal((JSON.parse(out) as Json)['status'], 'error', 'taken, and its argument refused');
  }
});

function isTakenByMethod(world: TestWorld, tool: string, key: string): Promise<boolean> {
  return world.tool(tool, { none: 1 }, key).then(
    ({ status }) => {
      assert.equal(status, 'error');
      return true;
    },
    (error: unknown) => {
      assert.match(String(error), /tool policy does not offer/);
      return false;
    },
  );
}

async function httpStatus(world: TestWorld, tool: string, sessionKey: string): Promise<number> {
  const response = await fetch(`${world.gateway.url}/tools/invoke`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${world.gateway.token}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ tool, args: { none: 1 }, sessionKey }),
  });
  await response.arrayBuffer();
  return response.status;
}

function cliTool({ gateway }: TestWorld, tool: string) {
  const place = ['--url', gateway.url, '--token', String(gateway.token)];
  return runCli(['tool', tool, '{"none":1}', '--as', 'main', ...place]);
}

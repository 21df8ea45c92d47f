/** Agents that use the tools of MCP servers, in whole gateways. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { textOf } from '../src/protocol/message.ts';
import { callTools } from './crash/scenarios.ts';
import { makeKillWorld } from './helpers/kill-world.ts';
import { badServer, stdioServer } from './helpers/mcp-servers.ts';
import { call, startWorld, type TestWorld } from './helpers/test-world.ts';

type Json = Record<string, unknown>;

const A = 'agent:a:main';
const B = 'agent:b:main';

/** The tools of MCP servers that the session's last turn with tools was offered. */
const offeredTo = (world: TestWorld, key: string): string[] => {
  const asked = world.model.requests.filter(
    ({ raw, body }) => raw.includes(`Your session is ${key}.`) && 'tools' in body,
  );
  const tools = (asked.at(-1)?.body['tools'] ?? []) as { function: { name: string } }[];
  return tools.map((tool) => tool.function.name).filter((name) => name.includes('__'));
};

test('[MS1, MS2, MS8, MS18] an agent and its sub-agent call the tools of their servers, and do without those that cannot be had', async (t) => {
  const config = {
    mcp: {
      servers: {
        tools: stdioServer(),
        mine: badServer('', { agents: ['b'] }),
        lost: { command: 'no-such-program-anywhere' },
      },
    },
    tools: { deny: ['tools__environment'], subagents: { tools: { deny: ['tools__die'] } } },
  };
  const world = await startWorld(t, { config, careless: true });
  const script = [
    call('tools__echo', { text: 'hello' }),
    call('tools__picture', {}),
    call('tools__environment', {}),
    call('lost__thing', {}),
    call('mine__go', {}),
    'SAY: done',
  ].join('\n');
  await world.say(A, script);
  const history = await world.history(A);
  const results = history.filter((message) => message.role === 'toolResult');
  assert.deepEqual(
    results.map(({ isError }) => isError),
    [false, false, true, true, true],
  );
  const [echo, picture, denied, lost, foreign] = results;
  assert.equal(textOf(echo!), 'hello');
  assert.equal(picture?.content[1]?.type, 'image');
  assert.match(textOf(denied!), /does not offer tools__environment .*\(tools\.deny\)/);
  assert.match(
    textOf(lost!),
    /no tool lost__thing here: MCP server lost is not available, its comm/,
  );
  // a server of another agent is not there
  assert.match(textOf(foreign!), /no tool mine__go here; offered/);
  assert.equal(textOf(history.at(-1)!), 'done');
  const offered = offeredTo(world, A);
  assert.ok(offered.includes('tools__echo') && !offered.includes('tools__environment'));

  const task = `${call('tools__echo', { text: 'from below' })}\nSAY: child`;
  const child = String((await world.tool('sessions_spawn', { task }, A))['childSessionKey']);
  await world.quiet();
  const ofChild = (await world.history(child)).filter(({ role }) => role === 'toolResult');
  assert.deepEqual(ofChild.map(textOf), ['from below']);
  assert.deepEqual(
    offered.filter((name) => name !== 'tools__die'),
    offeredTo(world, child),
  );

  const { mcpServers } = await world.client.request<{ mcpServers: Json[] }>('status');
  assert.deepEqual(
    mcpServers.map(({ name, state }) => `${String(name)} ${String(state)}`),
    ['tools ready', 'mine off', 'lost failed'],
  );

  await world.say(B, 'SAY: mine');
  assert.ok(offeredTo(world, B).includes('mine__go'));
});

test('[MS3] a session that may call none of its tools starts no server', async (t) => {
  const program = "require('fs').writeFileSync(process.env.MARK, ''); process.exit(1)";
  let mark = '';
  const world = await startWorld(t, {
    config: { agents: { list: [{ id: 'a', default: true, tools: { allow: ['read'] } }] } },
    prepare: async (stateDir) => {
      mark = join(stateDir, 'started');
      const path = join(stateDir, 'trunkline.json');
      const config = JSON.parse(readFileSync(path, 'utf8')) as Json;
      const server = { command: process.execPath, args: ['-e', program], env: { MARK: mark } };
      writeFileSync(path, JSON.stringify({ ...config, mcp: { servers: { s: server } } }));
    },
  });
  await world.say(A, 'SAY: hello');
  assert.equal(existsSync(mark), false);
});

test('[MS12, CR1] a running gateway takes servers over that are added, changed and removed', async (t) => {
  const world = await startWorld(t);
  const path = join(world.gateway.stateDir, 'trunkline.json');
  const config = JSON.parse(readFileSync(path, 'utf8')) as Json;
  const reload = async (servers: Json): Promise<Json> => {
    writeFileSync(path, JSON.stringify({ ...config, mcp: { servers } }));
    return world.client.request('config.reload', {});
  };
  const added = await reload({ one: badServer('') });
  assert.deepEqual(added['needsRestart'], []);
  await world.say(A, 'SAY: one');
  assert.deepEqual(offeredTo(world, A), ['one__go']);
  await reload({ one: badServer('', { toolFilter: { exclude: ['go'] } }), two: badServer('') });
  await world.say(A, 'SAY: two');
  assert.deepEqual(offeredTo(world, A), ['two__go']);
  await reload({});
  await world.say(A, 'SAY: none');
  assert.deepEqual(offeredTo(world, A), []);
});

test('[MS9, RC7] a call that the gateway was killed in is told as interrupted and not made again', async (t) => {
  const world = await makeKillWorld(t);
  const effects = join(world.stateDir, 'effects');
  const configPath = join(world.stateDir, 'trunkline.json');
  const config = JSON.parse(readFileSync(configPath, 'utf8')) as Json;
  const servers = { tools: stdioServer({ env: { EFFECTS: effects } }) };
  writeFileSync(configPath, JSON.stringify({ ...config, mcp: { servers } }));
  const first = await world.start();
  const script = callTools(['tools__hang', {}], ['tools__echo', { text: 'after it' }]);
  const runId = await first.send('agent:main:main', `${script}\nSAY: on`);
  const lines = (): string[] =>
    existsSync(effects) ? readFileSync(effects, 'utf8').trim().split('\n') : [];
  while (!lines().includes('hang begun')) await delay(10);
  await first.process.kill();
  const next = await world.start();
  assert.equal((await next.wait(runId))['reply'], 'on');
  const { transcripts } = await world.end();
  assert.deepEqual(transcripts['agent:main:main']?.slice(1), [
    'message assistant: →tools__hang →tools__echo',
    'message toolResult of tools__hang: interrupted, outcome unknown',
    'message toolResult of tools__echo: after it',
    'message assistant: on',
  ]);
  assert.equal(lines().filter((line) => line === 'tools__hang called').length, 0);
  assert.equal(lines().filter((line) => line === 'hang called').length, 1);
});

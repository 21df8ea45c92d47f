/** Agents that use the tools of MCP servers, in whole gateways. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { textOf } from '../src/protocol/message.ts';
import { offeredTo } from './helpers/mcp-offered.ts';
import { badServer, stdioServer } from './helpers/mcp-servers.ts';
import { call, startWorld } from './helpers/test-world.ts';

type Json = Record<string, unknown>;

const A = 'agent:a:main';
const B = 'agent:b:main';

test('[MS1, MS2, MS8, MS18] an agent and its sub-agent call the tools of their servers, and do without those that cannot be had', async (t) => {
  const config = {
    mcp: {
      servers: {
        tools: stdioServer(),
        mine: badServer('', { agents: ['b'] }),
        theirs: { command: 'no-such-program-either', agents: ['b'] },
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
    call('theirs__thing', {}),
    'SAY: done',
  ].join('\n');
  await world.say(B, 'SAY: mine');
  assert.ok(offeredTo(world, B).includes('mine__go'));
  await world.say(A, script);
  const history = await world.history(A);
  const results = history.filter((message) => message.role === 'toolResult');
  assert.deepEqual(
    results.map(({ isError }) => isError),
    [false, false, true, true, true, true],
  );
  const [echo, picture, denied, lost, ...foreign] = results;
  assert.equal(textOf(echo!), 'hello');
  assert.equal(picture?.content[1]?.type, 'image');
  assert.match(textOf(denied!), /does not offer tools__environment .*\(tools\.deny\)/);
  assert.match(
    textOf(lost!),
    /no tool lost__thing here: MCP server lost is not available, its comm/,
  );
  // a server of another agent is not there, whether it works or not
  for (const result of foreign) assert.match(textOf(result), /no tool \w+__\w+ here; offered/);
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
    ['tools ready', 'mine ready', 'theirs failed', 'lost failed'],
  );
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

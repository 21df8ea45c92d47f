/** Who reaches what: nothing that is hidden can be read, written to or told from what is missing. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import type { GatewayError } from '../src/protocol/errors.ts';
import { textOf } from '../src/protocol/message.ts';
import type { Logger } from '../src/util/logger.ts';
import { call, keysOf, startWorld, usersOf, type TestWorld } from './helpers/test-world.ts';

type Json = Record<string, unknown>;

const A = 'agent:a:main';
const B = 'agent:b:main';
const MISSING_ID = '00000000-0000-4000-8000-000000000000';

/** Sub-agents that may list, read and send, under the default visibility. */
const TALKING_CHILDREN = {
  tools: {
    sessions: { visibility: 'tree' },
    subagents: { tools: { allow: ['*', 'group:sessions'] } },
  },
};

/** Two ended children of a's main session. */
async function startFamily(world: TestWorld) {
  await world.say(A, 'SAY: secret of the parent');
  const keys: string[] = [];
  for (const label of ['one', 'two']) {
    const answer = await world.tool('sessions_spawn', { task: `SAY: secret of ${label}`, label });
    keys.push(String(answer['childSessionKey']));
  }
  await world.quiet();
  return { child: keys[0]!, sibling: keys[1]! };
}

/** Everything about the sessions that a call could have changed. */
const stateOf = (world: TestWorld) =>
  world.store.read(async (tx) => ({
    rows: await tx.sessions.scan({
      scope: { type: 'everything' },
      archived: false,
      cursor: undefined,
      limit: 100,
    }),
    runs: await tx.runs.countByState(),
  }));

test('[BR-059, BR-174] a child reaches neither its parent nor its sibling with any tool', async (t) => {
  const world = await startWorld(t, { config: TALKING_CHILDREN });
  const { child, sibling } = await startFamily(world);
  const before = await stateOf(world);
  for (const sessionKey of [A, sibling]) {
    const calls: [string, Json][] = [
      ['sessions_list', { spawnedBy: sessionKey }],
      ['sessions_history', { sessionKey }],
      ['sessions_send', { sessionKey, message: 'x' }],
      ['sessions_send', { sessionKey, message: 'x', mode: 'note' }],
    ];
    for (const [tool, args] of calls) {
      const answer = await world.tool(tool, args, child);
      assert.equal(answer['status'], 'forbidden', `${tool} ${sessionKey}`);
      assert.match(String(answer['error']), /tools\.sessions\.visibility/);
    }
  }
  const list = await world.tool('sessions_list', { messageLimit: 5 }, child);
  assert.deepEqual(keysOf(list), [child]);
  assert.doesNotMatch(JSON.stringify(list['sessions']), /secret of (the parent|two)/);
  assert.deepEqual(await stateOf(world), before);
});

test('[BR-060] no spelling gets around the guard, and none tells what exists', async (t) => {
  const world = await startWorld(t, { config: TALKING_CHILDREN });
  const { child, sibling } = await startFamily(world);
  const rowOf = (key: string) => world.store.read((tx) => tx.sessions.get(key));
  const parentId = String((await rowOf(A))?.sessionId);
  const siblingId = String((await rowOf(sibling))?.sessionId);
  const spellings = [
    A,
    'main',
    parentId,
    parentId.toUpperCase(),
    'AGENT:A:MAIN',
    '  agent:a:main ',
    ' Agent : a:main',
    sibling,
    sibling.toUpperCase(),
    siblingId,
    B,
    'agent:a:discord:group:none',
    'agent:ghost:main',
    MISSING_ID,
  ];
  const refusal = await world.tool('sessions_history', { sessionKey: A }, child);
  assert.equal(refusal['status'], 'forbidden');
  for (const sessionKey of spellings) {
    assert.deepEqual(
      await world.tool('sessions_history', { sessionKey }, child),
      refusal,
      sessionKey,
    );
    const sent = await world.tool('sessions_send', { sessionKey, message: 'x' }, child);
    assert.deepEqual(sent, refusal, sessionKey);
  }
  for (const address of [
    { label: 'two' },
    { label: 'none' },
    { agentId: 'a' },
    { agentId: 'ghost' },
  ]) {
    assert.deepEqual(
      await world.tool('sessions_send', { ...address, message: 'x' }, child),
      refusal,
    );
  }
});

test('[BR-061] by default the chats of two people in one agent are closed to each other', async (t) => {
  const world = await startWorld(t, {
    agents: false,
    config: { agents: { list: [{ id: 'a', default: true }] } },
  });
  const [u1, u2] = ['agent:a:discord:direct:u1', 'agent:a:discord:direct:u2'];
  await world.say(u1, 'SAY: one');
  await world.say(u2, 'SAY: two');
  const list = await world.tool('sessions_list', {}, u1);
  assert.deepEqual(keysOf(list), [u1]);
  const refusal = await world.tool('sessions_history', { sessionKey: u2 }, u1);
  assert.equal(refusal['status'], 'forbidden');
  assert.deepEqual(
    await world.tool('sessions_send', { sessionKey: u2, message: 'x' }, u1),
    refusal,
  );
  assert.equal((await world.history(u2)).length, 2);
});

test('[BR-062] a name that looks like a path is a session to no door, and touches no file', async (t) => {
  const world = await startWorld(t, { config: { tools: { sessions: { visibility: 'all' } } } });
  const { stateDir } = world.gateway;
  const filesOf = (folder: string) =>
    readdirSync(folder, { recursive: true }).map(String).toSorted();
  const before = filesOf(stateDir);
  const names = [
    '../../etc/passwd',
    '..\\x',
    'a/b',
    'C:\\x',
    '%2e%2e/x',
    'x\u0000y',
    'x'.repeat(10_000),
    join(stateDir, 'trunkline.db'),
  ];
  for (const name of names) {
    const shown = name.slice(0, 40);
    const asPerson: [string, Json][] = [
      ['agent', { sessionId: name, message: 'x', idempotencyKey: 'k' }],
      ['agent', { sessionKey: name, message: 'x', idempotencyKey: 'k' }],
      ['chat.send', { sessionKey: name, message: 'x', idempotencyKey: 'k' }],
      ['chat.history', { sessionKey: name }],
      ['sessions.patch', { key: name, label: 'x' }],
    ];
    for (const [method, params] of asPerson) {
      await assert.rejects(
        world.client.request(method, params),
        (error: GatewayError) => ['invalid_request', 'not_found'].includes(error.code),
        `${method} ${shown}`,
      );
    }
    const read = await world.tool('sessions_history', { sessionKey: name });
    assert.equal(read['status'], 'error', shown);
  }
  // Where a row names such a thing all the same, no path is made from it.
  const group = 'agent:a:discord:group:../../../x';
  await world.say(group, 'SAY: x');
  await world.store.write('edit-by-hand', (tx) =>
    tx.sessions.update(group, { sessionId: '../../../etc/passwd' }),
  );
  const list = await world.tool('sessions_list', { kinds: ['group'], messageLimit: 1 });
  const [row] = list['sessions'] as Json[];
  assert.equal(row?.['key'], group);
  assert.equal(dirname(String(row?.['transcriptPath'])), join(stateDir, 'agents', 'a', 'sessions'));
  // Transcripts are mirrored below `agents`, each in the folder of its agent and nowhere else.
  const isExpected = (file: string) => file.startsWith('workspace') || file.startsWith('agents');
  assert.deepEqual(
    filesOf(stateDir).filter((file) => !before.includes(file) && !isExpected(file)),
    [],
  );
  const mirrored = existsSync(join(stateDir, 'agents'))
    ? readdirSync(join(stateDir, 'agents'), { recursive: true, encoding: 'utf8' })
    : [];
  assert.ok(
    mirrored.every((path) => /^a(\/sessions(\/[\w.-]+)?)?$/.test(path)),
    mirrored.join(),
  );
  assert.ok(!existsSync(join(dirname(stateDir), 'x')));
});

test('[BR-070] no parameter names another gateway, and nothing is connected to', async (t) => {
  const world = await startWorld(t);
  let connections = 0;
  const other = createServer((socket) => {
    connections += 1;
    socket.destroy();
  }).listen(0, '127.0.0.1');
  t.after(() => other.close());
  await once(other, 'listening');
  const gatewayUrl = `ws://127.0.0.1:${(other.address() as AddressInfo).port}/`;
  for (const [tool, args] of [
    ['sessions_list', {}],
    ['sessions_history', { sessionKey: 'main' }],
    ['sessions_send', { sessionKey: B, message: 'x' }],
    ['sessions_spawn', { task: 'x' }],
    ['agents_list', {}],
  ] as const) {
    const answer = await world.tool(tool, { ...args, gatewayUrl, gatewayToken: 'x' });
    assert.equal(answer['status'], 'error');
    assert.match(String(answer['error']), /gatewayUrl/);
  }
  assert.equal(connections, 0);
  assert.deepEqual(await world.store.read((tx) => tx.runs.countByState()), {});
});

test('[BR-071] the token of the gateway is in no row, log, prompt or answer', async (t) => {
  const token = 'TKN-123-not-to-be-seen';
  const lines: string[] = [];
  const note = (fields: object, message: string): void => {
    const { err } = fields as { err?: Error };
    lines.push(message, JSON.stringify(fields), String(err?.stack), String(err?.cause));
  };
  const logger: Logger = { debug: note, info: note, warn: note, error: note };
  const world = await startWorld(t, { logger, config: { gateway: { auth: { token } } } });
  assert.equal(world.gateway.token, token);
  const answers: unknown[] = [];
  for (const [tool, args] of [
    ['sessions_list', { messageLimit: 5 }],
    ['sessions_history', { sessionKey: B }],
    ['sessions_history', { sessionKey: 'agent:b:none' }],
    ['sessions_send', { sessionKey: B, message: 'FAIL: 500 broken' }],
    ['sessions_spawn', { task: 'FAIL: 400 broken' }],
    ['agents_list', {}],
  ] as const) {
    answers.push(await world.tool(tool, args));
  }
  await world.say(
    A,
    `${call('exec', { command: 'env; cat trunkline.json ../trunkline.json' })}\nSAY: ok`,
  );
  await world.quiet();
  answers.push(await world.history(A), await world.client.request('status'));
  const seen = [...lines, JSON.stringify(answers), JSON.stringify(world.model.requests)];
  assert.ok(lines.length > 5 && world.model.requests.length > 5);
  for (const file of readdirSync(world.gateway.stateDir)) {
    if (/\.db/.test(file)) seen.push(readFileSync(join(world.gateway.stateDir, file), 'latin1'));
  }
  for (const text of seen) assert.ok(!text.includes(token), text.slice(0, 200));
});

test('[BR-093] an agent that the allow list does not name gets no child', async (t) => {
  const world = await startWorld(t, {
    agents: false,
    config: {
      agents: {
        list: [
          { id: 'task-manager', default: true, subagents: { allowAgents: ['planner'] } },
          { id: 'planner' },
          { id: 'coder' },
        ],
      },
    },
  });
  const before = await stateOf(world);
  const answer = await world.tool('sessions_spawn', { task: 'x', agentId: 'coder' });
  assert.equal(answer['status'], 'forbidden');
  assert.match(String(answer['error']), /allowed: task-manager, planner/);
  assert.deepEqual(await stateOf(world), before);
  const planned = await world.tool('sessions_spawn', { task: 'SAY: x', agentId: 'planner' });
  assert.match(String(planned['childSessionKey']), /^agent:planner:subagent:/);
});

test('[BR-094] with allowAgents "*" only configured agents are there to spawn under', async (t) => {
  const world = await startWorld(t, {
    agents: false,
    config: {
      agents: {
        list: [{ id: 'main', default: true, subagents: { allowAgents: ['*'] } }, { id: 'coder' }],
      },
    },
  });
  const before = await stateOf(world);
  for (const agentId of ['ghost', '../x', 'a b', 'x'.repeat(65)]) {
    const answer = await world.tool('sessions_spawn', { task: 'x', agentId });
    assert.ok(['error', 'forbidden'].includes(String(answer['status'])), agentId);
  }
  assert.deepEqual(await stateOf(world), before);
  const childOf = async (agentId: string) =>
    String((await world.tool('sessions_spawn', { task: 'SAY: x', agentId }))['childSessionKey']);
  assert.match(await childOf('CODER '), /^agent:coder:subagent:/);
  assert.match(await childOf(''), /^agent:main:subagent:/);
});

test('[BR-146] a child that may send reaches its parent, which is told who speaks', async (t) => {
  const world = await startWorld(t, {
    config: {
      tools: {
        sessions: { visibility: 'agent' },
        subagents: { tools: { allow: ['sessions_send'] } },
      },
    },
  });
  const task = `${call('sessions_send', { sessionKey: 'main', message: 'SAY: noted', maxTurns: 0 })}\nSAY: done`;
  const { childSessionKey } = await world.tool('sessions_spawn', { task });
  await world.quiet();
  const [answer] = await world.toolAnswers(String(childSessionKey));
  assert.deepEqual([answer?.['status'], answer?.['reply']], ['ok', 'noted']);
  const [message] = usersOf(await world.history(A));
  assert.equal(textOf(message!), 'SAY: noted');
  assert.equal(message?.provenance?.sourceSessionKey, childSessionKey);
  assert.equal(message?.provenance?.sourceTool, 'sessions_send');
});

test('[BR-194, BR-141] the sub-agent tools of the configuration are those it gets, and spawning stays closed', async (t) => {
  const world = await startWorld(t, {
    careless: true,
    config: {
      tools: {
        sessions: { visibility: 'tree' },
        subagents: { tools: { allow: ['sessions_list', 'sessions_spawn'] } },
      },
    },
  });
  const task = `${call('sessions_list', {})}\n${call('sessions_spawn', { task: 'SAY: x' })}\nSAY: done`;
  const { childSessionKey } = await world.tool('sessions_spawn', { task });
  const childKey = String(childSessionKey);
  await world.quiet();
  const [list, spawn] = await world.toolAnswers(childKey);
  assert.deepEqual(keysOf(list), [childKey]);
  assert.equal(spawn?.['status'], 'forbidden');
  assert.match(String(spawn?.['error']), /sessions_spawn/);
  const sessions = await world.store.read((tx) => tx.sessions.count());
  assert.equal(sessions, 4, 'the three agents and the one child');
});

for (const visibility of ['self', 'tree', 'agent', 'all']) {
  for (const enabled of [true, false]) {
    test(`[BR-144] a child runs with visibility ${visibility} and agentToAgent ${enabled ? 'on' : 'off'}`, async (t) => {
      const world = await startWorld(t, {
        config: { tools: { sessions: { visibility }, agentToAgent: { enabled } } },
      });
      const spawns = [];
      for (const agentId of ['a', 'b']) {
        spawns.push(await world.tool('sessions_spawn', { task: 'SAY: worked', agentId }));
      }
      for (const { runId, childSessionKey } of spawns) {
        const wait = await world.client.request('agent.wait', { runId });
        assert.deepEqual([wait['status'], wait['reply']], ['ok', 'worked']);
        const child = await world.store.read((tx) => tx.sessions.get(String(childSessionKey)));
        assert.ok(Number(child?.totalTokens) > 0);
      }
    });
  }
}

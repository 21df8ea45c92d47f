/** The field cases of the gateway and of routing, through every door that they name or fit. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { textOf } from '../src/protocol/message.ts';
import { runCli } from './helpers/captured-io.ts';
import { startChatWorld, type ChatWorld } from './helpers/chat-world.ts';
import {
  CALLER,
  EVERY_DOOR,
  openEveryDoor,
  type EveryDoor,
  type MessageDoor,
  type Said,
} from './helpers/every-door.ts';
import { keysOf, outlineOf, startWorld, usersOf, type TestWorld } from './helpers/test-world.ts';

type Json = Record<string, unknown>;

const A = 'agent:a:main';
const UUID = '00000000-0000-4000-8000-000000000000';

const rowOf = (world: TestWorld, key: string) => world.store.read((tx) => tx.sessions.get(key));
const countSessions = (world: TestWorld) => world.store.read((tx) => tx.sessions.count());
const waitFor = (world: TestWorld, runId: unknown): Promise<Json> =>
  world.client.request('agent.wait', { runId, timeoutMs: 30_000 });
/** A key of a door's own. */
const keyFor = ({ name }: { name: string }, place: string): string =>
  `agent:b:cli:${place}-${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}`;
/** What people and sessions said there, without the prompts of the gateway. */
const saidIn = async (world: TestWorld, key: string): Promise<string[]> =>
  usersOf(await world.history(key))
    .map((message) => textOf(message))
    .filter((text) => text.startsWith('SAY: '));
function accepted(door: MessageDoor, { runId, reply, error }: Said): string | undefined {
  assert.equal(error, undefined, `${door.name}: ${error}`);
  assert.ok(runId, door.name);
  return reply;
}

/** A case whose world may be that of others. */
type Case = (world: ChatWorld, doors: EveryDoor) => Promise<void>;

const namedSession: Case = async (world, { messages }) => {
  await world.say(A, 'SAY: web');
  const main = await rowOf(world, A);
  for (const door of messages) {
    const sessionKey = keyFor(door, 'named');
    // a person's message makes its session, a session's does not
    if (door.speaker === 'session') await world.say(sessionKey, 'hello');
    for (const n of ['1', '2', '3', '4'])
      assert.equal(accepted(door, await door.send({ sessionKey, message: `SAY: ${n}` })), n);
    const said = ['SAY: 1', 'SAY: 2', 'SAY: 3', 'SAY: 4'];
    assert.deepEqual(await saidIn(world, sessionKey), said, door.name);
  }
  await world.quiet();
  assert.deepEqual(await saidIn(world, A), ['SAY: web']);
  assert.deepEqual(await rowOf(world, A), main);
};

const oneKey: Case = async (world, { messages, tools }) => {
  for (const door of messages.filter(({ takesKey }) => takesKey)) {
    const sessionKey = keyFor(door, 'once');
    await world.say(sessionKey, 'hello');
    const order = { sessionKey, message: 'SAY: once', idempotencyKey: `once ${door.name}` };
    const answers = await Promise.all([door.send(order), door.send(order)]);
    answers.push(await door.send(order));
    for (const answer of answers) {
      assert.equal(accepted(door, answer), 'once', door.name);
      assert.equal(answer.runId, answers[0]?.runId, door.name);
    }
    const said = outlineOf(await world.history(sessionKey)).slice(2);
    assert.deepEqual(said, ['user: SAY: once', 'assistant: once'], door.name);
    const other = await door.send({ ...order, message: 'SAY: other' });
    assert.match(String(other.error), /idempotencyKey was used/, door.name);
  }
  for (const door of tools.filter(({ takesKey }) => takesKey)) {
    const spawn = () => door.call('sessions_spawn', { task: 'SAY: once' }, `child ${door.name}`);
    const answers = [...(await Promise.all([spawn(), spawn()])), await spawn()];
    assert.equal(answers[0]?.['status'], 'accepted', door.name);
    const children = new Set(answers.map(({ childSessionKey }) => childSessionKey));
    assert.equal(children.size, 1, door.name);
  }
};

/** A person's message by these is one on webchat, and moves the route there. */
const ON_WEBCHAT = ['chat.send', 'sessions.send'];

const lastRoute: Case = async (world, { messages }) => {
  const sessionKey = 'agent:b:main';
  await world.reply('keyed', 'p1', 'SAY: hi', sessionKey);
  const routeOf = async () => {
    const { channel, lastChannel, lastTo } = (await rowOf(world, sessionKey)) ?? {};
    return { channel, lastChannel, lastTo };
  };
  const route = await routeOf();
  assert.deepEqual([route.lastChannel, route.lastTo], ['keyed', 'p1']);
  const replies = ['hi'];
  for (const door of messages.filter(({ name }) => !ON_WEBCHAT.includes(name))) {
    accepted(door, await door.send({ sessionKey, message: 'SAY: x' }));
    await world.quiet();
    assert.deepEqual(await routeOf(), route, door.name);
    const reply = `reply after ${door.name}`;
    const message = `SAY: ${reply}`;
    await world.client.runAgent({ sessionKey, message, deliver: true, idempotencyKey: message });
    await world.quiet();
    replies.push(reply);
    assert.deepEqual(world.chat.shown('p1'), replies, 'what was sent itself is not shown there');
  }
};

const sessionId: Case = async (world, { messages }) => {
  for (const door of messages) {
    const sessionKey = keyFor(door, 'by-id');
    await world.say(sessionKey, 'hello');
    const id = String((await rowOf(world, sessionKey))?.sessionId);
    accepted(door, await door.send({ sessionKey: id, message: 'SAY: found' }));
    assert.deepEqual(await saidIn(world, sessionKey), ['SAY: found'], door.name);
    const before = await countSessions(world);
    for (const unknown of ['nope', UUID]) {
      const { runId, error } = await door.send({ sessionKey: unknown, message: 'SAY: x' });
      assert.deepEqual([runId, typeof error], [undefined, 'string'], `${door.name} ${unknown}`);
    }
    assert.equal(await countSessions(world), before, door.name);
  }
};

const patched: Case = async (world, { tools, messages }) => {
  const patches: Record<string, (params: Json) => Promise<unknown>> = {
    socket: (params) => world.client.request('sessions.patch', params),
    cli: async (params) => {
      const argv = ['call', 'sessions.patch', JSON.stringify(params)];
      const run = await runCli(argv, { TRUNKLINE_STATE_DIR: world.gateway.stateDir });
      if (run.exitCode !== 0) throw new Error(run.notes);
    },
  };
  const key = 'agent:c:main';
  for (const [name, patch] of Object.entries(patches)) {
    const label = `patched by ${name}`;
    await patch({ key, label, sendPolicy: 'deny' });
    assert.deepEqual(await world.history(key), []);
    for (const door of tools) {
      const { sessions } = await door.call('sessions_list', { limit: 200 });
      const row = (sessions as Json[]).find((each) => each['label'] === label);
      assert.equal(row?.['sendPolicy'], 'deny', `${name}, ${door.name}`);
    }
    for (const door of messages)
      assert.match(
        String((await door.send({ sessionKey: key, message: 'SAY: x' })).error),
        /send blocked by session policy/,
        door.name,
      );
    await patch({ key, label: null, sendPolicy: null });
    const { label: noLabel, sendPolicy } = (await rowOf(world, key)) ?? {};
    assert.deepEqual([noLabel, sendPolicy], [null, null]);
    await assert.rejects(patch({ key, lable: 'L' }), /lable/);
    assert.deepEqual(await world.history(key), []);
  }
};

/** How the run in front of what waits comes to its end. */
const ENDS: Record<string, (world: ChatWorld, run: { runId: unknown; text: string }) => unknown> = {
  'its time limit': () => {},
  'a stop': (world, { runId }) => world.client.request('runs.stop', { runId }),
  'a failing model': (world) => world.model.failNext({ kind: 'status', status: 400 }),
  'a model that breaks off': (world) => world.model.failNext({ kind: 'drop' }, 3),
};

const behindAnEnd: Case = async (world, { messages }) => {
  for (const [what, end] of Object.entries(ENDS)) {
    const sessionKey = `agent:b:cli:behind ${what}`;
    const text = `in front of ${what}`;
    const held = world.model.hold(text);
    const { runId } = await world.client.request('agent', {
      sessionKey,
      message: text,
      timeout: what === 'its time limit' ? 3 : 0,
      idempotencyKey: text,
    });
    await held.arrived();
    const sent = await Promise.all(
      messages.map(async (door) => {
        const runs = [];
        for (const n of [2, 3]) {
          const message = `SAY: ${n} by ${door.name}`;
          runs.push(await door.send({ sessionKey, message, wait: false }));
        }
        return { door, runs };
      }),
    );
    await end(world, { runId, text });
    if (what !== 'its time limit') held.release();
    assert.notEqual((await waitFor(world, runId))['outcome'], 'ok', what);
    held.release();
    const said = await Promise.all(
      sent.flatMap(({ door, runs }) =>
        runs.map(async (run) => {
          accepted(door, run);
          assert.equal((await waitFor(world, run.runId))['status'], 'ok', `${what}, ${door.name}`);
        }),
      ),
    );
    const texts = await saidIn(world, sessionKey);
    assert.equal(texts.length, said.length, what);
    for (const { door } of sent) {
      const own = texts.filter((each) => each.endsWith(` by ${door.name}`));
      assert.deepEqual(own, [`SAY: 2 by ${door.name}`, `SAY: 3 by ${door.name}`], what);
    }
  }
};

const anyCase: Case = async (world, { messages }) => {
  for (const door of messages) {
    const key = keyFor(door, 'case');
    await world.say(key, 'hello');
    const count = await countSessions(world);
    const spellings = [
      key,
      key.replace('agent:b:', 'agent:B:'),
      ` ${key.replace('agent:b', 'AGENT:B')} `,
    ];
    for (const sessionKey of spellings)
      accepted(
        door,
        await door.send({ sessionKey, message: `SAY: ${spellings.indexOf(sessionKey)}` }),
      );
    assert.deepEqual(await saidIn(world, key), ['SAY: 0', 'SAY: 1', 'SAY: 2'], door.name);
    assert.equal(await countSessions(world), count, door.name);
  }
};

const archived: Case = async (world, { messages }) => {
  const { childSessionKey } = await world.tool('sessions_spawn', { task: 'SAY: done' }, CALLER);
  const sessionKey = String(childSessionKey);
  await world.quiet();
  await world.store.write('archive', (tx) =>
    tx.sessions.update(sessionKey, { archivedAt: tx.now }),
  );
  const before = await world.history(sessionKey);
  for (const door of messages) {
    const { runId, error } = await door.send({ sessionKey, message: 'SAY: x' });
    assert.equal(runId, undefined, door.name);
    assert.match(String(error), /is archived/, door.name);
  }
  assert.deepEqual(await world.history(sessionKey), before);
};

const missing: Case = async (world, { tools, mcp }) => {
  const count = await countSessions(world);
  for (const sessionKey of ['agent:b:cli:never made', UUID, `agent:b:subagent:${UUID}`]) {
    for (const door of tools)
      for (const [tool, args] of [
        ['sessions_history', { sessionKey }],
        ['sessions_send', { sessionKey, message: 'x' }],
        ['sessions_list', { spawnedBy: sessionKey }],
      ] as const)
        assert.match(
          String((await door.call(tool, args))['error']),
          /not found/,
          `${door.name} ${tool} ${sessionKey}`,
        );
    for (const argv of [
      ['sessions', 'history', sessionKey],
      ['runs', 'wait', UUID],
    ]) {
      const run = await runCli(argv, { TRUNKLINE_STATE_DIR: world.gateway.stateDir });
      assert.notEqual(run.exitCode, 0, argv.join(' '));
    }
    for (const { name, client } of mcp) {
      const uri = `trunkline://sessions/${encodeURIComponent(sessionKey)}`;
      await assert.rejects(client.readResource({ uri }), /not found/, name);
    }
  }
  assert.equal(await countSessions(world), count);
};

const beyondTheCap: Case = async (world, { messages }) => {
  for (const door of messages.filter(({ speaker }) => speaker === 'session')) {
    const sessionKey = keyFor(door, 'busy');
    const text = `busy for ${door.name}`;
    const held = world.model.hold(text);
    const params = { sessionKey, message: `${text}\nSAY: busy`, idempotencyKey: text };
    await world.client.request('agent', params);
    await held.arrived();
    const said: Said[] = [];
    for (let n = 1; n <= 25; n += 1)
      said.push(await door.send({ sessionKey, message: `SAY: ${n}`, wait: false }));
    for (const answer of said.slice(0, 20)) accepted(door, answer);
    for (const { error } of said.slice(20))
      assert.match(String(error), /20 messages wait for session .*messages\.queue\.cap/, door.name);
    held.release();
    await world.quiet();
    const expected = Array.from({ length: 20 }, (_, at) => `SAY: ${at + 1}`);
    assert.deepEqual(await saidIn(world, sessionKey), expected, door.name);
  }
};

const ownLetters: Case = async (world, { tools, messages, mcp }) => {
  const [own, others] = ['agent:b:matrix:group:!AbC', 'agent:b:matrix:group:!abc'];
  const readers: Record<string, (sessionKey: string) => Promise<unknown>> = {
    'chat.history': (sessionKey) => world.client.request('chat.history', { sessionKey }),
    'trunkline sessions history': async (sessionKey) => {
      const argv = ['sessions', 'history', sessionKey];
      return runCli(argv, { TRUNKLINE_STATE_DIR: world.gateway.stateDir });
    },
    ...Object.fromEntries(
      tools.map((door) => [
        door.name,
        (sessionKey: string) => door.call('sessions_history', { sessionKey }),
      ]),
    ),
    ...Object.fromEntries(
      mcp.map(({ name, client }) => [
        `a resource of ${name}`,
        (sessionKey: string) =>
          client.readResource({ uri: `trunkline://sessions/${encodeURIComponent(sessionKey)}` }),
      ]),
    ),
  };
  const read = async (reader: string, sessionKey: string): Promise<string> =>
    JSON.stringify(
      await readers[reader]?.(sessionKey).catch((error: Error) => `error: ${error.message}`),
    );
  await world.say(others, 'SAY: of the others');
  for (const reader of Object.keys(readers)) {
    const answer = await read(reader, own);
    assert.match(answer, /not found/, reader);
    assert.doesNotMatch(answer, /of the others/, reader);
  }
  // nobody's message for the one is taken by the other
  for (const door of messages) await door.send({ sessionKey: own, message: 'SAY: own' });
  assert.deepEqual(await saidIn(world, others), ['SAY: of the others']);
  for (const reader of Object.keys(readers)) {
    const [ofOwn, ofOthers] = [await read(reader, own), await read(reader, others)];
    assert.match(ofOwn, /own/, reader);
    assert.doesNotMatch(ofOwn, /of the others/, reader);
    assert.match(ofOthers, /of the others/, reader);
  }
};

const ofItsOwn: Case = async (world, { tools }) => {
  await world.say(A, 'SAY: web');
  const before = await world.history(A);
  const count = await countSessions(world);
  for (const door of tools) {
    const inChat = { task: 'SAY: x', sessionKey: A };
    assert.match(String((await door.call('sessions_spawn', inChat))['error']), /sessionKey/);
  }
  assert.equal(await countSessions(world), count);
  for (const door of tools) {
    const { childSessionKey } = await door.call('sessions_spawn', { task: 'SAY: x' });
    assert.match(String(childSessionKey), /^agent:[a-c]:subagent:/, door.name);
  }
  await world.quiet();
  const job = { sessionTarget: 'isolated', sessionKey: A };
  await assert.rejects(world.client.request('cron.add', job), /cron\.add.*not supported/);
  assert.deepEqual(await world.history(A), before);
};

const afterReload: Case = async (world, { tools, messages }) => {
  const file = join(world.gateway.stateDir, 'trunkline.json');
  const config = JSON.parse(readFileSync(file, 'utf8')) as { agents: Json };
  const defaults = { timeoutSeconds: 100 };
  writeFileSync(file, JSON.stringify({ ...config, agents: { ...config.agents, defaults } }));
  const { applied } = await world.client.call('config.reload', {});
  assert.deepEqual(applied, ['agents.defaults.timeoutSeconds']);
  for (const door of tools) {
    const { status } = await door.call('sessions_spawn', { task: `SAY: child of ${door.name}` });
    assert.equal(status, 'accepted', door.name);
  }
  for (const door of messages) {
    const order = { sessionKey: 'agent:b:main', message: `SAY: heard ${door.name}` };
    assert.equal(accepted(door, await door.send(order)), `heard ${door.name}`);
  }
  await world.quiet();
  const told = [];
  for (const sessionKey of [CALLER, 'agent:a:mcp:mcp-over-http', 'agent:a:mcp:mcp-over-stdio'])
    told.push(await world.client.request('chat.history', { sessionKey }));
  for (const { name } of tools)
    assert.ok(JSON.stringify(told).includes(`Result: child of ${name}`), `announced: ${name}`);
};

test('every door of one gateway', async (t) => {
  const world = await startChatWorld(t, { config: EVERY_DOOR });
  const doors = await openEveryDoor(t, world);
  const cases: [string, Case][] = [
    ['[BR-010] messages go to the session that they name, and leave main as it was', namedSession],
    ['[BR-028] one key is one message: at the same time, again, and after the end', oneKey],
    ['[BR-034] what is sent to a session leaves the chat of its replies alone', lastRoute],
    ['[BR-109] a sessionId alone names its session, an unknown one makes none', sessionId],
    ['[BR-128, BR-185] settings are there before the first message, and null clears them', patched],
    ['[BR-187] what waits behind a run that ends badly is run in order', behindAnEnd],
    ['[BR-188] a send beyond the cap is an error at once, the others are run', beyondTheCap],
    ['[BR-191] of two chats that differ by case each is only itself', ownLetters],
    ['[BR-151] agent ids that differ by case are one session', anyCase],
    ['[BR-148] a message to an archived session is an error that says so', archived],
    ['[BR-169] what is not there is an error, and nothing is made by asking', missing],
    ['[BR-210] what has a session of its own is never run in a chat', ofItsOwn],
    ['[BR-086] after a reload all of them work, and announces arrive', afterReload],
  ];
  for (const [title, run] of cases) await t.test(title, () => run(world, doors));
});

test('[BR-220] in global scope one shared session is `main` at every door, and `global` is no name to a session', async (t: TestContext) => {
  const world = await startWorld(t, { config: { ...EVERY_DOOR, session: { scope: 'global' } } });
  const { messages, tools, mcp } = await openEveryDoor(t, world);
  for (const door of messages) {
    const sent = await door.send({ sessionKey: 'main', message: `SAY: heard ${door.name}` });
    assert.equal(accepted(door, sent), `heard ${door.name}`);
    // the operator's own answers name it so
    const refused = door.speaker === 'person' ? ['unknown'] : ['global', 'unknown', 'GLOBAL'];
    for (const sessionKey of refused) {
      const { runId, error } = await door.send({ sessionKey, message: 'SAY: x' });
      assert.deepEqual([runId, typeof error], [undefined, 'string'], `${door.name} ${sessionKey}`);
    }
  }
  assert.equal((await saidIn(world, 'main')).length, messages.length);
  for (const door of tools) {
    const list = await door.call('sessions_list', { includeGlobal: true, includeUnknown: true });
    const keys = keysOf(list);
    assert.equal(keys.filter((key) => key === 'main').length, 1, `${door.name}: ${keys.join(' ')}`);
    assert.ok(
      !keys.some((key) => key === 'global' || key === 'unknown'),
      `${door.name}: ${keys.join(' ')}`,
    );
    const history = await door.call('sessions_history', { sessionKey: 'global' });
    assert.equal(typeof history['error'], 'string', door.name);
    const main = await door.call('sessions_history', { sessionKey: 'main' });
    assert.equal(main['sessionKey'], 'main', door.name);
  }
  for (const { name, client } of mcp) {
    const { resources } = await client.listResources();
    assert.ok(!resources.some(({ uri }) => uri.endsWith('/global')), name);
  }
  const { sessions } = await world.client.call('sessions.list', {});
  const ofClients = ['http', 'stdio'].map((name) => `agent:a:mcp:mcp-over-${name}`);
  assert.deepEqual(
    new Set(sessions.map(({ key }) => key)),
    new Set(['global', CALLER, ...ofClients]),
  );
});

/** Where the send policy holds (A6, B6): the doors, and every text that goes out. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeliveryRow } from '../src/store/delivery-repository.ts';
import { silentLogger } from '../src/util/logger.ts';
import { runCli } from './helpers/captured-io.ts';
import { type ChatWorld, startChatWorld } from './helpers/chat-world.ts';
import { hashOfStore } from './helpers/store-hash.ts';
import { call, outlineOf, startWorld, type TestWorld } from './helpers/test-world.ts';

type Json = Record<string, unknown>;
const A = 'agent:a:main';
const B = 'agent:b:main';
const BLOCKED = /send blocked by session policy \(session override\)/;

const deny = (world: TestWorld, key: string) =>
  world.client.request('sessions.patch', { key, sendPolicy: 'deny' });
const send = (message: string, to = B): string =>
  call('sessions_send', { sessionKey: to, message, timeoutSeconds: 5 });

interface Door {
  name: string;
  /** what it says instead of sending */
  refusal(world: TestWorld): Promise<unknown>;
}
const requested = (method: string, extra: Json = {}): Door => ({
  name: `${method} ${JSON.stringify(extra)}`,
  refusal: (world) =>
    world.client
      .request(method, { sessionKey: B, message: 'x', idempotencyKey: 'k', ...extra })
      .catch((error: Error) => error.message),
});
const DOORS: Door[] = [
  requested('chat.send'),
  requested('chat.send', { deliver: false }),
  requested('agent'),
  requested('agent', { deliver: false }),
  requested('agent', { deliver: true }),
  requested('agent', { deliver: true, bestEffortDeliver: true }),
  requested('agent', { deliver: true, channel: 'webchat', to: B }),
  requested('send', { sessionKey: undefined, to: B }),
  {
    name: 'sessions_send through the socket',
    refusal: async (world) =>
      (await world.tool('sessions_send', { sessionKey: B, message: 'x' }))['error'],
  },
  {
    name: 'a note through the socket',
    refusal: async (world) =>
      (await world.tool('sessions_send', { sessionKey: B, message: 'x', mode: 'note' }))['error'],
  },
  {
    name: 'sessions_send through HTTP',
    refusal: async ({ gateway: { url, token } }) => {
      const response = await fetch(`${url}/tools/invoke`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ tool: 'sessions_send', args: { sessionKey: B, message: 'x' } }),
      });
      const { result } = (await response.json()) as { result: Json };
      assert.equal(result['status'], 'forbidden');
      return result['error'];
    },
  },
  {
    name: 'trunkline sessions send',
    refusal: async ({ gateway: { stateDir } }) => {
      const argv = ['sessions', 'send', B, 'x', '--as', A];
      const run = await runCli(argv, { TRUNKLINE_STATE_DIR: stateDir });
      assert.notEqual(run.exitCode, 0);
      return run.out + run.notes;
    },
  },
];

test('[SY4, BR-128] every door refuses a denied session in the same words, and the store is what it was', async (t) => {
  const world = await startWorld(t, {
    config: { gateway: { tools: { allow: ['sessions_send'] } } },
  });
  await world.say(A, 'SAY: a is here');
  await world.say(B, 'SAY: b is here');
  await deny(world, B);
  await world.quiet();
  const before = hashOfStore(world.gateway.stateDir);
  for (const { name, refusal } of DOORS) {
    await t.test(name, async () => {
      assert.match(String(await refusal(world)), BLOCKED);
      assert.equal(hashOfStore(world.gateway.stateDir), before);
    });
  }
});

test('[SY4] an agent’s own call is refused, and nothing of it reaches the denied session', async (t) => {
  const world = await startWorld(t);
  await deny(world, B);
  await world.say(A, `${send('SAY: never')}\nSAY: tried`);
  await world.quiet();
  const [answer] = await world.toolAnswers(A);
  assert.equal(answer?.['status'], 'forbidden');
  assert.match(String(answer?.['error']), BLOCKED);
  assert.deepEqual(await world.history(B), []);
  assert.deepEqual(await world.store.read((tx) => tx.inputs.pending(B, 9)), []);
});

/** State, reason and text of what a session's chat was to get. */
async function fatesOf(world: TestWorld, key: string): Promise<string[]> {
  const rows = await world.store.read((tx) => tx.deliveries.ofSession(key, 99));
  return rows.map(toFate).toSorted();
}
function toFate({ state, reason, text }: DeliveryRow): string {
  const firstLine = text.split('\n')[0];
  return `${state}${reason === null ? '' : ` (${reason})`}: ${firstLine}`;
}

const GROUP = 'agent:a:keyed:group:g1';
const writeIn = (world: ChatWorld, text: string) =>
  world.write('keyed', { chatType: 'group', chatId: 'g1', text });

interface Speech {
  name: string;
  announce?: string;
  /** what is written in the group */
  text: string;
  /** what is recorded as suppressed */
  suppressed: RegExp[];
}
const SPEECH: Speech[] = [
  { name: 'a reply', text: 'SAY: heard', suppressed: [/: heard$/] },
  {
    name: 'the announce of a child',
    text: `${call('sessions_spawn', { task: 'SAY: child' })}\nSAY: spawned`,
    suppressed: [/: ANNOUNCE|: Status/, /: spawned$/],
  },
  {
    name: 'a child that fails',
    text: `${call('sessions_spawn', { task: 'FAIL: 400' })}\nSAY: spawned`,
    suppressed: [/: Status: error/, /: spawned$/],
  },
  {
    name: 'the relay of a child',
    announce: 'relay',
    text: `${call('sessions_spawn', { task: 'SAY: child' })}\nSAY: spawned`,
    suppressed: [/: /, /: spawned$/],
  },
  {
    name: 'a template',
    announce: 'template',
    text: `${call('sessions_spawn', { task: 'SAY: child' })}\nSAY: spawned`,
    suppressed: [/: Status/, /: spawned$/],
  },
];
for (const { name, announce = 'post', text, suppressed } of SPEECH) {
  test(`[SY4, BR-127] ${name} of a denied chat runs, and is recorded suppressed`, async (t) => {
    const rules = [{ match: { channel: 'keyed', chatType: 'group' }, action: 'deny' }];
    const subagents = { announce: { mode: announce } };
    const config = { session: { sendPolicy: { rules } }, agents: { defaults: { subagents } } };
    const world = await startChatWorld(t, { config });
    assert.ok((await writeIn(world, text)).accepted);
    await world.quiet();
    const fates = await fatesOf(world, GROUP);
    assert.equal(fates.length, suppressed.length, fates.join('\n'));
    for (const [at, fate] of fates.entries()) {
      assert.match(fate, /^suppressed \(send_policy\): /);
      assert.match(fate, suppressed[at] ?? /never/);
    }
    assert.deepEqual(world.chat.handed, []);
    assert.ok((await world.history(GROUP)).length >= 2, 'the turn was played');
  });
}

test('[SY4, BR-126] what people write in a denied group stands in its transcript', async (t) => {
  const rules = [{ match: { chatType: 'group' }, action: 'deny' }];
  const world = await startChatWorld(t, { config: { session: { sendPolicy: { rules } } } });
  await writeIn(world, 'SAY: one');
  await writeIn(world, 'SAY: two');
  await world.quiet();
  const users = outlineOf(await world.history(GROUP)).filter((line) => line.startsWith('user'));
  assert.deepEqual(users, ['user: SAY: one', 'user: SAY: two']);
  assert.deepEqual(world.chat.handed, []);
});

interface Judged {
  name: string;
  denied: string;
  /** what the two chats were told of the exchange */
  b: RegExp;
}
const JUDGED: Judged[] = [
  { name: 'the target, whose chat is told', denied: B, b: /^suppressed \(send_policy\): ANNOUNCE/ },
  { name: 'the requester, whose chat is not', denied: A, b: /^sent: ANNOUNCE/ },
];
for (const { name, denied, b } of JUDGED) {
  test(`[SY4] an exchange announces to the target's chat: denied is ${name}`, async (t) => {
    const config = { session: { agentToAgent: { maxPingPongTurns: 0 } } };
    const world = await startChatWorld(t, { talk: true, config });
    await world.reply('plain', 'chat of b', 'SAY: b is here', B);
    const held = world.model.hold(`Your session is ${B}.`);
    // Written in a chat, because a denied session takes none from a client.
    await world.write('keyed', { text: `${send('a message for b')}\nSAY: asked` });
    await held.arrived();
    await deny(world, denied);
    held.release();
    await world.quiet();
    const fates = (await fatesOf(world, B)).filter((fate) => fate.includes('ANNOUNCE'));
    assert.equal(fates.length, 1, fates.join('\n'));
    assert.match(fates[0] ?? '', b);
    const asked = (await fatesOf(world, A)).find((fate) => fate.endsWith(': asked'));
    assert.equal(asked, denied === A ? 'suppressed (send_policy): asked' : 'sent: asked');
  });
}

const OF_CHILD: [name: string, rules: Json[], patched: string | undefined, state: string][] = [
  [
    'the child itself, whose requester is told',
    [{ match: { keyPrefix: 'subagent:' }, action: 'deny' }],
    undefined,
    'sent',
  ],
  ['the requester, whose chat is told', [], A, 'suppressed'],
];
for (const [name, rules, patched, state] of OF_CHILD) {
  test(`[SY4] a child announces to its requester's chat: denied is ${name}`, async (t) => {
    const world = await startChatWorld(t, { config: { session: { sendPolicy: { rules } } } });
    const held = world.model.hold('the task of the child');
    const task = 'the task of the child\nSAY: child';
    await world.write('plain', { text: `${call('sessions_spawn', { task })}\nSAY: spawned` });
    await held.arrived();
    if (patched !== undefined) await deny(world, patched);
    held.release();
    await world.quiet();
    const rows = await world.store.read((tx) => tx.deliveries.ofSession(A, 9));
    const announces = rows.filter(({ idempotencyKey }) => idempotencyKey.startsWith('announce:'));
    assert.deepEqual(
      announces.map((row) => row.state),
      [state],
    );
  });
}

test('[SY5] trunkline config check and the start of a gateway tell of a rule that fits nobody', async (t) => {
  const logged: string[] = [];
  const warn = (fields: object, text?: string): void => {
    logged.push(`${JSON.stringify(fields)} ${text ?? ''}`);
  };
  const rules = [{ match: { rawKeyPrefix: 'discord:' }, action: 'deny' }];
  const world = await startWorld(t, {
    config: { session: { sendPolicy: { rules } } },
    logger: { ...silentLogger, warn },
  });
  const path = 'session.sendPolicy.rules[0].match.rawKeyPrefix';
  assert.ok(logged.some((line) => line.includes(path) && line.includes('use keyPrefix')));
  const env = { TRUNKLINE_STATE_DIR: world.gateway.stateDir };
  const checked = await runCli(['config', 'check'], env);
  assert.equal(checked.exitCode, 0);
  assert.ok(checked.out.includes(`warning  ${path}: fits no session`), checked.out);
});

/** How exchanges end: superseded, failed, stopped, at a limit, without a runtime; and what is read of them after. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { textOf } from '../src/protocol/message.ts';
import type { ExchangeView } from '../src/protocol/answers/exchange-answers.ts';
import { session } from '../src/store/contract/samples.suite.ts';
import type { ExchangeRow } from '../src/store/follow-up-repository.ts';
import { runCli } from './helpers/captured-io.ts';
import {
  call,
  startWorld,
  usersOf,
  type TestWorld,
  type WorldOptions,
} from './helpers/test-world.ts';

const A = 'agent:a:main';
const B = 'agent:b:main';
const TURN = 'Agent-to-agent reply step: turn';
/** what only the target of a message is told */
const IN_B = 'Your reply goes back to it.';
const ANNOUNCE = 'Agent-to-agent announce step';

const send = (message: string, extra: Record<string, unknown> = {}): string =>
  call('sessions_send', { sessionKey: B, message, ...extra });
const sendOnly = (message: string): string => send(message, { timeoutSeconds: 0 });

/** Resolves with the exchange once it is in that state. */
async function until(
  { store }: TestWorld,
  exchangeId: string,
  state: ExchangeRow['state'],
): Promise<void> {
  for (;;) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const stop = store.onSignal(() => resolve());
    const exchange = await store.read((tx) => tx.exchanges.get(exchangeId));
    if (exchange?.state !== state) await promise;
    stop();
    if (exchange?.state === state) return;
  }
}

async function idsOf(world: TestWorld, key = A): Promise<string[]> {
  return (await world.toolAnswers(key)).map((answer) => String(answer['runId']));
}

const view = (world: TestWorld, id = ''): Promise<ExchangeView> =>
  world.client.request<ExchangeView>('exchanges.get', { exchangeId: id });

/** Two agents that talk; b has a chat unless `chat` is false. Returns the only exchange, ended. */
async function ended(
  world: TestWorld,
  given: { message?: string; chat?: false; extra?: Record<string, unknown> } = {},
): Promise<ExchangeView> {
  if (given.chat !== false) await world.say(B, 'SAY: hello');
  await world.say(A, `${send(given.message ?? 'SAY: first', given.extra)}\nSAY: thanks`);
  await world.quiet();
  return view(world, (await idsOf(world)).at(-1));
}

const endOf = ({ state, endReason, turns }: ExchangeView) => [state, endReason, turns];
const talking = (options: WorldOptions = {}) => ({ talk: true, ...options });

test('[EX16, EX22] a queued turn of a superseded exchange never begins, and who waits for it is told', async (t) => {
  const world = await startWorld(t, talking());
  const first = world.model.hold(IN_B);
  const busy = world.model.hold('keep busy');
  await world.say(A, `${sendOnly('SAY: one')}\nSAY: sent`);
  const [older = ''] = await idsOf(world);
  await first.arrived();
  const working = world.say(A, `${sendOnly('SAY: two')}\nSAY: keep busy`);
  await busy.arrived();
  first.release();
  await until(world, older, 'turn');
  const waiting = world.client.request('agent.wait', { runId: `${older}:turn:1`, timeoutMs: 9000 });
  busy.release();
  await working;
  const waited = await waiting;
  assert.equal(waited['outcome'], 'aborted');
  assert.match(String(waited['error']), /withdrawn: a newer message/);
  await world.quiet();
  const seen = await view(world, older);
  assert.deepEqual(endOf(seen), ['done', 'superseded', 0]);
  assert.deepEqual(seen.announce, { state: 'none', reason: 'superseded' });
  assert.deepEqual(
    seen.said.map(({ round, speakerKey, outcome, text }) => [round, speakerKey, outcome, text]),
    [
      [1, B, 'ok', 'one'],
      [2, A, 'aborted', ''],
    ],
  );
  const texts = usersOf(await world.history(A)).map((message) => textOf(message));
  assert.ok(!texts.includes('one'), 'the turn entered no transcript');
  assert.equal((await view(world, (await idsOf(world))[1])).endReason, 'max_turns');
});

test('[EX22] a turn that has begun goes to its end when its exchange is superseded, and tells nobody', async (t) => {
  const world = await startWorld(t, talking());
  const second = world.model.hold(`${TURN} 2 of 5`);
  await world.say(A, `${send('SAY: one')}\nSAY: thanks`);
  await second.arrived();
  await world.say(A, `${sendOnly('SAY: two')}\nSAY: sent`);
  second.release();
  await world.quiet();
  const [older = '', newer = ''] = await idsOf(world);
  const seen = await view(world, older);
  assert.deepEqual(endOf(seen), ['done', 'superseded', 1]);
  const last = seen.said.at(-1);
  assert.deepEqual([last?.round, last?.outcome, last?.text], [3, 'ok', 'PONG 2']);
  const runs = await world.store.read((tx) => tx.runs.get(`${older}:turn:3`));
  assert.equal(runs, undefined);
  assert.deepEqual(endOf(await view(world, newer)), ['done', 'max_turns', 5]);
});

test('[EX22] a turn that itself sends anew supersedes its own exchange and is not cut short', async (t) => {
  let isFirst = true;
  const rewrite = (text: string): string | undefined => {
    if (!isFirst || !text.includes(`${TURN} 1 of 5`)) return undefined;
    isFirst = false;
    return `${sendOnly('SAY: again')}\nSAY: asked again`;
  };
  // The script of the turn is read anew after its tool call.
  let script: string | undefined;
  const keep = (text: string): string | undefined => {
    const made = rewrite(text);
    if (made !== undefined) script = made;
    return text.includes(`${TURN} 1 of 5`) && text.includes('original') ? script : made;
  };
  const world = await startWorld(t, talking({ rewrite: keep }));
  await world.say(A, `${send('SAY: original')}\nSAY: thanks`);
  await world.quiet();
  const [older = '', newer = ''] = await idsOf(world);
  const seen = await view(world, older);
  assert.deepEqual(endOf(seen), ['done', 'superseded', 0]);
  assert.deepEqual([seen.said[1]?.outcome, seen.said[1]?.text], ['ok', 'asked again']);
  const after = await view(world, newer);
  assert.equal(after.requesterRunId, `${older}:turn:1`);
  assert.deepEqual(endOf(after), ['done', 'max_turns', 5]);
});

test('[EX23, BR-214] a failing turn ends the loop with its error, and what exists is announced', async (t) => {
  const rewrite = (text: string) => (text.includes(`${TURN} 2`) ? 'FAIL: 400 broken' : undefined);
  const world = await startWorld(t, talking({ rewrite }));
  const seen = await ended(world);
  assert.deepEqual(endOf(seen), ['done', 'error', 2]);
  assert.match(seen.endDetail ?? '', /400|broken/);
  assert.deepEqual([seen.announce.state, seen.announce.text], ['sent', 'ANNOUNCE 1']);
  assert.deepEqual(
    seen.said.map(({ outcome, text }) => [outcome, text]),
    [
      ['ok', 'first'],
      ['ok', 'PONG 1'],
      ['error', ''],
    ],
  );
  const prompt = world.model.requests.find(({ raw }) => raw.includes(ANNOUNCE))?.raw ?? '';
  assert.ok(prompt.includes('PONG 1'), 'the announce is told what was said last');
});

test('[EX23] so does a turn that ran out of time', async (t) => {
  const config = { agents: { defaults: { timeoutSeconds: 1 } } };
  const world = await startWorld(t, talking({ config }));
  const held = world.model.hold(`${TURN} 1 of 5`);
  const seen = await ended(world);
  held.release();
  assert.deepEqual(endOf(seen), ['done', 'error', 1]);
  assert.match(seen.endDetail ?? '', /after 1 s, its time limit/);
  assert.equal(seen.announce.state, 'sent');
});

test('[EX23] so does a turn that a person’s message interrupts', async (t) => {
  const config = { messages: { queue: { mode: 'interrupt' } } };
  const world = await startWorld(t, talking({ config }));
  await world.say(B, 'SAY: hello');
  const held = world.model.hold(`${TURN} 1 of 5`);
  await world.say(A, `${send('SAY: first')}\nSAY: thanks`);
  await held.arrived();
  assert.equal((await world.say(A, 'SAY: me first'))['reply'], 'me first');
  await world.quiet();
  const seen = await view(world, (await idsOf(world))[0]);
  assert.deepEqual(endOf(seen), ['done', 'error', 1]);
  assert.match(seen.endDetail ?? '', /a newer message interrupted it/);
  assert.equal(seen.announce.state, 'sent');
});

test('[EX24] the limits on chains and on messages of a root end the loop by name, and what exists is announced', async (t) => {
  for (const [limit, turns] of [
    [{ maxHops: 3 }, 2],
    [{ maxMessagesPerRoot: 4 }, 3],
  ] as const) {
    const world = await startWorld(t, talking({ config: { session: { agentToAgent: limit } } }));
    const seen = await ended(world);
    assert.deepEqual(endOf(seen), ['done', 'error', turns]);
    assert.match(seen.endDetail ?? '', new RegExp(`loop stopped: .*${Object.keys(limit)[0]} is`));
    assert.equal(seen.announce.state, 'sent');
  }
});

test('[EX25] an agent that is not configured has no turn: the exchange says no_runtime', async (t) => {
  const config = { agents: { list: [{ id: 'a', default: true }, { id: 'b' }] } };
  const world = await startWorld(t, talking({ config }));
  const ghost = 'agent:ghost:main';
  await world.store.write('test', async (tx) => {
    await tx.sessions.insert(session(ghost, { agentId: 'ghost', lastChannel: 'webchat' }));
  });
  await world.say(A, `${call('sessions_send', { sessionKey: ghost, message: 'x' })}\nSAY: ok`);
  await world.quiet();
  const [answer] = await world.toolAnswers(A);
  assert.equal(answer?.['status'], 'error');
  const seen = await view(world, String(answer?.['runId']));
  assert.deepEqual(endOf(seen), ['done', 'no_runtime', 0]);
  assert.match(seen.endDetail ?? '', /agent ghost .* is not configured/);
  assert.deepEqual(seen.announce, { state: 'none', reason: 'no_runtime' });
});

test('[EX13, EX26] without a chat, or without its channel, the announce turn is left out and the reason is kept', async (t) => {
  const world = await startWorld(t, talking());
  assert.deepEqual((await ended(world, { chat: false })).announce, {
    state: 'none',
    reason: 'no_route',
  });
  const route = { lastChannel: 'telegram', lastTo: '42' };
  await world.store.write('test', (tx) => tx.sessions.update(B, route));
  assert.deepEqual((await ended(world, { chat: false })).announce, {
    state: 'none',
    reason: 'no_channel',
  });
  assert.ok(world.model.requests.every(({ raw }) => !raw.includes(ANNOUNCE)));
});

test('[EX26, BR-037] an announce turn that stays silent sends nothing, and a failed one says so', async (t) => {
  let script = ' ANNOUNCE_SKIP\n';
  const rewrite = (text: string) =>
    text.includes(ANNOUNCE) ? (script.startsWith('FAIL') ? script : `SAY: ${script}`) : undefined;
  const world = await startWorld(t, talking({ rewrite }));
  assert.equal((await ended(world)).announce.state, 'silent');
  script = 'FAIL: 400 no';
  const failed = (await ended(world)).announce;
  assert.deepEqual([failed.state, /400|no/.test(failed.reason ?? '')], ['failed', true]);
  const sent = await world.store.read((tx) => tx.deliveries.ofSession(B, 99));
  assert.ok(sent.every(({ runId }) => runId?.endsWith(':announce') === false));
});

test('[EX26] a denied chat has the announce turn, and its text is suppressed', async (t) => {
  const config = { session: { sendPolicy: { default: 'allow', rules: [] } } };
  const world = await startWorld(t, talking({ config }));
  await world.say(B, 'SAY: hello');
  const held = world.model.hold(`${TURN} 1 of 5`);
  await world.say(A, `${send('SAY: first')}\nSAY: thanks`);
  await held.arrived();
  await world.client.request('sessions.patch', { key: B, sendPolicy: 'deny' });
  held.release();
  await world.quiet();
  const { announce } = await view(world, (await idsOf(world))[0]);
  assert.deepEqual([announce.state, announce.reason], ['suppressed', 'send_policy']);
});

test('[EX27] a session that is stopped has no more turns of what it asked for, also before the first reply', async (t) => {
  const world = await startWorld(t, talking());
  const held = world.model.hold(IN_B);
  await world.say(A, `${sendOnly('SAY: here')}\nSAY: sent`);
  await held.arrived();
  await world.client.request('runs.stop', { sessionKey: A });
  held.release();
  await world.quiet();
  const [id = ''] = await idsOf(world);
  const seen = await view(world, id);
  assert.deepEqual(endOf(seen), ['done', 'error', 0]);
  assert.equal(seen.endDetail, 'stopped by the operator');
  assert.deepEqual(seen.announce, { state: 'none', reason: 'stopped' });
  assert.equal(seen.said[0]?.outcome, 'ok', 'the message itself was answered');
});

test('[EX28] parent and child talk like any two agents, whichever of them asks', async (t) => {
  const config = {
    tools: { subagents: { tools: { allow: ['*', 'sessions_send'] } } },
    session: { agentToAgent: { maxPingPongTurns: 2 } },
  };
  const world = await startWorld(t, talking({ config }));
  await world.say(A, `${call('sessions_spawn', { task: 'SAY: ready' })}\nSAY: spawned`);
  await world.quiet();
  const child = String((await world.toolAnswers(A))[0]?.['childSessionKey']);
  const back = call('sessions_send', { sessionKey: A, message: 'SAY: yes', timeoutSeconds: 0 });
  const ask = (message: string) => call('sessions_send', { sessionKey: child, message });
  await world.say(A, `${ask('SAY: going well')}\nSAY: good`);
  await world.quiet();
  const down = await view(world, (await idsOf(world)).at(-1));
  assert.deepEqual(endOf(down), ['done', 'max_turns', 2]);
  assert.deepEqual(
    down.said.map(({ speakerKey, text }) => [speakerKey, text]),
    [
      [child, 'going well'],
      [A, 'PONG 1'],
      [child, 'PONG 2'],
    ],
  );
  await world.say(A, `${ask(`${back}\nSAY: asked`)}\nSAY: ok`);
  await world.quiet();
  const up = await view(world, (await idsOf(world, child))[0]);
  assert.deepEqual([up.requesterKey, up.targetKey], [child, A]);
  assert.deepEqual(endOf(up), ['done', 'max_turns', 2]);
});

test('[EX21, EX29] an exchange is found by any of its runs, long texts are cut, and other ids say what is wrong', async (t) => {
  const world = await startWorld(t, talking());
  const long = 'x'.repeat(5000);
  const seen = await ended(world, { message: `SAY: ${long}` });
  assert.equal(seen.said[0]?.text.length, 4000);
  assert.equal(seen.said[0]?.textCut, true);
  assert.equal(seen.request.textCut, true);
  const byRun = (runId: string) => world.client.request('exchanges.get', { runId });
  for (const part of ['', ':turn:1', ':announce']) {
    assert.equal((await byRun(`${seen.exchangeId}${part}`))['exchangeId'], seen.exchangeId, part);
  }
  await assert.rejects(byRun(seen.requesterRunId), /is part of no exchange/);
  await assert.rejects(byRun('nothing'), /no run nothing/);
  await assert.rejects(view(world, 'nothing'), /no exchange nothing; see exchanges.list/);
  await assert.rejects(
    world.client.request('exchanges.get', { exchangeId: 'x', runId: 'x' }),
    /exactly one of exchangeId and runId/,
  );
});

test('[EX21] exchanges are listed page by page, and the command line shows who said what', async (t) => {
  const config = { session: { agentToAgent: { maxPingPongTurns: 1 } } };
  const world = await startWorld(t, talking({ config }));
  const seen: string[] = [];
  for (const word of ['one', 'two', 'three']) {
    seen.unshift((await ended(world, { message: `SAY: ${word}` })).exchangeId);
  }
  const page = (cursor?: string) =>
    world.client.request<{
      exchanges: { exchangeId: string }[];
      hasMore: boolean;
      nextCursor: string;
    }>('exchanges.list', {
      sessionKey: B,
      limit: 2,
      ...(cursor === undefined ? {} : { cursor }),
    });
  const first = await page();
  const rest = await page(first.nextCursor);
  assert.deepEqual(
    [...first.exchanges, ...rest.exchanges].map(({ exchangeId }) => exchangeId),
    seen,
  );
  assert.deepEqual([first.hasMore, rest.hasMore], [true, false]);
  await assert.rejects(page('no cursor'), /exchanges.list: cursor: not a cursor/);
  const at = ['--url', world.gateway.url, '--token', world.gateway.token ?? ''];
  const list = await runCli(['exchanges', 'list', A, '--limit', '1', ...at]);
  assert.match(list.out, /^EXCHANGE +REQUESTER +TARGET +STATE +END +TURNS +BEGAN\n/);
  assert.match(list.out, /agent:a:main +agent:b:main +done +max_turns +1\/1/);
  assert.match(list.notes, /^more: --cursor /);
  const shown = await runCli(['exchanges', 'get', `${seen[0]}:turn:1`, ...at]);
  assert.match(shown.out, /announce +sent \(webchat\)/);
  assert.match(shown.out, /agent:b:main \(round 1, ok\):\n {2}three\n/);
  assert.match(shown.out, /agent:a:main \(round 2, ok\):\n {2}PONG 1/);
});

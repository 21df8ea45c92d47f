/** Messages into a busy session (B12): the modes, the caps, and what becomes of each message. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { textOf } from '../src/protocol/message.ts';
import { makeStateDir } from './helpers/gateway-process.ts';
import { openGateway } from './helpers/open-gateway.ts';
import { call, outlineOf, startWorld, usersOf, type TestWorld } from './helpers/test-world.ts';

type Json = Record<string, unknown>;

const A = 'agent:a:main';
const B = 'agent:b:main';
/** no test waits for quiet but the ones about it */
const AT_ONCE = { messages: { queue: { debounceMs: 0 } } };

const queueConfig = (queue: Json): { config: Json } => ({
  config: { messages: { queue: { debounceMs: 0, ...queue } } },
});

/** `chat.send`; resolves with the runId once the message is accepted. */
async function accept(world: TestWorld, message: string, extra: Json = {}): Promise<string> {
  const params = { sessionKey: B, message, idempotencyKey: message, ...extra };
  return String((await world.client.request('chat.send', params))['runId']);
}

const patch = (world: TestWorld, settings: Json): Promise<Json> =>
  world.client.request('sessions.patch', { key: B, ...settings });

const ended = (world: TestWorld, runId: unknown): Promise<Json> =>
  world.client.request('agent.wait', { runId, timeoutMs: 20_000 });

/** Starts a turn in B whose model call is kept back: what comes now comes into a busy session. */
async function makeBusy(
  world: TestWorld,
  script = 'SAY: 0',
): Promise<{ runId: string; release(): void }> {
  const held = world.model.hold('BUSY');
  const runId = await accept(world, `BUSY\n${script}`);
  await held.arrived();
  return { runId, release: held.release };
}

/** A tool call, then the answer of the script; between them is the place to steer. */
const WITH_TOOL = `${call('agents_list', {})}\nSAY: 0`;

const transcript = async (world: TestWorld): Promise<string[]> =>
  outlineOf(await world.history(B)).filter((line) => !line.startsWith('toolResult'));

for (const mode of ['collect', 'followup', 'steer', 'steer-backlog', 'interrupt', 'queue']) {
  test(`[QU1] in the mode ${mode} a message into an idle session has a turn of its own`, async (t) => {
    const world = await startWorld(t, queueConfig({ mode }));
    assert.equal((await world.say(B, 'SAY: one'))['reply'], 'one');
    const answer = await world.say(B, 'SAY: two');
    assert.deepEqual([answer['reply'], answer['mergedInto']], ['two', undefined]);
    assert.deepEqual(await transcript(world), [
      'user: SAY: one',
      'assistant: one',
      'user: SAY: two',
      'assistant: two',
    ]);
  });
}

test('[QU2] in the mode followup each waiting message has a turn of its own, in order', async (t) => {
  const world = await startWorld(t, queueConfig({ mode: 'followup' }));
  const busy = await makeBusy(world);
  const ids = [await accept(world, 'SAY: 1'), await accept(world, 'SAY: 2')];
  busy.release();
  const answers = [await ended(world, ids[0]), await ended(world, ids[1])];
  assert.deepEqual(
    answers.map(({ status, reply }) => [status, reply]),
    [
      ['ok', '1'],
      ['ok', '2'],
    ],
  );
  assert.equal(world.model.requests.length, 3);
});

test('[QU3, QU9] waiting messages are collected by default: one turn, one outcome, each with its runId', async (t) => {
  const world = await startWorld(t, { config: AT_ONCE });
  const busy = await makeBusy(world);
  const ids = [
    await accept(world, 'SAY: 1'),
    await accept(world, 'SAY: 2'),
    await accept(world, 'SAY: 3'),
  ];
  const page = await world.client.request<{ pending: Json[] }>('chat.history', { sessionKey: B });
  assert.deepEqual(
    page.pending.map(({ runId, state }) => [runId, state]),
    ids.map((runId) => [runId, 'queued']),
  );
  busy.release();
  const answers = [];
  for (const runId of ids) answers.push(await ended(world, runId));
  assert.deepEqual(
    answers.map(({ runId, status, outcome, reply, mergedInto }) => [
      runId,
      status,
      outcome,
      reply,
      mergedInto,
    ]),
    [
      [ids[0], 'ok', 'ok', '3', undefined],
      [ids[1], 'ok', 'ok', '3', ids[0]],
      [ids[2], 'ok', 'ok', '3', ids[0]],
    ],
  );
  assert.deepEqual((await transcript(world)).slice(2), [
    'user: SAY: 1',
    'user: SAY: 2',
    'user: SAY: 3',
    'assistant: 3',
  ]);
  assert.equal(world.model.requests.length, 2);
  await world.quiet();
  const deliveries = await world.store.read((tx) => tx.deliveries.ofSession(B, 9));
  assert.equal(deliveries.length, 2, 'one chat is told each reply once');
});

test('[QU3] a turn that fails fails for each message that it took in', async (t) => {
  const world = await startWorld(t, { config: AT_ONCE });
  const busy = await makeBusy(world);
  const ids = [await accept(world, 'SAY: 1'), await accept(world, 'FAIL: 400 no')];
  busy.release();
  const [one, two] = [await ended(world, ids[0]), await ended(world, ids[1])];
  assert.deepEqual([one['outcome'], two['outcome']], ['error', 'error']);
  assert.equal(one['error'], two['error']);
});

test('[QU3] messages that want the reply elsewhere, or other settings, are collected apart', async (t) => {
  const world = await startWorld(t, { config: AT_ONCE });
  const busy = await makeBusy(world);
  const ids = [
    await accept(world, 'SAY: 1'),
    await accept(world, 'SAY: quiet', { deliver: false }),
    await accept(world, 'SAY: 2'),
    await accept(world, 'SAY: hard', { thinking: 'high' }),
  ];
  busy.release();
  const replies = [];
  for (const runId of ids) replies.push((await ended(world, runId))['reply']);
  assert.deepEqual(replies, ['2', 'quiet', '2', 'hard']);
});

test('[QU4] nothing is collected across a message that has a turn of its own', async (t) => {
  const world = await startWorld(t, { config: AT_ONCE });
  const busy = await makeBusy(world);
  const first = [await accept(world, 'SAY: 1'), await accept(world, 'SAY: 2')];
  const send = await world.tool('sessions_send', {
    sessionKey: B,
    message: 'SAY: send',
    timeoutSeconds: 0,
  });
  const later = await accept(world, 'SAY: 3');
  busy.release();
  const replies = [];
  for (const runId of [...first, send['runId'], later]) {
    replies.push((await ended(world, runId))['reply']);
  }
  assert.deepEqual(replies, ['2', '2', 'send', '3']);
  const users = usersOf(await world.history(B)).map((message) => textOf(message));
  assert.deepEqual(users.slice(1), ['SAY: 1', 'SAY: 2', 'SAY: send', 'SAY: 3']);
});

test('[QU5] collected messages wait for quiet; the time is stored, and a message that does not wait ends it', async (t) => {
  const world = await startWorld(t, queueConfig({ debounceMs: 3_000_000 }));
  const busy = await makeBusy(world);
  const waiting = await accept(world, 'SAY: 1');
  busy.release();
  await ended(world, busy.runId);
  const lane = await world.store.read((tx) => tx.lanes.get(B));
  assert.equal(lane?.state, 'queued');
  assert.ok(Number(lane?.readyAt) > Date.now() + 1_000_000);
  const more = await accept(world, 'SAY: 2');
  assert.equal((await world.client.runAgent(agentCall('SAY: own'))).outcome, 'ok');
  assert.equal((await ended(world, waiting))['reply'], '2');
  assert.equal((await ended(world, more))['mergedInto'], waiting);
});

function agentCall(message: string) {
  return { sessionKey: B, message, idempotencyKey: message };
}

test('[QU5] the quiet time ends by itself, and at once when no more messages may wait', async (t) => {
  const world = await startWorld(t, queueConfig({ debounceMs: 30, cap: 3 }));
  const busy = await makeBusy(world);
  const one = await accept(world, 'SAY: 1');
  busy.release();
  assert.equal((await ended(world, one))['reply'], '1');
  await patch(world, { queueDebounceMs: 3_000_000 });
  const again = await makeBusy2(world);
  const ids = [
    await accept(world, 'SAY: 2'),
    await accept(world, 'SAY: 3'),
    await accept(world, 'SAY: 4'),
  ];
  again.release();
  assert.equal((await ended(world, ids[2]))['reply'], '4');
  assert.equal((await ended(world, ids[0]))['reply'], '4');
});

test('[QU5] a wait for quiet holds across a restart', async (t) => {
  const config = { messages: { queue: { debounceMs: 1500 } } };
  const stateDir = makeStateDir(t, { config });
  const first = await openGateway(t, stateDir);
  const send = async (message: string): Promise<unknown> => {
    const params = { sessionKey: 'main', message, idempotencyKey: message };
    return (await first.client.request('chat.send', params))['runId'];
  };
  const busy = await send('SLEEP: 200\nSAY: 0');
  const waiting = await send('SAY: 1');
  await first.client.request('agent.wait', { runId: busy, timeoutMs: 20_000 });
  await first.close();
  const { client } = await openGateway(t, stateDir);
  const answer = await client.request('agent.wait', { runId: waiting, timeoutMs: 20_000 });
  assert.equal(answer['reply'], '1');
});

async function makeBusy2(world: TestWorld): Promise<{ release(): void }> {
  const held = world.model.hold('STILL');
  await accept(world, 'STILL\nSAY: still');
  await held.arrived();
  return held;
}

for (const mode of ['steer', 'queue']) {
  test(`[QU6, QU9] in the mode ${mode} a message joins the running turn after its tool results`, async (t) => {
    const world = await startWorld(t, { config: AT_ONCE });
    await patch(world, { queueMode: mode });
    const busy = await makeBusy(world, WITH_TOOL);
    const steered = [await accept(world, 'SAY: other'), await accept(world, 'SAY: another')];
    busy.release();
    const main = await ended(world, busy.runId);
    assert.deepEqual([main['reply'], main['mergedInto']], ['another', undefined]);
    for (const runId of steered) {
      const { status, reply, mergedInto } = await ended(world, runId);
      assert.deepEqual([status, reply, mergedInto], ['ok', 'another', busy.runId]);
    }
    assert.deepEqual(outlineOf(await world.history(B)).slice(1), [
      'assistant: →agents_list',
      outlineOf(await world.history(B))[2],
      'user: SAY: other',
      'user: SAY: another',
      'assistant: another',
    ]);
    assert.equal(world.model.requests.length, 2);
  });
}

test('[QU6] a message that no tool results come for has a turn of its own afterwards', async (t) => {
  const world = await startWorld(t, queueConfig({ mode: 'steer' }));
  const busy = await makeBusy(world);
  const ids = [await accept(world, 'SAY: 1'), await accept(world, 'SAY: 2')];
  busy.release();
  assert.equal((await ended(world, busy.runId))['reply'], '0');
  const answers = [await ended(world, ids[0]), await ended(world, ids[1])];
  assert.deepEqual(
    answers.map(({ reply, mergedInto }) => [reply, mergedInto]),
    [
      ['1', undefined],
      ['2', undefined],
    ],
  );
});

test('[QU6] who steers the turn of another gets the reply into its own chat as well', async (t) => {
  const world = await startWorld(t, queueConfig({ mode: 'steer' }));
  const held = world.model.hold('BUSY');
  const main = world.client.runAgent(agentCall(`BUSY\n${WITH_TOOL}`));
  await held.arrived();
  const steered = await accept(world, 'SAY: other');
  held.release();
  assert.equal((await main).outcome, 'ok');
  assert.equal((await ended(world, steered))['reply'], 'other');
  await world.quiet();
  const [delivery, ...more] = await world.store.read((tx) => tx.deliveries.ofSession(B, 9));
  assert.deepEqual(
    [delivery?.runId, delivery?.state, delivery?.text, more.length],
    [steered, 'sent', 'other', 0],
  );
});

test('[QU6] the model of a steered turn is told apart what another agent asked and what a person said', async (t) => {
  const world = await startWorld(t, queueConfig({ mode: 'steer' }));
  const held = world.model.hold('BUSY');
  const send = world.tool('sessions_send', {
    sessionKey: B,
    message: `BUSY\n${WITH_TOOL}`,
    timeoutSeconds: 20,
  });
  await held.arrived();
  await accept(world, 'SAY: other');
  held.release();
  assert.equal((await send)['reply'], 'other');
  const request = world.model.requests[1]?.body ?? {};
  const [asked, said] = (request['messages'] as { role: string; content: unknown }[])
    .filter(({ role }) => role === 'user')
    .map(({ content }) => JSON.stringify(content));
  assert.match(asked ?? '', /inter-session message from agent:a:main/);
  assert.doesNotMatch(said ?? '', /inter-session/);
});

test('[QU7] in the mode steer-backlog a message joins the running turn and has a turn of its own later', async (t) => {
  const world = await startWorld(t, queueConfig({ mode: 'steer-backlog' }));
  const busy = await makeBusy(world, WITH_TOOL);
  const runId = await accept(world, 'SAY: other');
  busy.release();
  assert.equal((await ended(world, busy.runId))['reply'], 'other');
  const { reply, mergedInto } = await ended(world, runId);
  assert.deepEqual([reply, mergedInto], ['other', undefined]);
  assert.deepEqual((await transcript(world)).slice(2), [
    'user: SAY: other',
    'assistant: other',
    'user: SAY: other',
    'assistant: other',
  ]);
});

test('[QU8] an interrupt ends the running turn and goes before all that waits', async (t) => {
  const world = await startWorld(t, queueConfig({ mode: 'followup' }));
  const busy = await makeBusy(world);
  const waiting = await accept(world, 'SAY: 1');
  await patch(world, { queueMode: 'interrupt' });
  const newest = await accept(world, 'SAY: now');
  const main = await ended(world, busy.runId);
  busy.release();
  assert.deepEqual([main['status'], main['outcome']], ['error', 'aborted']);
  assert.match(String(main['error']), /a newer message interrupted it/);
  const [now, later] = [await ended(world, newest), await ended(world, waiting)];
  assert.deepEqual([now['reply'], later['reply']], ['now', '1']);
  assert.ok(Number(now['endedAt']) <= Number(later['startedAt']));
  const users = usersOf(await world.history(B)).map((message) => textOf(message));
  assert.deepEqual(users.slice(1), ['SAY: now', 'SAY: 1']);
});

test('[QU8] of several interrupts the newest runs, and its turn takes in the others', async (t) => {
  const world = await startWorld(t, {
    config: {
      agents: { defaults: { maxConcurrent: 1 } },
      messages: { queue: { mode: 'interrupt' } },
    },
  });
  // The one slot is taken, so that none of them can start.
  const held = world.model.hold('ELSEWHERE');
  const elsewhere = world.say(A, 'ELSEWHERE\nSAY: a');
  await held.arrived();
  const ids = [
    await accept(world, 'SAY: 0'),
    await accept(world, 'SAY: 1'),
    await accept(world, 'SAY: 2'),
  ];
  held.release();
  await elsewhere;
  const answers = [];
  for (const runId of ids) answers.push(await ended(world, runId));
  assert.deepEqual(
    answers.map(({ reply, mergedInto }) => [reply, mergedInto]),
    [
      ['0', undefined],
      ['2', ids[2]],
      ['2', undefined],
    ],
  );
  assert.deepEqual(await transcript(world), [
    'user: SAY: 1',
    'user: SAY: 2',
    'assistant: 2',
    'user: SAY: 0',
    'assistant: 0',
  ]);
});

test('[QU8] an interrupt ends a turn that waits for another agent', async (t) => {
  const world = await startWorld(t, queueConfig({ mode: 'interrupt' }));
  const held = world.model.hold('FOR C');
  const ask = call('sessions_send', { sessionKey: 'agent:c:main', message: 'FOR C\nSAY: c' });
  const main = await accept(world, `${ask}\nSAY: b`);
  await held.arrived();
  const newest = await accept(world, 'SAY: now');
  assert.equal((await ended(world, main))['outcome'], 'aborted');
  held.release();
  assert.equal((await ended(world, newest))['reply'], 'now');
  await world.quiet();
});

test('[QU9] the session decides before its channel, and the channel before the rest', async (t) => {
  const world = await startWorld(
    t,
    queueConfig({ mode: 'steer', byChannel: { webchat: 'followup', telegram: 'interrupt' } }),
  );
  const modeOf = async (): Promise<unknown> => {
    const busy = await makeBusy(world);
    const runId = await accept(world, 'SAY: 1');
    const run = await world.store.read((tx) => tx.runs.get(runId));
    busy.release();
    await world.quiet();
    return run?.queueMode;
  };
  assert.equal(await modeOf(), 'followup');
  const { entry } = await patch(world, { queueMode: 'collect', queueCap: 3, queueDrop: 'old' });
  const { queueMode, queueCap, queueDrop, queueDebounceMs } = (entry as { overrides: Json })
    .overrides;
  assert.deepEqual([queueMode, queueCap, queueDrop, queueDebounceMs], ['collect', 3, 'old', null]);
});

test('[QU9] a queue setting that cannot be is refused by name', async (t) => {
  const world = await startWorld(t);
  for (const [name, value] of [
    ['queueMode', 'sometimes'],
    ['queueCap', 0],
    ['queueDrop', 'all'],
    ['queueDebounceMs', -1],
  ] as const) {
    await assert.rejects(patch(world, { [name]: value }), new RegExp(name));
  }
});

test('[QU10] with drop: new the message beyond the cap is refused at once and leaves nothing', async (t) => {
  const world = await startWorld(t, queueConfig({ mode: 'followup', cap: 2, drop: 'new' }));
  const busy = await makeBusy(world);
  const ids = [await accept(world, 'SAY: 1'), await accept(world, 'SAY: 2')];
  await assert.rejects(accept(world, 'SAY: 3'), {
    code: 'unavailable',
    message: /no more than 2 may \(messages\.queue\.cap\)/,
  });
  assert.equal(await accept(world, 'SAY: 2'), ids[1], 'what was accepted is found by its key');
  busy.release();
  for (const runId of ids) assert.equal((await ended(world, runId))['status'], 'ok');
  const third = await accept(world, 'SAY: 3');
  assert.equal((await ended(world, third))['reply'], '3', 'the refused key is free');
  assert.equal(usersOf(await world.history(B)).length, 4);
});

for (const drop of ['old', 'summarize']) {
  test(`[QU11] with drop: ${drop} the oldest waiting message ends with an error that names the cap`, async (t) => {
    const world = await startWorld(t, queueConfig({ cap: 2, ...(drop === 'old' && { drop }) }));
    const busy = await makeBusy(world);
    const ids = [];
    for (const text of ['SAY: 1', 'SAY: 2 two\n  lines', 'SAY: 3', 'SAY: 4']) {
      ids.push(await accept(world, text));
    }
    for (const runId of ids.slice(0, 2)) {
      const { status, outcome, error } = await ended(world, runId);
      assert.deepEqual([status, outcome], ['error', 'error']);
      assert.match(String(error), /more than 2 messages waited .*messages\.queue\.cap 2/);
    }
    busy.release();
    for (const runId of ids.slice(2)) assert.equal((await ended(world, runId))['reply'], '4');
    const summary =
      'user: [2 earlier messages had no turn: too many waited (messages.queue.cap)]\n- SAY: 1\n- SAY: 2 two lines';
    assert.deepEqual((await transcript(world)).slice(2), [
      ...(drop === 'old' ? [] : [summary]),
      'user: SAY: 3',
      'user: SAY: 4',
      'assistant: 4',
    ]);
    await world.quiet();
    assert.deepEqual(await world.store.read((tx) => tx.inputs.pending(B, 9)), []);
  });
}

test('[QU10] a lowered cap holds at the next message', async (t) => {
  const world = await startWorld(t, queueConfig({ mode: 'followup', drop: 'old' }));
  const busy = await makeBusy(world);
  const ids = [];
  for (const n of [1, 2, 3, 4]) ids.push(await accept(world, `SAY: ${n}`));
  await patch(world, { queueCap: 2 });
  ids.push(await accept(world, 'SAY: 5'));
  busy.release();
  const outcomes = [];
  for (const runId of ids) outcomes.push((await ended(world, runId))['outcome']);
  assert.deepEqual(outcomes, ['error', 'error', 'error', 'ok', 'ok']);
});

test('[QU12, BR-188] sends to a busy session beyond the cap are errors at call time, the others run in order', async (t) => {
  const world = await startWorld(t, {
    config: { session: { agentToAgent: { maxPingPongTurns: 0 } } },
  });
  const busy = await makeBusy(world);
  const answers = [];
  for (let n = 1; n <= 25; n += 1) {
    const args = { sessionKey: B, message: `SAY: ${n}`, timeoutSeconds: 0 };
    answers.push(await world.tool('sessions_send', args));
  }
  assert.deepEqual(
    answers.map(({ status }) => status),
    [...Array<string>(20).fill('accepted'), ...Array<string>(5).fill('error')],
  );
  for (const { error } of answers.slice(20)) {
    assert.match(String(error), /20 messages wait for session agent:b:main/);
    assert.match(String(error), /messages\.queue\.cap/);
  }
  const person = await accept(world, 'SAY: person');
  busy.release();
  assert.equal((await ended(world, person))['reply'], 'person', 'people are counted apart');
  await world.quiet();
  const users = usersOf(await world.history(B)).map((message) => textOf(message));
  assert.deepEqual(
    users.slice(1, -1),
    Array.from({ length: 20 }, (_, at) => `SAY: ${at + 1}`),
  );
});

test('[QU13] a key has its first answer while the message waits, in the turn of another, and afterwards', async (t) => {
  const world = await startWorld(t, { config: AT_ONCE });
  const busy = await makeBusy(world);
  const head = await accept(world, 'SAY: 1');
  const params = { sessionKey: B, message: 'IN\nSAY: 2', idempotencyKey: 'k' };
  const repeat = (): Promise<Json> => world.client.request('chat.send', params);
  const { runId } = await repeat();
  assert.deepEqual(await repeat(), { runId, sessionKey: B, status: 'in_flight' });
  const held = world.model.hold('IN');
  busy.release();
  await held.arrived();
  const base = { runId, sessionKey: B, mergedInto: head };
  assert.deepEqual(await repeat(), { ...base, status: 'in_flight' });
  const elapsed = await world.client.request('agent.wait', { runId, timeoutMs: 0 });
  assert.deepEqual([elapsed['status'], elapsed['messageState']], ['timeout', 'running']);
  held.release();
  await ended(world, runId);
  assert.deepEqual(await repeat(), { ...base, status: 'ok', outcome: 'ok' });
  await assert.rejects(world.client.request('chat.send', { ...params, message: 'other' }), {
    code: 'key_conflict',
  });
});

test('[QU14] who watches is told start and end of a collected and of a dropped message', async (t) => {
  const world = await startWorld(t, queueConfig({ cap: 2, drop: 'old' }));
  const told: string[] = [];
  world.client.on(({ event, payload }) => {
    const { runId, state, mergedInto, stream, data, message } = (payload ?? {}) as Json & {
      data?: { phase?: string };
      message?: { content: { text: string }[] };
    };
    if (event === 'chat' && state !== 'delta')
      told.push(
        `${String(runId)} ${String(state)} ${message?.content[0]?.text} ${String(mergedInto)}`,
      );
    if (event === 'agent' && stream === 'lifecycle') told.push(`${String(runId)} ${data?.phase}`);
  });
  const busy = await makeBusy(world);
  const [dropped, head, joined] = [
    await accept(world, 'SAY: 1'),
    await accept(world, 'SAY: 2'),
    await accept(world, 'SAY: 3'),
  ];
  busy.release();
  await ended(world, joined);
  await world.quiet();
  await world.client.request('health');
  const of = (runId: string): string[] =>
    told.filter((line) => line.startsWith(runId)).map((line) => line.slice(runId.length + 1));
  assert.deepEqual(of(dropped), ['error', 'error undefined undefined']);
  assert.deepEqual(of(head), ['start', 'end', 'final 3 undefined']);
  assert.deepEqual(of(joined), ['start', 'end', `final 3 ${head}`]);
});

test('[QU18] a stop of a message that joined a turn ends that turn', async (t) => {
  const world = await startWorld(t, { config: AT_ONCE });
  const busy = await makeBusy(world);
  const ids = [await accept(world, 'IN\nSAY: 1'), await accept(world, 'SAY: 2')];
  const held = world.model.hold('IN');
  busy.release();
  await held.arrived();
  await world.client.request('runs.stop', { runId: ids[1] });
  for (const runId of ids) {
    const { outcome, error } = await ended(world, runId);
    assert.deepEqual([outcome, error], ['aborted', 'stopped by the operator']);
  }
  held.release();
  assert.equal((await world.say(B, 'SAY: on'))['reply'], 'on');
});

test('[QU15, BR-137] the child of another conversation starts next, however many children one has waiting', async (t) => {
  const subagents = {
    maxConcurrent: 2,
    maxChildrenPerAgent: 8,
    announce: { mode: 'template' },
  };
  const world = await startWorld(t, { config: { agents: { defaults: { subagents } } } });
  const held = world.model.hold('You are a sub-agent');
  const spawn = async (text: string, key: string): Promise<unknown> => {
    const answer = await world.tool('sessions_spawn', { task: `SAY: ${text}` }, key);
    return answer['runId'];
  };
  const ofA: unknown[] = [];
  for (let n = 0; n < 8; n += 1) ofA.push(await spawn(`a${n}`, A));
  await held.arrived(2);
  const ofB = await spawn('b', B);
  held.release();
  await world.quiet();
  const runs = await world.store.read((tx) =>
    Promise.all([...ofA, ofB].map((runId) => tx.runs.get(String(runId)))),
  );
  const b = runs.at(-1);
  const before = runs.slice(0, -1).filter((run) => Number(run?.startedAt) < Number(b?.startedAt));
  assert.ok(before.length <= 3, `${before.length} of the other conversation went first`);
});

/** The five session tools through each door that calls them: the same JSON, field by field. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { call, outlineOf, startWorld, type TestWorld } from './helpers/test-world.ts';

type Json = Record<string, unknown>;

const A = 'agent:a:main';
const B = 'agent:b:main';
const GROUP = 'agent:a:discord:group:G1';

interface Door {
  name: string;
  call(world: TestWorld, tool: string, args: Json): Promise<Json>;
}

const doors: Door[] = [
  {
    name: 'an agent’s turn',
    call: async (world, tool, args) => {
      await world.say(A, `${call(tool, args)}\nSAY: done`);
      return (await world.toolAnswers(A)).at(-1) ?? {};
    },
  },
  {
    name: 'POST /tools/invoke',
    call: async (world, tool, args) => {
      const { status, body } = await post(world, { tool, args });
      assert.deepEqual([status, body['ok']], [200, true], JSON.stringify(body));
      return body['result'] as Json;
    },
  },
  { name: 'tools.invoke', call: (world, tool, args) => world.tool(tool, args) },
];

async function post(world: TestWorld, body: Json): Promise<{ status: number; body: Json }> {
  const response = await fetch(`${world.gateway.url}/tools/invoke`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${world.gateway.token}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Json };
}

/** Agents a and b, a's main session with a chat, a group of a that has been talked to. */
async function startFurnished(t: Parameters<typeof startWorld>[0]): Promise<TestWorld> {
  const world = await startWorld(t, {
    config: {
      agents: {
        list: [
          { id: 'a', default: true, name: 'Ada', subagents: { allowAgents: ['b'] } },
          { id: 'b' },
        ],
      },
      gateway: { tools: { allow: ['sessions_send', 'sessions_spawn'] } },
    },
  });
  await world.say(A, 'SAY: hi');
  await world.say(GROUP, `${call('write', { path: 'x.txt', content: 'x' })}\nSAY: written`);
  await world.client.request('sessions.patch', {
    key: GROUP,
    label: 'team',
    displayName: 'The team',
    sendPolicy: 'allow',
  });
  return world;
}

/** Types in place of the values. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value !== 'object' || value === null) return typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, shapeOf(part)]));
}

const ROW_SHAPE = {
  key: 'string',
  kind: 'string',
  channel: 'string',
  updatedAt: 'number',
  sessionId: 'string',
  model: 'string',
  contextTokens: 'number',
  thinkingLevel: 'string',
  verboseLevel: 'string',
  systemSent: 'boolean',
  abortedLastRun: 'boolean',
  transcriptPath: 'string',
  agentId: 'string',
  state: 'string',
};
const GROUP_SHAPE = {
  ...ROW_SHAPE,
  displayName: 'string',
  label: 'string',
  totalTokens: 'number',
  sendPolicy: 'string',
  lastChannel: 'string',
  lastTo: 'string',
  deliveryContext: { channel: 'string', to: 'string' },
};

for (const door of doors) {
  test(`[DR1] sessions_list through ${door.name} has the documented rows and page`, async (t) => {
    const world = await startFurnished(t);
    const answer = await door.call(world, 'sessions_list', { kinds: ['group'], messageLimit: 2 });
    const { sessions, ...page } = answer;
    assert.deepEqual(page, {
      count: 1,
      limitApplied: 100,
      messageLimitApplied: 2,
      hasMore: false,
      visibility: { mode: 'all', restricted: false },
    });
    const [{ messages, ...row } = {}] = sessions as Json[];
    assert.deepEqual(shapeOf(row), GROUP_SHAPE);
    const stored = await world.store.read((tx) => tx.sessions.get(GROUP));
    const { updatedAt, sessionId } = stored!;
    assert.deepEqual(row, {
      key: GROUP,
      kind: 'group',
      channel: 'discord',
      updatedAt,
      sessionId,
      model: 'fake/fake-1',
      contextTokens: 200_000,
      thinkingLevel: 'off',
      verboseLevel: 'off',
      systemSent: true,
      abortedLastRun: false,
      transcriptPath: `${world.gateway.stateDir}/agents/a/sessions/${sessionId}.jsonl`,
      agentId: 'a',
      state: 'idle',
      displayName: 'The team',
      label: 'team',
      totalTokens: row['totalTokens'],
      sendPolicy: 'allow',
      lastChannel: 'webchat',
      lastTo: GROUP,
      deliveryContext: { channel: 'webchat', to: GROUP },
    });
    // Tool results are filtered before the last N are taken.
    const outline = outlineOf(messages as Parameters<typeof outlineOf>[0]);
    assert.deepEqual(outline, ['assistant: →write', 'assistant: written']);
    const all = await door.call(world, 'sessions_list', {});
    const rows = all['sessions'] as Json[];
    assert.deepEqual(new Set(rows.map(({ key }) => key)), new Set([B, GROUP, 'main']));
    assert.ok(rows.every((each) => !('messages' in each)));
    const bare = rows.find(({ key }) => key === B);
    assert.deepEqual(shapeOf(bare), ROW_SHAPE, 'what is not known is left out');
  });

  test(`[DR2] sessions_history through ${door.name} is the stored transcript`, async (t) => {
    const world = await startFurnished(t);
    const stored = await world.history(GROUP);
    const answer = await door.call(world, 'sessions_history', {
      sessionKey: GROUP,
      includeTools: true,
    });
    const { sessionId, bytes, ...rest } = answer;
    assert.equal(sessionId, (await world.store.read((tx) => tx.sessions.get(GROUP)))?.sessionId);
    assert.equal(bytes, Buffer.byteLength(JSON.stringify(stored)));
    assert.deepEqual(rest, {
      sessionKey: GROUP,
      messages: stored,
      pending: [],
      limitApplied: 50,
      truncated: false,
      droppedMessages: 0,
      contentTruncated: false,
      contentRedacted: false,
      hasMore: false,
    });
    assert.deepEqual(outlineOf(stored).slice(1), [
      'assistant: →write',
      'toolResult: Wrote 1 bytes to x.txt.',
      'assistant: written',
    ]);
    const byId = await door.call(world, 'sessions_history', { sessionKey: sessionId, limit: 1 });
    assert.deepEqual(byId['messages'], stored.slice(-1));
    assert.deepEqual([byId['hasMore'], typeof byId['nextCursor']], [true, 'string']);
    const withoutTools = await door.call(world, 'sessions_history', { sessionKey: GROUP });
    assert.deepEqual(
      withoutTools['messages'],
      stored.filter(({ role }) => role !== 'toolResult'),
    );
  });

  test(`[DR3] sessions_send through ${door.name} has the four answers`, async (t) => {
    const world = await startFurnished(t);
    const send = (message: string, extra: Json = {}) =>
      door.call(world, 'sessions_send', { sessionKey: B, message, maxTurns: 0, ...extra });
    const { runId: okRun, ...ok } = await send('SAY: yes');
    assert.equal(typeof okRun, 'string');
    assert.deepEqual(ok, {
      status: 'ok',
      sessionKey: B,
      messageState: 'done',
      outcome: 'ok',
      reply: 'yes',
    });
    const { runId: failedRun, error, ...failed } = await send('FAIL: 400 no');
    assert.deepEqual([typeof failedRun, typeof error], ['string', 'string']);
    assert.deepEqual(failed, {
      status: 'error',
      sessionKey: B,
      messageState: 'done',
      outcome: 'error',
    });
    const held = world.model.hold(`Your session is ${B}.`);
    const { runId, ...accepted } = await send('SAY: held', { timeoutSeconds: 0 });
    assert.equal(typeof runId, 'string');
    assert.deepEqual(accepted, { status: 'accepted', sessionKey: B, messageState: 'queued' });
    await held.arrived();
    const {
      runId: lateRun,
      error: late,
      ...timeout
    } = await send('SAY: late', { timeoutSeconds: 0.01 });
    assert.deepEqual([typeof lateRun, typeof late], ['string', 'string']);
    assert.deepEqual(timeout, { status: 'timeout', sessionKey: B, messageState: 'queued' });
    held.release();
    await world.quiet();
    assert.deepEqual(outlineOf(await world.history(B)).slice(-4), [
      'user: SAY: held',
      'assistant: held',
      'user: SAY: late',
      'assistant: late',
    ]);
  });

  test(`[DR4] sessions_spawn through ${door.name} answers at once with the child`, async (t) => {
    const world = await startFurnished(t);
    const answer = await door.call(world, 'sessions_spawn', {
      task: 'SAY: done',
      agentId: 'b',
      thinking: 'low',
      attachAs: {},
    });
    const { runId, childSessionKey, ...rest } = answer;
    assert.equal(typeof runId, 'string');
    assert.match(String(childSessionKey), /^agent:b:subagent:[0-9a-f-]{36}$/);
    assert.deepEqual(rest, {
      status: 'accepted',
      mode: 'run',
      modelApplied: 'fake/fake-1',
      thinkingApplied: 'low',
      note: 'attachAs is reserved and has no effect',
    });
    await world.quiet();
    const wait = await world.client.request('agent.wait', { runId });
    assert.deepEqual([wait['sessionKey'], wait['reply']], [childSessionKey, 'done']);
  });

  test(`[DR5] agents_list through ${door.name} names the requester first`, async (t) => {
    const world = await startFurnished(t);
    assert.deepEqual(await door.call(world, 'agents_list', {}), {
      requester: 'a',
      allowAny: false,
      agents: [
        { id: 'a', name: 'Ada', configured: true },
        { id: 'b', configured: true },
      ],
    });
  });

  test(`[DR6] a refusal through ${door.name} is an answer with status and error alone`, async (t) => {
    const world = await startFurnished(t);
    const cases: [string, Json, string, RegExp][] = [
      [
        'sessions_list',
        { limit: 0 },
        'error',
        /limit of sessions_list must be a whole number of at least 1/,
      ],
      ['sessions_list', { kinds: ['chat'] }, 'error', /kinds of sessions_list/],
      ['sessions_history', {}, 'error', /needs sessionKey/],
      ['sessions_history', { sessionKey: 'agent:b:cli:none' }, 'error', /not found/],
      ['sessions_send', { sessionKey: B }, 'error', /needs message/],
      ['sessions_send', { message: 'x' }, 'error', /needs sessionKey/],
      ['sessions_send', { sessionKey: 'main', message: 'x' }, 'error', /cannot send to self/],
      ['sessions_send', { sessionKey: B, mesage: 'x' }, 'error', /nearest: "message"/],
      ['sessions_spawn', { task: ' ' }, 'error', /task/],
      ['sessions_spawn', { task: 'x', agentId: 'c' }, 'forbidden', /allowed: a, b/],
      ['sessions_spawn', { task: 'x', mode: 'session' }, 'error', /mode: "session"/],
      ['agents_list', { all: true }, 'error', /takes no parameters/],
    ];
    for (const [tool, args, status, text] of cases) {
      const { error, ...rest } = await door.call(world, tool, args);
      assert.deepEqual(rest, { status }, `${tool} ${JSON.stringify(args)}`);
      assert.match(String(error), text);
    }
    assert.deepEqual(await world.history(B), []);
  });
}

test('[DR7] HTTP offers sessions_send and sessions_spawn only when gateway.tools.allow names them', async (t) => {
  const world = await startWorld(t);
  const args = { sessionKey: B, message: 'SAY: x', task: 'x' };
  for (const tool of ['sessions_send', 'sessions_spawn', 'exec', 'nothing']) {
    const { status, body } = await post(world, { tool, args });
    assert.deepEqual([status, body['ok']], [404, false], tool);
  }
  const open = await post(world, { tool: 'sessions_list' });
  assert.equal(open.status, 200);
  // The other doors do not ask gateway.tools.
  assert.equal(
    (await world.tool('sessions_send', { sessionKey: B, message: 'SAY: x' }))['reply'],
    'x',
  );
});

test('[DR8] what the session’s own tool policy closes is closed at every door, and says so', async (t) => {
  const world = await startWorld(t, {
    careless: true,
    config: { tools: { deny: ['sessions_history'] } },
  });
  const args = { sessionKey: 'main' };
  const { status, body } = await post(world, { tool: 'sessions_history', args });
  assert.equal(status, 404);
  assert.match(JSON.stringify(body), /tool policy does not offer sessions_history/);
  await assert.rejects(world.tool('sessions_history', args), /tool policy does not offer/);
  await world.say(A, `${call('sessions_history', args)}\nSAY: ok`);
  const [result] = (await world.history(A)).filter(({ role }) => role === 'toolResult');
  assert.deepEqual([result?.role === 'toolResult' && result.isError], [true]);
  assert.match(
    JSON.stringify(result?.content),
    /forbidden.*tool policy does not offer sessions_history/,
  );
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  assistantText,
  createSessionWorld,
  toolResultText,
  userText,
  WORLD_START,
} from '../../../test/helpers/session-world.ts';
import type { NewSession, SessionWorld } from '../../../test/helpers/session-world.ts';
import type {
  SessionRowView,
  SessionsListPage,
} from '../../protocol/tools/session-tool-answers.ts';
import type { SessionsListArgs } from '../../protocol/tools/session-tool-args.ts';
import { watchReads } from '../../../test/helpers/watched-reads.ts';
import { listSessions } from './list-sessions.ts';

const MAIN = 'agent:main:main';
const GROUP = 'agent:main:discord:group:g1';
const CHILD = 'agent:main:subagent:00000000-0000-4000-8000-000000000001';
const CODER_CHILD = 'agent:coder:subagent:00000000-0000-4000-8000-000000000002';
const childKey = (at: number): string =>
  `agent:main:subagent:00000000-0000-4000-8000-${String(at).padStart(12, '0')}`;
const agentsMainAndCoder = { list: [{ id: 'main' }, { id: 'coder' }] };

async function page(
  world: SessionWorld,
  args: SessionsListArgs = {},
  callerKey = MAIN,
): Promise<SessionsListPage> {
  const answer = await listSessions(world.context, world.caller(callerKey), args);
  assert.ok('sessions' in answer, JSON.stringify(answer));
  return answer;
}
const keysOf = (rows: { sessions: SessionRowView[] }): string[] =>
  rows.sessions.map((row) => row.key);

test('[SL1, BR-002] the main session is listed, as `main`', async (t) => {
  const world = createSessionWorld(t, { tools: { sessions: { visibility: 'agent' } } });
  await world.add({ key: MAIN }, { key: 'agent:main:feishu:group:g1', channel: 'feishu' });
  const list = await page(world);
  assert.deepEqual(
    list.sessions.map((row) => [row.key, row.kind]),
    [
      ['main', 'main'],
      ['agent:main:feishu:group:g1', 'group'],
    ],
  );
  assert.equal(list.count, 2);
});

test('[SL2, BR-004] a restricted list says so and tells nothing of what is hidden', async (t) => {
  const world = createSessionWorld(t);
  const others = Array.from({ length: 40 }, (_, at) => ({
    key: `agent:main:discord:group:x${at}`,
  }));
  await world.add({ key: MAIN, sessionId: 'own' }, ...others);
  const list = await page(world, { limit: 10 });
  assert.deepEqual(keysOf(list), ['main']);
  assert.deepEqual(list.visibility, { mode: 'tree', restricted: true });
  assert.equal(list.hasMore, false);
  assert.doesNotMatch(JSON.stringify(list), /discord|41/);
});

describe('pages', () => {
  test('[SL3] following the cursor shows every session once, newest first, ties by key', async (t) => {
    const world = createSessionWorld(t, { tools: { sessions: { visibility: 'agent' } } });
    const rows = Array.from({ length: 57 }, (_, at) => ({
      key: `agent:main:discord:group:${at}`,
      updatedAt: WORLD_START - Math.floor(at / 8) * 1000,
    }));
    await world.add({ key: MAIN, updatedAt: WORLD_START - 3000 }, ...rows);
    const seen: SessionRowView[] = [];
    let cursor: string | undefined;
    do {
      const next: SessionsListPage = await page(world, { limit: 10, ...(cursor && { cursor }) });
      assert.equal(next.hasMore, next.nextCursor !== undefined);
      seen.push(...next.sessions);
      cursor = next.nextCursor;
    } while (cursor !== undefined && seen.length < 200);
    assert.equal(seen.length, 58);
    assert.equal(new Set(keysOf({ sessions: seen })).size, 58);
    const times = seen.map((row) => row.updatedAt);
    assert.deepEqual(
      times,
      times.toSorted((a, b) => b - a),
    );
  });

  test('[SL3] the default is 100 rows, and the limit in effect is said', async (t) => {
    const world = createSessionWorld(t, { tools: { sessions: { visibility: 'agent' } } });
    const rows = Array.from({ length: 105 }, (_, at) => ({
      key: `agent:main:telegram:group:${at}`,
    }));
    await world.add({ key: MAIN }, ...rows);
    const list = await page(world);
    assert.deepEqual([list.count, list.limitApplied, list.hasMore], [100, 100, true]);
    const rest = await page(world, { cursor: list.nextCursor! });
    assert.deepEqual([rest.count, rest.hasMore], [6, false]);
  });

  test('[SL3] a page that ends exactly at the last session has no next one', async (t) => {
    const world = createSessionWorld(t, { tools: { sessions: { visibility: 'agent' } } });
    await world.add({ key: MAIN }, { key: GROUP });
    assert.equal((await page(world, { limit: 2 })).hasMore, false);
    assert.equal((await page(world, { limit: 1 })).hasMore, true);
  });

  test('[SL4] a page examines at most 5,000 rows, then goes on with a cursor', async (t) => {
    const world = createSessionWorld(t, { tools: { sessions: { visibility: 'agent' } } });
    const rows = Array.from({ length: 5200 }, (_, at) => ({
      key: `agent:main:discord:group:${at}`,
      updatedAt: WORLD_START - 1000 - at,
    }));
    await world.add(...rows, { key: MAIN, updatedAt: WORLD_START - 100_000 });
    const first = await page(world, { kinds: ['main'] });
    assert.deepEqual([first.count, first.hasMore], [0, true]);
    const second = await page(world, { kinds: ['main'], cursor: first.nextCursor! });
    assert.deepEqual([keysOf(second), second.hasMore], [['main'], false]);
  });

  test('[SL4, SL14] a rare filter in a tree shows each row once, 5,000 rows a page and 200 a query', async (t) => {
    const world = createSessionWorld(t);
    const children = Array.from({ length: 7000 }, (_, at) => ({
      key: childKey(at),
      spawnedBy: MAIN,
      updatedAt: WORLD_START - 1000 - at,
      ...(at % 700 === 699 && { label: 'rare' }),
    }));
    await world.add({ key: MAIN }, ...children);
    const pages: { keys: string[]; examined: number; longest: number }[] = [];
    let cursor: string | undefined;
    do {
      const { store, scans } = watchReads(world.context.store);
      const args = { label: 'rare', ...(cursor && { cursor }) };
      const answer = await listSessions({ ...world.context, store }, world.caller(MAIN), args);
      assert.ok('sessions' in answer);
      const examined = scans.reduce((sum, rows) => sum + rows, 0);
      pages.push({ keys: keysOf(answer), examined, longest: Math.max(...scans) });
      cursor = answer.nextCursor;
    } while (cursor !== undefined);
    assert.deepEqual(
      pages.flatMap(({ keys }) => keys),
      children.filter((child) => 'label' in child).map(({ key }) => key),
    );
    assert.equal(pages.length, 2);
    for (const { examined, longest } of pages)
      assert.ok(examined <= 5000 && longest <= 200, `${examined} rows, ${longest} in one query`);
  });

  test('[SL13] a child lists what is below it for the cost of its page, whatever is under its root', async (t) => {
    const world = createSessionWorld(t);
    const siblings = Array.from({ length: 600 }, (_, at) => ({
      key: childKey(at + 10),
      spawnedBy: MAIN,
      updatedAt: WORLD_START - at,
    }));
    const old = { spawnedBy: CHILD, updatedAt: WORLD_START - 9000 };
    const grandchildren = [1, 2, 3].map((at) => ({ key: `${childKey(at)}-below`, ...old }));
    await world.add({ key: MAIN }, ...siblings, { key: CHILD, spawnedBy: MAIN }, ...grandchildren);
    const { store, scans } = watchReads(world.context.store);
    const answer = await listSessions({ ...world.context, store }, world.caller(CHILD), {});
    assert.ok('sessions' in answer);
    assert.deepEqual(
      keysOf(answer).toSorted(),
      [CHILD, ...grandchildren.map(({ key }) => key)].toSorted(),
    );
    assert.deepEqual(scans, [3]);
  });

  test('[SL3] a cursor that is none is an error', async (t) => {
    const world = createSessionWorld(t);
    await world.add({ key: MAIN });
    const answer = await listSessions(world.context, world.caller(MAIN), { cursor: 'x' });
    assert.ok('status' in answer && answer.status === 'error');
    assert.match(answer.error, /cursor/);
  });
});

describe('attached messages', () => {
  test('[SL5, BR-133] tool results are filtered before the message limit counts', async (t) => {
    const world = createSessionWorld(t);
    await world.add({ key: MAIN });
    const chat = ['1', '2', '3', '4', '5'].map(userText);
    await world.append(MAIN, [...chat, ...Array.from({ length: 10 }, () => toolResultText('r'))]);
    const list = await page(world, { messageLimit: 2 });
    assert.deepEqual(list.sessions[0]?.messages, [userText('4'), userText('5')]);
    assert.equal(list.messageLimitApplied, 2);
  });

  test('[SL5] without a message limit no row has messages', async (t) => {
    const world = createSessionWorld(t);
    await world.add({ key: MAIN });
    await world.append(MAIN, [userText('1')]);
    for (const args of [{}, { messageLimit: 0 }]) {
      const list = await page(world, args);
      assert.equal('messages' in list.sessions[0]!, false);
    }
  });

  test('[SL5] messages of one page stay within the byte cap together, and the page says so', async (t) => {
    const world = createSessionWorld(t, { tools: { sessions: { visibility: 'agent' } } });
    const keys = Array.from({ length: 10 }, (_, at) => `agent:main:discord:group:${at}`);
    await world.add({ key: MAIN }, ...keys.map((key) => ({ key })));
    for (const key of keys)
      await world.append(key, [assistantText('a'.repeat(20_000)), userText('end')]);
    const list = await page(world, { messageLimit: 5 });
    assert.equal(list.messagesTruncated, true);
    assert.ok(JSON.stringify(list.sessions.map((row) => row.messages)).length <= 81_920);
    for (const row of list.sessions.slice(1))
      assert.deepEqual(row.messages?.at(-1), userText('end'));
  });
});

test('[SL6] a row always has these fields, and others only when known', async (t) => {
  const world = createSessionWorld(t);
  await world.add({ key: MAIN, sessionId: 'sid-1' });
  const { sessions } = await page(world);
  assert.deepEqual(sessions, [
    {
      key: 'main',
      kind: 'main',
      channel: 'unknown',
      updatedAt: WORLD_START,
      sessionId: 'sid-1',
      model: 'scripted/scripted-1',
      contextTokens: 200_000,
      thinkingLevel: 'off',
      verboseLevel: 'off',
      systemSent: false,
      abortedLastRun: false,
      transcriptPath: '/state/agents/main/sessions/sid-1.jsonl',
      agentId: 'main',
      state: 'idle',
    },
  ]);
});

test('[SL6] labels, route, override and lineage are shown when they are known', async (t) => {
  const world = createSessionWorld(t);
  await world.add(
    { key: MAIN },
    {
      key: CHILD,
      spawnedBy: MAIN,
      label: 'worker',
      displayName: 'Worker',
      sendPolicy: 'deny',
      lastChannel: 'telegram',
      lastTo: '42',
      lastAccountId: 'a',
      thinkingLevel: 'high',
      verboseLevel: 'on',
      abortedLastRun: true,
    },
  );
  const row = (await page(world)).sessions[1];
  assert.deepEqual(
    [row?.label, row?.displayName, row?.sendPolicy, row?.lastChannel, row?.lastTo, row?.spawnedBy],
    ['worker', 'Worker', 'deny', 'telegram', '42', 'main'],
  );
  assert.deepEqual(row?.deliveryContext, { channel: 'telegram', to: '42', accountId: 'a' });
  assert.deepEqual(
    [row?.channel, row?.thinkingLevel, row?.verboseLevel, row?.abortedLastRun],
    ['telegram', 'high', 'on', true],
  );
});

test('[SL7, BR-164, BR-165] tokens in use are shown when known, the window is that of the model in effect', async (t) => {
  const models = [
    { id: 'small', contextWindow: 32_000 },
    { id: 'large', contextWindow: 204_800 },
  ];
  const world = createSessionWorld(t, {
    tools: { sessions: { visibility: 'agent' } },
    models: { providers: { p: { baseUrl: 'http://127.0.0.1:1/v1', models } } },
  });
  await world.add({ key: MAIN, model: 'p/large' }, { key: GROUP, totalTokens: 43_712 });
  const { sessions } = await page(world);
  assert.deepEqual(
    sessions.map((row) => [row.model, row.contextTokens, row.totalTokens]),
    [
      ['p/large', 204_800, undefined],
      ['p/small', 32_000, 43_712],
    ],
  );
  assert.equal('totalTokens' in sessions[0]!, false);
});

test('[SL8, BR-166] activeMinutes looks back from now', async (t) => {
  const world = createSessionWorld(t, { tools: { sessions: { visibility: 'agent' } } });
  const ago = (minutes: number): number => WORLD_START - minutes * 60_000;
  await world.add(
    { key: MAIN, updatedAt: ago(5) },
    { key: 'agent:main:discord:group:old', updatedAt: ago(61) },
    { key: GROUP, updatedAt: ago(0) },
  );
  assert.deepEqual(keysOf(await page(world, { activeMinutes: 60 })), [GROUP, 'main']);
});

test('[SL9, BR-201] a child under another agent is in the tree once, with its parent', async (t) => {
  const world = createSessionWorld(t, { agents: agentsMainAndCoder });
  await world.add(
    { key: MAIN },
    { key: CODER_CHILD, spawnedBy: MAIN },
    { key: 'agent:coder:main' },
    { key: GROUP },
  );
  const list = await page(world);
  assert.deepEqual(keysOf(list), ['main', CODER_CHILD]);
  assert.deepEqual([list.sessions[1]?.kind, list.sessions[1]?.spawnedBy], ['other', 'main']);
});

test('[SL9] grandchildren belong to the tree, a parent to its child does not', async (t) => {
  const world = createSessionWorld(t, { agents: agentsMainAndCoder });
  await world.add(
    { key: MAIN },
    { key: CODER_CHILD, spawnedBy: MAIN },
    { key: CHILD, spawnedBy: CODER_CHILD },
  );
  assert.deepEqual(keysOf(await page(world)), ['main', CODER_CHILD, CHILD]);
  assert.deepEqual(keysOf(await page(world, {}, CODER_CHILD)), [CODER_CHILD, CHILD]);
  assert.deepEqual(keysOf(await page(world, {}, CHILD)), [CHILD]);
});

describe('filters', () => {
  const sessions: NewSession[] = [
    { key: MAIN },
    { key: GROUP, displayName: 'Build Room', channel: 'discord' },
    { key: CHILD, spawnedBy: MAIN, label: 'worker' },
    { key: 'agent:main:subagent:00000000-0000-4000-8000-000000000009', spawnedBy: CHILD },
    { key: 'cron:j1', agentId: 'main' },
    { key: 'agent:coder:main' },
    { key: 'agent:main:discord:group:away', archivedAt: WORLD_START },
  ];
  const grandchild = sessions[3]!.key;
  const cases: [string, SessionsListArgs, string[]][] = [
    [
      'no kinds mean all',
      { kinds: [] },
      ['main', GROUP, CHILD, grandchild, 'cron:j1', 'agent:coder:main'],
    ],
    ['kinds', { kinds: ['group', 'cron'] }, [GROUP, 'cron:j1']],
    ['an agent, in any case', { agentId: 'CODER' }, ['agent:coder:main']],
    ['an exact label', { label: 'worker' }, [CHILD]],
    ['part of a label is none', { label: 'work' }, []],
    ['search in a name, in any case', { search: 'build r' }, [GROUP]],
    ['search in a key', { search: 'subagent' }, [CHILD, grandchild]],
    ['children of the caller', { spawnedBy: 'main' }, [CHILD]],
    ['children of a child', { spawnedBy: CHILD }, [grandchild]],
    ['archived', { archived: true }, ['agent:main:discord:group:away']],
    ['two at once', { kinds: ['other'], label: 'worker' }, [CHILD]],
    [
      'includeGlobal and includeUnknown change nothing',
      { kinds: ['main'], includeGlobal: true, includeUnknown: true },
      ['main', 'agent:coder:main'],
    ],
  ];
  for (const [what, args, keys] of cases) {
    test(`[SL10] the list narrows by ${what}`, async (t) => {
      const world = createSessionWorld(t, {
        tools: { sessions: { visibility: 'all' }, agentToAgent: { enabled: true } },
        agents: agentsMainAndCoder,
      });
      await world.add(
        ...sessions,
        { key: 'unknown', agentId: 'main' },
        { key: 'global', agentId: 'main' },
      );
      assert.deepEqual(keysOf(await page(world, args)), keys);
    });
  }

  test('[SL10] the list narrows by state, and shows it', async (t) => {
    const world = createSessionWorld(t, { tools: { sessions: { visibility: 'agent' } } });
    await world.add({ key: MAIN }, { key: GROUP }, { key: 'agent:main:telegram:group:q' });
    await world.context.store.write('lanes', async (tx) => {
      await tx.lanes.nextSeq(GROUP);
      await tx.lanes.addRun(GROUP, 'main', 1);
      const lane = await tx.lanes.claimNext({ runClass: 'main', owner: 'o' });
      const fence = { sessionKey: GROUP, owner: 'o', epoch: lane!.epoch };
      await tx.lanes.setCurrent(fence, 'r', 'waiting');
      await tx.lanes.nextSeq('agent:main:telegram:group:q');
      await tx.lanes.addRun('agent:main:telegram:group:q', 'main', 1);
    });
    const states = (await page(world)).sessions.map((row) => row.state);
    assert.deepEqual(states, ['idle', 'waiting', 'queued']);
    assert.deepEqual(keysOf(await page(world, { state: 'waiting' })), [GROUP]);
    assert.deepEqual(keysOf(await page(world, { state: 'idle' })), ['main']);
  });

  test('[SL10, AC1] children of a hidden session are refused like those of none', async (t) => {
    const world = createSessionWorld(t);
    await world.add({ key: MAIN }, { key: GROUP });
    const ask = (spawnedBy: string) =>
      listSessions(world.context, world.caller(MAIN), { spawnedBy });
    const hidden = await ask(GROUP);
    assert.ok('status' in hidden && hidden.status === 'forbidden');
    assert.deepEqual(hidden, await ask('agent:main:discord:group:none'));
  });
});

describe('global scope', () => {
  test('[SL11] the shared session is `main` to every agent, and old main rows are not shown', async (t) => {
    const world = createSessionWorld(t, {
      session: { scope: 'global' },
      tools: { sessions: { visibility: 'agent' } },
      agents: agentsMainAndCoder,
    });
    await world.add(
      { key: 'global', agentId: 'main' },
      { key: MAIN },
      { key: 'agent:coder:discord:group:c' },
    );
    const caller = world.caller('global', 'coder');
    const answer = await listSessions(world.context, caller, {});
    assert.ok('sessions' in answer);
    assert.deepEqual(keysOf(answer), ['main', 'agent:coder:discord:group:c']);
    const room = world.caller('agent:coder:discord:group:c');
    const fromRoom = await listSessions(world.context, room, {});
    assert.ok('sessions' in fromRoom);
    assert.deepEqual(keysOf(fromRoom), ['main', 'agent:coder:discord:group:c']);
  });

  test('[SL11] rows called global and unknown are never listed without that scope', async (t) => {
    const world = createSessionWorld(t, {
      tools: { sessions: { visibility: 'all' }, agentToAgent: { enabled: true } },
    });
    await world.add(
      { key: MAIN },
      { key: 'global', agentId: 'main' },
      { key: 'unknown', agentId: 'main' },
    );
    assert.deepEqual(keysOf(await page(world)), ['main']);
  });
});

test('[SL12, BR-209] a cron session belongs to the agent that its row names', async (t) => {
  const world = createSessionWorld(t, {
    tools: { sessions: { visibility: 'agent' } },
    agents: { list: [{ id: 'main' }, { id: 'ops' }] },
  });
  await world.add({ key: 'cron:j1', agentId: 'ops' }, { key: MAIN }, { key: 'agent:ops:main' });
  const cron = await page(world, { kinds: ['cron'] }, 'agent:ops:main');
  assert.deepEqual(
    cron.sessions.map((row) => [row.key, row.kind, row.channel]),
    [['cron:j1', 'cron', 'internal']],
  );
  assert.deepEqual(keysOf(await page(world, { kinds: ['cron'] })), []);
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  createSessionWorld,
  toolResultText,
  userText,
  WORLD_START,
} from '../../../test/helpers/session-world.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { ErrorCode } from '../../protocol/errors.ts';
import { watchReads } from '../../../test/helpers/watched-reads.ts';
import { listAllSessions, listConfiguredAgents, readStatus } from './operator-views.ts';
import { readChatHistory } from './operator-history.ts';
import { resolveCaller } from './resolve-caller.ts';

const MAIN = 'agent:main:main';
const CODER = 'agent:coder:main';
const agents = { list: [{ id: 'main', name: 'Main' }, { id: 'coder' }] };

const rejectsWith =
  (code: ErrorCode) =>
  (error: unknown): boolean =>
    error instanceof GatewayError && error.code === code;

test('[OP1] an operator sees every session, whatever the visibility, under canonical keys', async (t) => {
  const world = createSessionWorld(t, { agents, tools: { sessions: { visibility: 'self' } } });
  await world.add({ key: MAIN }, { key: CODER }, { key: 'unknown', agentId: 'main' });
  const list = await listAllSessions(world.context, {});
  assert.deepEqual([list.ts, list.count, list.hasMore], [WORLD_START, 2, false]);
  assert.deepEqual(
    list.sessions.map((row) => row['key']),
    [MAIN, CODER],
  );
});

test('[SL13, OP1] children of a session are listed from its tree alone', async (t) => {
  const world = createSessionWorld(t, { agents });
  const child = (at: number) => `${CODER.replace('main', 'subagent')}:${at}`;
  await world.add(
    ...Array.from({ length: 300 }, (_, at) => ({ key: `agent:main:discord:group:${at}` })),
    { key: MAIN },
    { key: child(1), spawnedBy: MAIN },
    { key: child(2), spawnedBy: MAIN },
    { key: child(3), spawnedBy: child(1) },
  );
  const { store, scans } = watchReads(world.context.store);
  const list = await listAllSessions({ ...world.context, store }, { spawnedBy: 'main' });
  assert.deepEqual(
    list.sessions.map((row) => row['key']),
    [child(1), child(2)],
  );
  assert.deepEqual(scans, [3]);
});

test('[OP1] the operator’s list has the same filters, limits and pages', async (t) => {
  const world = createSessionWorld(t, { agents });
  await world.add(
    { key: MAIN, label: 'l' },
    { key: CODER },
    { key: 'agent:coder:discord:group:g' },
  );
  await world.append(CODER, [userText('hi')]);
  const keys = async (query: object): Promise<unknown[]> =>
    (await listAllSessions(world.context, query)).sessions.map((row) => row['key']);
  assert.deepEqual(await keys({ agentId: 'Coder', kinds: ['main'] }), [CODER]);
  assert.deepEqual(await keys({ label: 'l' }), [MAIN]);
  const first = await listAllSessions(world.context, { limit: 2, messageLimit: 99 });
  assert.deepEqual(first.sessions[1]?.['messages'], [userText('hi')]);
  assert.deepEqual(await keys({ cursor: first.nextCursor }), ['agent:coder:discord:group:g']);
  await assert.rejects(
    listAllSessions(world.context, { kinds: ['slack'] }),
    rejectsWith('invalid_request'),
  );
  await assert.rejects(
    listAllSessions(world.context, { state: 'odd' }),
    rejectsWith('invalid_request'),
  );
  await assert.rejects(
    listAllSessions(world.context, { cursor: 'x' }),
    rejectsWith('invalid_request'),
  );
});

test('[OP2] chat.history is the whole of one session, tool results included', async (t) => {
  const world = createSessionWorld(t, { agents });
  await world.add({ key: MAIN, sessionId: 's1', thinkingLevel: 'low' });
  await world.append(MAIN, [userText('q'), toolResultText('r')]);
  for (const sessionKey of ['main', MAIN, 's1']) {
    const history = await readChatHistory(world.context, { sessionKey });
    assert.deepEqual(
      [history.sessionKey, history.sessionId, history.messages, history.thinkingLevel],
      [MAIN, 's1', [userText('q'), toolResultText('r')], 'low'],
    );
  }
  await assert.rejects(
    readChatHistory(world.context, { sessionKey: 'agent:main:discord:group:x' }),
    rejectsWith('not_found'),
  );
});

test('[OP2] chat.history of a reader with little room is bounded and says so', async (t) => {
  const world = createSessionWorld(t);
  await world.add({ key: MAIN });
  await world.append(
    MAIN,
    Array.from({ length: 20 }, () => userText('w'.repeat(300))),
  );
  const history = await readChatHistory(world.context, { sessionKey: 'main', maxChars: 2000 });
  assert.equal(history['truncated'], true);
  assert.ok(JSON.stringify(history.messages).length <= 2000);
});

test('[OP3] agents.list and status say what is configured and going on, without content', async (t) => {
  const world = createSessionWorld(t, { agents });
  await world.add({ key: MAIN });
  await world.append(MAIN, [userText('private words')]);
  assert.deepEqual(await listConfiguredAgents(world.context), {
    defaultId: 'main',
    mainKey: 'main',
    scope: 'per-sender',
    agents: [{ id: 'main', name: 'Main' }, { id: 'coder' }],
  });
  const status = await readStatus(world.context);
  assert.deepEqual(status['sessions'], {
    count: 1,
    recent: [{ key: MAIN, agentId: 'main', kind: 'main', updatedAt: WORLD_START, state: 'idle' }],
  });
  assert.doesNotMatch(JSON.stringify(status), /private/);
});

describe('who a door call acts as', () => {
  test('[OP4] a key, a sessionId or `main` names the session that acts', async (t) => {
    const world = createSessionWorld(t, { agents });
    await world.add({ key: 'agent:coder:discord:group:g', sessionId: 's1' });
    for (const [text, sessionKey, agentId] of [
      ['main', MAIN, 'main'],
      [CODER, CODER, 'coder'],
      ['s1', 'agent:coder:discord:group:g', 'coder'],
    ] as const) {
      const caller = await resolveCaller(world.context, text);
      assert.deepEqual(caller, { type: 'session', sessionKey, agentId });
    }
  });

  const refused: [string, ErrorCode][] = [
    ['agent:nobody:main', 'not_found'],
    ['agent:main:discord:group:x', 'not_found'],
    ['global', 'invalid_request'],
    ['current', 'invalid_request'],
    ['', 'invalid_request'],
    ['agent:main:discord:group:old', 'invalid_request'],
  ];
  for (const [text, code] of refused) {
    test(`[OP4] nobody acts as "${text}"`, async (t) => {
      const world = createSessionWorld(t);
      await world.add({ key: 'agent:main:discord:group:old', archivedAt: WORLD_START });
      await assert.rejects(resolveCaller(world.context, text), rejectsWith(code));
    });
  }
});

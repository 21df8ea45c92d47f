import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { createSessionWorld, WORLD_START } from '../../../test/helpers/session-world.ts';
import type { NewSession, SessionWorld } from '../../../test/helpers/session-world.ts';
import { toldOf } from '../../core/refusals.ts';
import type { AccessVerb } from '../../core/access.ts';
import { VISIBILITY_LEVELS } from '../../protocol/words.ts';
import type { VisibilityLevel } from '../../protocol/words.ts';
import { listSessions } from './list-sessions.ts';
import { readHistory } from './read-history.ts';
import { resolveTarget } from './resolve-target.ts';
import { ensureSession } from './session-rows.ts';
import type { TargetAddress, TargetResolution } from './resolve-target.ts';

const MAIN = 'agent:main:main';
const GROUP = 'agent:main:discord:group:G1';
const CHILD = 'agent:main:subagent:00000000-0000-4000-8000-000000000001';
const CODER_CHILD = 'agent:coder:subagent:00000000-0000-4000-8000-000000000002';
const agents = { list: [{ id: 'main' }, { id: 'coder' }] };

function resolve(
  world: SessionWorld,
  address: TargetAddress,
  options: { from?: string; verb?: AccessVerb } = {},
): Promise<TargetResolution> {
  const caller = world.caller(options.from ?? MAIN);
  const config = world.context.config();
  const verb = options.verb ?? 'send';
  return world.context.store.read((tx) => resolveTarget(tx, { config, caller, address, verb }));
}

describe('spellings', () => {
  const cases: [string, string][] = [
    ['main', MAIN],
    [' MAIN ', MAIN],
    ['current', GROUP],
    ['agent:MAIN:main', MAIN],
    ['Agent:main:Discord:Group:G1', GROUP],
    ['sid-g', GROUP],
    [CHILD.toUpperCase().replace('AGENT', 'agent'), CHILD],
    ['cron:job', 'cron:job'],
    ['agent:main:cron:job', 'cron:job'],
    ['agent:coder:main', 'agent:coder:main'],
  ];
  for (const [sessionKey, key] of cases) {
    test(`[KY1] "${sessionKey}" finds ${key}`, async (t) => {
      const world = createSessionWorld(t, {
        agents,
        tools: { sessions: { visibility: 'all' }, agentToAgent: { enabled: true } },
      });
      await world.add({ key: MAIN }, { key: GROUP, sessionId: 'sid-g' }, { key: CHILD });
      await world.add({ key: 'cron:job', agentId: 'main' });
      const found = await resolve(world, { sessionKey }, { from: GROUP });
      assert.ok(found.ok, JSON.stringify(found));
      assert.equal(found.key, key);
    });
  }

  const refused: [string, RegExp][] = [
    ['global', /unknown session "global"/],
    ['unknown', /unknown session "unknown"/],
    ['group:g1', /full key/],
    ['worker', /not a session key/],
    ['agent:ops:cron:job', /not found/],
    ['agent:nobody:main', /not found/],
    ['agent:main:discord:group:g1', /not found/],
  ];
  for (const [sessionKey, error] of refused) {
    test(`[KY2] "${sessionKey}" names no session`, async (t) => {
      const world = createSessionWorld(t, {
        tools: { sessions: { visibility: 'all' }, agentToAgent: { enabled: true } },
      });
      await world.add({ key: MAIN }, { key: GROUP }, { key: CHILD, label: 'worker' });
      await world.add({ key: 'cron:job', agentId: 'main' }, { key: 'global', agentId: 'main' });
      const found = await resolve(world, { sessionKey });
      assert.ok(!found.ok);
      assert.deepEqual([found.status, error.test(found.error)], ['error', true], found.error);
    });
  }

  test('[KY3] the main session of a configured agent is known without a row', async (t) => {
    const world = createSessionWorld(t, {
      agents,
      tools: { sessions: { visibility: 'all' }, agentToAgent: { enabled: true } },
    });
    for (const address of [{ agentId: 'CODER' }, { sessionKey: 'agent:coder:main' }]) {
      const found = await resolve(world, address);
      assert.ok(found.ok);
      assert.deepEqual(
        [found.key, found.agentId, found.session],
        ['agent:coder:main', 'coder', undefined],
      );
    }
    const nobody = await resolve(world, { agentId: 'nobody' });
    assert.ok(!nobody.ok && /agent "nobody" not found/.test(nobody.error));
  });

  test('[KY4] in global scope every direct spelling is the one shared session', async (t) => {
    const world = createSessionWorld(t, { agents, session: { scope: 'global' } });
    await world.add({ key: 'global', agentId: 'main' });
    for (const sessionKey of ['main', 'agent:coder:main', 'agent:main:main']) {
      const found = await resolve(world, { sessionKey }, { from: 'global' });
      assert.ok(found.ok && found.isSelf, sessionKey);
      assert.equal(found.shownKey, 'main');
    }
    const bare = await resolve(world, { sessionKey: 'global' }, { from: 'global' });
    assert.ok(!bare.ok && bare.status === 'error');
  });
});

test('[AC3, BR-032, BR-106] the caller is recognised in all its spellings', async (t) => {
  const world = createSessionWorld(t);
  await world.add({ key: MAIN, sessionId: 'sid-m', label: 'me' });
  const addresses = [
    { sessionKey: MAIN },
    { sessionKey: 'main' },
    { sessionKey: 'current' },
    { sessionKey: 'sid-m' },
    { label: 'me' },
    { agentId: 'main' },
  ];
  for (const address of addresses) {
    const found = await resolve(world, address);
    assert.ok(found.ok && found.isSelf, JSON.stringify(address));
  }
});

describe('labels', () => {
  const visible = { agents, tools: { sessions: { visibility: 'agent' as const } } };

  test('[KY5] a label finds the one visible session that has it', async (t) => {
    const world = createSessionWorld(t, visible);
    await world.add(
      { key: MAIN },
      { key: CHILD, label: 'worker' },
      { key: CODER_CHILD, label: 'worker' },
    );
    const found = await resolve(world, { label: ' worker ' });
    assert.ok(found.ok && found.key === CHILD);
  });

  test('[KY5] a label of several visible sessions is an error that names them', async (t) => {
    const world = createSessionWorld(t, visible);
    await world.add({ key: MAIN, label: 'x' }, { key: CHILD, label: 'x' });
    const found = await resolve(world, { label: 'x' });
    assert.ok(!found.ok && found.status === 'error');
    assert.match(found.error, /ambiguous: 2 .*: main, agent:main:subagent:/);
  });

  test('[KY5] an agent id narrows a label', async (t) => {
    const world = createSessionWorld(t, {
      agents,
      tools: { sessions: { visibility: 'all' }, agentToAgent: { enabled: true } },
    });
    await world.add({ key: MAIN }, { key: CHILD, label: 'w' }, { key: CODER_CHILD, label: 'w' });
    const found = await resolve(world, { label: 'w', agentId: 'Coder' });
    assert.ok(found.ok && found.key === CODER_CHILD);
  });

  test('[KY5, AC1] a label of a hidden session reads like one of none', async (t) => {
    const world = createSessionWorld(t);
    await world.add({ key: MAIN }, { key: GROUP, label: 'secret' });
    const hidden = await resolve(world, { label: 'secret' });
    assert.ok(!hidden.ok && hidden.status === 'forbidden');
    assert.deepEqual(hidden, await resolve(world, { label: 'none' }));
  });
});

describe('what takes no messages', () => {
  const visible = { tools: { sessions: { visibility: 'agent' as const } } };

  test('[AC4] an archived session is an error to send to, by key and by sessionId', async (t) => {
    const world = createSessionWorld(t, visible);
    await world.add({ key: MAIN }, { key: GROUP, sessionId: 's1', archivedAt: WORLD_START });
    for (const sessionKey of [GROUP, 's1']) {
      const found = await resolve(world, { sessionKey });
      assert.ok(!found.ok && found.status === 'error' && /archived/.test(found.error));
    }
    assert.ok((await resolve(world, { sessionKey: GROUP }, { verb: 'history' })).ok);
  });

  test('[AC4] a sessionId from before a reset is an error that names the current one', async (t) => {
    const world = createSessionWorld(t, visible);
    await world.add({ key: MAIN }, { key: GROUP, sessionId: 's1' });
    await world.context.store.write('reset', (tx) =>
      tx.sessions.update(GROUP, { sessionId: 's2' }),
    );
    const found = await resolve(world, { sessionKey: 's1' });
    assert.ok(!found.ok && found.status === 'error' && /s2/.test(found.error));
    assert.ok((await resolve(world, { sessionKey: 's2' })).ok);
  });

  test('[AC4, AC1] a hidden archived session reads like a missing one', async (t) => {
    const world = createSessionWorld(t);
    await world.add({ key: MAIN }, { key: GROUP, archivedAt: WORLD_START });
    const hidden = await resolve(world, { sessionKey: GROUP });
    const missing = await resolve(world, { sessionKey: 'agent:main:discord:group:none' });
    assert.ok(!hidden.ok && !missing.ok);
    // the rule is for the operator alone; the tools leave it out
    assert.deepEqual(toldOf(hidden), toldOf(missing));
  });
});

describe('a deleted session', () => {
  const visible = { tools: { sessions: { visibility: 'agent' as const } } };
  const closed = { archivedAt: WORLD_START, deletedAt: WORLD_START };

  test('[AR1, BR-055] reads like one that was never there, by key, sessionId and label', async (t) => {
    const world = createSessionWorld(t, visible);
    const sessionId = randomUUID();
    await world.add({ key: MAIN }, { key: GROUP, sessionId, label: 'gone', ...closed });
    for (const verb of ['history', 'send', 'stop', 'wait', 'search'] as const) {
      for (const [there, missing] of [
        [GROUP, 'agent:main:discord:group:none'],
        [sessionId, randomUUID()],
      ] as const) {
        const found = await resolve(world, { sessionKey: there }, { verb });
        const other = await resolve(world, { sessionKey: missing }, { verb });
        assert.ok(!found.ok && !other.ok);
        assert.equal(found.status, other.status);
        assert.equal(found.error.replace(there, missing), other.error);
      }
    }
    const labelled = await resolve(world, { label: 'gone' });
    const none = await resolve(world, { label: 'none' });
    assert.ok(!labelled.ok && !none.ok);
    assert.equal(labelled.error.replace('gone', 'none'), none.error);
  });

  test('[AR1] so does a deleted transcript of a session that goes on', async (t) => {
    const world = createSessionWorld(t, visible);
    await world.add({ key: MAIN }, { key: GROUP, sessionId: 's1', ...closed });
    await world.context.store.write('again', (tx) =>
      ensureSession(tx, world.context.config(), { key: GROUP, agentId: 'main' }),
    );
    assert.ok((await resolve(world, { sessionKey: GROUP }, { verb: 'history' })).ok);
    assert.ok(!(await resolve(world, { sessionKey: 's1' }, { verb: 'history' })).ok);
  });
});

describe('the table of B9', () => {
  const sessions: NewSession[] = [
    { key: MAIN },
    { key: CHILD, spawnedBy: MAIN },
    { key: GROUP },
    { key: CODER_CHILD, spawnedBy: MAIN },
    { key: 'agent:coder:main' },
  ];
  /** own, own child, same agent, child under another agent, other agent */
  const rows: [VisibilityLevel, 'off' | 'on' | 'one', string][] = [
    ['self', 'on', 'Y----'],
    ['tree', 'on', 'YY-Y-'],
    ['agent', 'on', 'YYY--'],
    ['all', 'off', 'YYYY-'],
    ['all', 'one', 'YYYY-'],
    ['all', 'on', 'YYYYY'],
  ];
  const policies = {
    off: { enabled: false },
    on: { enabled: true },
    one: { enabled: true, allow: ['main'] },
  };
  for (const [visibility, policy, expected] of rows) {
    test(`[AC5] ${visibility} with agentToAgent ${policy}: list, history and send agree on ${expected}`, async (t) => {
      const tools = { sessions: { visibility }, agentToAgent: policies[policy] };
      const world = createSessionWorld(t, { agents, tools });
      await world.add(...sessions);
      const caller = world.caller(MAIN);
      const list = await listSessions(world.context, caller, {});
      assert.ok('sessions' in list);
      const listed = list.sessions.map((row) => (row.key === 'main' ? MAIN : row.key));
      const shown = { list: '', history: '', send: '' };
      for (const { key } of sessions) {
        shown.list += listed.includes(key) ? 'Y' : '-';
        const history = await readHistory(world.context, caller, { sessionKey: key });
        shown.history += 'messages' in history ? 'Y' : '-';
        shown.send += (await resolve(world, { sessionKey: key })).ok ? 'Y' : '-';
      }
      assert.deepEqual(shown, { list: expected, history: expected, send: expected });
      assert.equal(listed.length, expected.replaceAll('-', '').length);
      assert.deepEqual(list.visibility, { mode: visibility, restricted: visibility !== 'all' });
    });
  }

  test('[AC5] a filter by agent or parent never shows more', async (t) => {
    for (const visibility of VISIBILITY_LEVELS) {
      const world = createSessionWorld(t, { agents, tools: { sessions: { visibility } } });
      await world.add(...sessions);
      const all = await listSessions(world.context, world.caller(MAIN), {});
      assert.ok('sessions' in all);
      const keys = all.sessions.map((row) => row.key);
      for (const args of [
        { agentId: 'coder' },
        { agentId: 'main' },
        { spawnedBy: 'main' },
        { spawnedBy: CODER_CHILD },
      ]) {
        const some = await listSessions(world.context, world.caller(MAIN), args);
        if (!('sessions' in some)) continue;
        for (const row of some.sessions)
          assert.ok(keys.includes(row.key), `${visibility} ${row.key}`);
      }
    }
  });
});

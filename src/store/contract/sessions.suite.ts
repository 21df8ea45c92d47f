import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { SessionCursor, SessionRow, SessionScope } from '../session-repository.ts';
import type { Store } from '../store.ts';
import { child, type OpenHarness, run, session, spawn, withStore } from './samples.suite.ts';

export function sessionsContract(open: OpenHarness): void {
  describe('sessions', () => {
    it('gives back every column of a session as it was written', () =>
      withStore(open, async ({ store }) => {
        const row = session('agent:main:discord:group:G1', {
          kind: 'group',
          chatType: 'group',
          channel: 'discord',
          label: 'ops',
          displayName: 'Ops ✨',
          model: 'openai/gpt',
          thinkingLevel: 'high',
          verboseLevel: 'on',
          reasoningLevel: 'on',
          elevatedLevel: 'off',
          lastModel: 'openai/gpt',
          inputTokens: 2 ** 40,
          outputTokens: 7,
          totalTokens: 9,
          systemSent: true,
          abortedLastRun: true,
          sendPolicy: 'deny',
          lastChannel: 'discord',
          lastTo: 'G1',
          lastAccountId: 'a',
          lastThreadId: 't',
          archivedAt: 5,
        });
        await store.write('add', (tx) => tx.sessions.insert(row));
        assert.deepEqual(await store.read((tx) => tx.sessions.get(row.key)), row);
        assert.equal(await store.read((tx) => tx.sessions.get('agent:main:nope')), undefined);
        assert.equal(await store.read((tx) => tx.sessions.count()), 0);
        await store.write('open', (tx) => tx.sessions.update(row.key, { archivedAt: null }));
        assert.equal(await store.read((tx) => tx.sessions.count()), 1);
      }));

    it('adds the window of a session with it', () =>
      withStore(open, async ({ store }) => {
        await store.write('add', (tx) => tx.sessions.insert(session('k', { sessionId: 's1' })));
        assert.deepEqual(await store.read((tx) => tx.windows.get('s1')), {
          sessionId: 's1',
          sessionKey: 'k',
          startedAt: 1000,
          endedAt: null,
          nextSeq: 1,
          lastEntryId: null,
          childrenSpawned: 0,
          deletedAt: null,
          purgeAt: null,
        });
      }));

    it('refuses a key and a sessionId that are taken, and adds nothing then', () =>
      withStore(open, async ({ store }) => {
        await store.write('add', (tx) => tx.sessions.insert(session('k', { sessionId: 's1' })));
        await assert.rejects(
          store.write('again', (tx) => tx.sessions.insert(session('k', { sessionId: 's2' }))),
          { code: 'invalid_request', message: 'session k exists already' },
        );
        await assert.rejects(
          store.write('same window', (tx) =>
            tx.sessions.insert(session('other', { sessionId: 's1' })),
          ),
          { code: 'invalid_request' },
        );
        assert.equal(await store.read((tx) => tx.sessions.count()), 1);
        assert.equal(await store.read((tx) => tx.windows.get('s2')), undefined);
      }));

    it('[ST11] finds a session by its current and by an older sessionId', () =>
      withStore(open, async ({ store, clock }) => {
        await store.write('add', (tx) => tx.sessions.insert(session('k', { sessionId: 's1' })));
        clock.at = 7000;
        await store.write('reset', (tx) => tx.sessions.update('k', { sessionId: 's2' }));
        await store.read(async (tx) => {
          assert.equal((await tx.sessions.getBySessionId('s2'))?.sessionId, 's2');
          assert.equal((await tx.sessions.getBySessionId('s1'))?.sessionId, 's2');
          assert.equal(await tx.sessions.getBySessionId('s3'), undefined);
          assert.equal((await tx.windows.get('s1'))?.endedAt, 7000);
          assert.equal((await tx.windows.get('s2'))?.startedAt, 7000);
          assert.equal((await tx.windows.get('s2'))?.endedAt, null);
        });
        await store.write('same', (tx) => tx.sessions.update('k', { sessionId: 's2' }));
        assert.equal((await store.read((tx) => tx.windows.get('s2')))?.endedAt, null);
      }));

    it('[BR-184] changes the named columns only', () =>
      withStore(open, async ({ store }) => {
        await store.write('add', (tx) => tx.sessions.insert(session('k')));
        await Promise.all([
          store.write('deny', (tx) => tx.sessions.update('k', { sendPolicy: 'deny' })),
          store.write('usage', (tx) => tx.sessions.update('k', { inputTokens: 5, updatedAt: 9 })),
          store.write('nothing', (tx) => tx.sessions.update('k', {})),
          store.write('flag', (tx) => tx.sessions.update('k', { systemSent: true })),
        ]);
        const expected = { sendPolicy: 'deny', inputTokens: 5, updatedAt: 9, systemSent: true };
        assert.deepEqual(await store.read((tx) => tx.sessions.get('k')), {
          ...session('k'),
          ...expected,
        });
        await store.write('clear', (tx) => tx.sessions.update('k', { sendPolicy: null }));
        assert.equal((await store.read((tx) => tx.sessions.get('k')))?.sendPolicy, null);
      }));

    it('[BR-056] refuses to change a session that does not exist, and any lineage', () =>
      withStore(open, async ({ store }) => {
        await store.write('add', (tx) => tx.sessions.insert(session('k')));
        await assert.rejects(
          store.write('missing', (tx) => tx.sessions.update('nope', { label: 'x' })),
          { code: 'not_found' },
        );
        const forged: object = { rootKey: 'other' };
        await assert.rejects(
          store.write('forge', (tx) => tx.sessions.update('k', forged)),
          /sessions.rootKey is write-once/,
        );
        assert.equal(await store.read((tx) => tx.sessions.count()), 1);
      }));

    it('knows the descendants of a session at any depth, and that no one is its own', () =>
      withStore(open, async ({ store }) => {
        const root = session('root');
        const a = child('a', root);
        const b = child('b', a);
        const c = child('c', b);
        await store.write('add', async (tx) => {
          for (const row of [root, a, b, c, session('other')]) await tx.sessions.insert(row);
        });
        const table: [string, string, boolean][] = [
          ['root', 'a', true],
          ['root', 'c', true],
          ['a', 'c', true],
          ['b', 'c', true],
          ['c', 'b', false],
          ['a', 'root', false],
          ['a', 'a', false],
          ['other', 'a', false],
          ['nope', 'a', false],
        ];
        await store.read(async (tx) => {
          for (const [ancestor, key, expected] of table) {
            assert.equal(
              await tx.sessions.isDescendant(ancestor, key),
              expected,
              `${ancestor} ${key}`,
            );
          }
        });
      }));

    it('knows which descendants hold or await a run', () =>
      withStore(open, async ({ store }) => {
        const root = session('root');
        const a = child('a', root);
        const b = child('b', a);
        await store.write('add', async (tx) => {
          for (const row of [root, a, b, child('c', root)]) await tx.sessions.insert(row);
          for (const key of ['root', 'b', 'c']) await tx.lanes.addRun(key, 'main', 1);
          await tx.lanes.removeQueued('c');
        });
        const busyBelow = (key: string) => store.read((tx) => tx.sessions.busyBelow(key));
        assert.deepEqual(await busyBelow('root'), ['b']);
        assert.deepEqual(await busyBelow('b'), []);
      }));

    it('counts the direct children whose first run has not ended', () =>
      withStore(open, async ({ store }) => {
        await store.write('add', async (tx) => {
          for (const [key, state] of [
            ['c1', 'running'],
            ['c2', 'queued'],
            ['c3', 'waiting'],
            ['c4', 'ok'],
          ] as const) {
            await tx.spawns.insert(spawn(key, { requesterKey: 'p', runId: `r-${key}` }));
            await tx.runs.insert(run(`r-${key}`, key, { state }));
          }
          await tx.spawns.insert(spawn('c5', { requesterKey: 'c1', runId: 'r-c5' }));
          await tx.runs.insert(run('r-c5', 'c5', { state: 'running' }));
        });
        assert.equal(await store.read((tx) => tx.sessions.countActiveChildren('p')), 3);
        await store.write('end', (tx) => tx.runs.update('r-c1', { state: 'error', endedAt: 5 }));
        assert.equal(await store.read((tx) => tx.sessions.countActiveChildren('p')), 2);
        assert.equal(await store.read((tx) => tx.sessions.countActiveChildren('nope')), 0);
      }));

    it('finds sessions by their exact label, newest first, without archived ones', () =>
      withStore(open, async ({ store }) => {
        await store.write('add', async (tx) => {
          await tx.sessions.insert(session('a', { label: 'ops', updatedAt: 1 }));
          await tx.sessions.insert(session('b', { label: 'ops', updatedAt: 3, agentId: 'scout' }));
          await tx.sessions.insert(session('c', { label: 'ops', updatedAt: 2, archivedAt: 9 }));
          await tx.sessions.insert(session('d', { label: 'OPS', updatedAt: 4 }));
        });
        const find = (query: { label: string; agentId?: string; limit: number }) =>
          store.read(async (tx) => (await tx.sessions.findByLabel(query)).map(({ key }) => key));
        assert.deepEqual(await find({ label: 'ops', limit: 9 }), ['b', 'a']);
        assert.deepEqual(await find({ label: 'ops', limit: 1 }), ['b']);
        assert.deepEqual(await find({ label: 'ops', agentId: 'main', limit: 9 }), ['a']);
        assert.deepEqual(await find({ label: 'none', limit: 9 }), []);
      }));

    it('finds what is below a session by its exact label, at any depth and without archived ones', () =>
      withStore(open, async ({ store }) => {
        await store.write('add', async (tx) => {
          await tx.sessions.insert(session('p', { label: 'ops' }));
          await tx.sessions.insert(session('c', { label: 'ops', spawnedBy: 'p', updatedAt: 1 }));
          await tx.sessions.insert(session('d', { label: 'ops', spawnedBy: 'c', updatedAt: 2 }));
          await tx.sessions.insert(session('e', { label: 'OPS', spawnedBy: 'c' }));
          await tx.sessions.insert(session('f', { label: 'ops', spawnedBy: 'p', archivedAt: 9 }));
        });
        const find = (ancestorKey: string, limit = 9) =>
          store.read((tx) => tx.sessions.labelledBelow({ label: 'ops', ancestorKey, limit }));
        assert.deepEqual(await find('p'), ['d', 'c']);
        assert.deepEqual(await find('p', 1), ['d']);
        assert.deepEqual(await find('c'), ['d']);
        assert.deepEqual(await find('d'), []);
      }));

    it('finds the sessions whose last route is a chat, and none that is deleted or by webchat', () =>
      withStore(open, async ({ store }) => {
        const routed = { lastChannel: 'discord', lastTo: '1' };
        await store.write('add', async (tx) => {
          await tx.sessions.insert(session('a', { ...routed, updatedAt: 5 }));
          await tx.sessions.insert(session('a2', { ...routed, updatedAt: 6 }));
          await tx.sessions.insert(session('gone', { ...routed, updatedAt: 7, deletedAt: 8 }));
          await tx.sessions.insert(session('b', { ...routed, lastThreadId: '7' }));
          await tx.sessions.insert(session('b2', { ...routed, lastAccountId: 'x' }));
          await tx.sessions.insert(session('c', { ...routed, lastTo: '2' }));
          await tx.sessions.insert(session('d', { lastChannel: 'webchat', lastTo: '1' }));
        });
        const find = (channel: string, to: string, more: object = {}) =>
          store.read(async (tx) => {
            const chat = { channel, to, accountId: null, threadId: null, limit: 9, ...more };
            return (await tx.sessions.findByChat(chat)).map(({ key }) => key).toSorted();
          });
        assert.deepEqual(await find('discord', '1'), ['a', 'a2']);
        assert.equal((await find('discord', '1', { limit: 1 })).length, 1);
        assert.deepEqual(await find('discord', '1', { threadId: '7' }), ['b']);
        assert.deepEqual(await find('discord', '1', { accountId: 'x' }), ['b2']);
        assert.deepEqual(await find('discord', '2'), ['c']);
        assert.deepEqual(await find('webchat', '1'), []);
      }));

    it('scans what is below a session, at any depth and without it', () =>
      withStore(open, async ({ store }) => {
        const root = session('root', { updatedAt: 1 });
        const a = child('a', root, { updatedAt: 2 });
        const b = child('b', root, { updatedAt: 3 });
        const a1 = child('a1', a, { updatedAt: 4 });
        const a2 = child('a2', a, { updatedAt: 5, archivedAt: 6 });
        await store.write('add', async (tx) => {
          for (const row of [root, a, b, a1, a2, session('other')]) await tx.sessions.insert(row);
        });
        const below = (ancestorKey: string, archived = false) =>
          pageThrough(store, { scope: { type: 'below', ancestorKey }, archived, limit: 2 });
        assert.deepEqual(await below('root'), ['a1', 'b', 'a']);
        assert.deepEqual(await below('a'), ['a1']);
        assert.deepEqual(await below('b'), []);
        assert.deepEqual(await below('a', true), ['a2']);
        assert.deepEqual(await below('root', true), ['a2']);
      }));

    it('[SL13] a session that moves, is archived or comes back moves below all its ancestors', () =>
      withStore(open, async ({ store }) => {
        const root = session('root', { updatedAt: 1 });
        const a = child('a', root, { updatedAt: 2 });
        const a1 = child('a1', a, { updatedAt: 3 });
        const below = (ancestorKey: string, archived = false) =>
          pageThrough(store, { scope: { type: 'below', ancestorKey }, archived, limit: 9 });
        const change = (key: string, patch: Partial<SessionRow>) =>
          store.write('change', (tx) => tx.sessions.update(key, patch));
        await store.write('add', async (tx) => {
          for (const row of [root, a, a1]) await tx.sessions.insert(row);
        });
        await change('a', { updatedAt: 9 });
        assert.deepEqual(await below('root'), ['a', 'a1']);
        await change('a1', { updatedAt: 10, label: 'newest' });
        assert.deepEqual(await below('root'), ['a1', 'a']);
        await change('a1', { archivedAt: 11 });
        assert.deepEqual([await below('root'), await below('root', true)], [['a'], ['a1']]);
        assert.deepEqual([await below('a'), await below('a', true)], [[], ['a1']]);
        await change('a1', { deletedAt: 12 });
        assert.deepEqual([await below('a'), await below('a', true)], [[], []]);
        await change('a1', { archivedAt: null, deletedAt: null });
        assert.deepEqual(await below('root'), ['a1', 'a']);
        await assert.rejects(change('none', { updatedAt: 1 }), { code: 'not_found' });
      }));

    it('[ST12, AR1] pages through every scope without a gap and without a double', async () => {
      await fc.assert(
        fc.asyncProperty(forest, fc.integer({ min: 1, max: 7 }), async (rows, limit) => {
          await withStore(open, async ({ store }) => {
            await store.write('add', async (tx) => {
              for (const row of rows) await tx.sessions.insert(row);
            });
            for (const scope of scopesOf(rows)) {
              for (const archived of [false, true]) {
                const keys = await pageThrough(store, { scope, archived, limit });
                assert.deepEqual(keys, expectedKeys(rows, scope, archived));
              }
            }
          });
        }),
        { numRuns: 15 },
      );
    });
  });
}

/** Sessions with few different times; each may be a child of an earlier one. */
const forest = fc
  .array(
    fc.record({
      parent: fc.nat(20),
      isRoot: fc.boolean(),
      agentId: fc.constantFrom('main', 'scout'),
      updatedAt: fc.integer({ min: 1, max: 4 }),
      closed: fc.constantFrom(
        {},
        {},
        { archivedAt: 9 },
        // what is deleted is archived too, and in neither list
        { archivedAt: 9, deletedAt: 9 },
      ),
    }),
    { maxLength: 20 },
  )
  .map((seeds) => {
    const rows: SessionRow[] = [];
    for (const { parent, isRoot, closed, ...rest } of seeds) {
      const given = { ...rest, ...closed };
      const key = `k${(rows.length * 7) % 23}`;
      const above = rows[parent];
      rows.push(isRoot || above === undefined ? session(key, given) : child(key, above, given));
    }
    return rows;
  });

function scopesOf(rows: SessionRow[]): SessionScope[] {
  const below = rows.map(({ key }) => ({ type: 'below' as const, ancestorKey: key }));
  return [{ type: 'everything' }, { type: 'agent', agentId: 'scout' }, ...below];
}

function expectedKeys(rows: SessionRow[], scope: SessionScope, archived: boolean): string[] {
  const byKey = new Map(rows.map((row) => [row.key, row]));
  const isBelow = (row: SessionRow | undefined, key: string): boolean =>
    row !== undefined && (row.spawnedBy === key || isBelow(byKey.get(row.spawnedBy ?? ''), key));
  return rows
    .filter((row) => row.deletedAt === null && (row.archivedAt !== null) === archived)
    .filter((row) => scope.type !== 'agent' || row.agentId === scope.agentId)
    .filter((row) => scope.type !== 'below' || isBelow(row, scope.ancestorKey))
    .sort((a, b) => b.updatedAt - a.updatedAt || (a.key < b.key ? 1 : -1))
    .map(({ key }) => key);
}

async function pageThrough(
  store: Store,
  query: { scope: SessionScope; archived: boolean; limit: number },
): Promise<string[]> {
  const keys: string[] = [];
  let cursor: SessionCursor | undefined;
  for (;;) {
    const page = await store.read((tx) => tx.sessions.scan({ ...query, cursor }));
    assert.ok(page.length <= query.limit);
    keys.push(...page.map(({ key }) => key));
    const last = page.at(-1);
    if (last === undefined) return keys;
    cursor = { updatedAt: last.updatedAt, key: last.key };
  }
}

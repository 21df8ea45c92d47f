import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AuditScope } from '../audit-repository.ts';
import {
  auditLine,
  delivery,
  exchange,
  type OpenHarness,
  spawn,
  withStore,
} from './samples.suite.ts';

export function followUpsContract(open: OpenHarness): void {
  describe('exchanges', () => {
    it('[ST8] are due after the run that sent, and open between two in either direction', () =>
      withStore(open, async ({ store }) => {
        const pair = { requesterKey: 'a', targetKey: 'b' };
        const row = exchange('x1', { ...pair, state: 'due', requesterRunId: 'r1' });
        await store.write('add', async (tx) => {
          await tx.exchanges.insert(
            exchange('x2', { ...pair, createdAt: 5, requesterRunId: 'r1' }),
          );
          await tx.exchanges.insert(row);
          const back = { requesterKey: 'b', targetKey: 'a', createdAt: 3 };
          await tx.exchanges.insert(exchange('x3', { ...back, state: 'announce' }));
          await tx.exchanges.insert(exchange('x4', { ...pair, state: 'done' }));
          await tx.exchanges.insert(exchange('x5', { requesterKey: 'a', targetKey: 'c' }));
        });
        await store.read(async (tx) => {
          assert.deepEqual(await tx.exchanges.get('x1'), row);
          assert.deepEqual(await tx.exchanges.dueAfterRun('r1'), [row]);
          const open = await tx.exchanges.openOfPair('b', 'a');
          assert.deepEqual(
            open.map(({ exchangeId }) => exchangeId),
            ['x3', 'x2', 'x1'],
          );
          const openOf = async (key: string) =>
            (await tx.exchanges.openOf(key)).map(({ exchangeId }) => exchangeId).toSorted();
          assert.deepEqual(await openOf('a'), ['x1', 'x2', 'x3', 'x5']);
          assert.deepEqual(await openOf('c'), ['x5']);
        });
        const ended = { state: 'done', endReason: 'superseded', endedAt: 8 } as const;
        await store.write('end', (tx) => tx.exchanges.update('x1', ended));
        assert.deepEqual(await store.read((tx) => tx.exchanges.get('x1')), { ...row, ...ended });
      }));
  });

  describe('pages of exchanges', () => {
    it('[EX21] show those of either side, newest first, each once', () =>
      withStore(open, async ({ store }) => {
        await store.write('add', async (tx) => {
          for (const [at, id] of ['x1', 'x2', 'x3', 'x4', 'x5'].entries()) {
            const sides = at % 2 === 0 ? { requesterKey: 'a' } : { targetKey: 'a' };
            const createdAt = 10 + Math.floor(at / 2);
            await tx.exchanges.insert(exchange(id, { ...sides, createdAt, state: 'done' }));
          }
          await tx.exchanges.insert(exchange('other', { createdAt: 11 }));
        });
        const pageAfter = (cursor: { createdAt: number; exchangeId: string } | undefined) =>
          store.read(async (tx) =>
            (await tx.exchanges.pageOf({ sessionKey: 'a', cursor, limit: 2 })).map(
              ({ exchangeId }) => exchangeId,
            ),
          );
        assert.deepEqual(await pageAfter(undefined), ['x5', 'x4']);
        assert.deepEqual(await pageAfter({ createdAt: 11, exchangeId: 'x4' }), ['x3', 'x2']);
        assert.deepEqual(await pageAfter({ createdAt: 10, exchangeId: 'x2' }), ['x1']);
        assert.deepEqual(await pageAfter({ createdAt: 10, exchangeId: 'x1' }), []);
      }));
  });

  describe('spawns', () => {
    it('[ST9] stay with their requester until they are settled', () =>
      withStore(open, async ({ store }) => {
        await store.write('add', async (tx) => {
          await tx.spawns.insert(spawn('c2', { requesterKey: 'p', createdAt: 2 }));
          await tx.spawns.insert(spawn('c1', { requesterKey: 'p', createdAt: 1 }));
          await tx.spawns.insert(spawn('c3', { requesterKey: 'q' }));
        });
        const unsettled = async () =>
          (await store.read((tx) => tx.spawns.unsettledOf('p'))).map(({ childKey }) => childKey);
        assert.deepEqual(await unsettled(), ['c1', 'c2']);
        await store.write('settle', async (tx) => {
          await tx.spawns.update('c1', { state: 'settled', settledAt: 9 });
          await tx.spawns.update('c2', { state: 'announcing' });
        });
        assert.deepEqual(await unsettled(), ['c2']);
        const has = (key: string) => store.read((tx) => tx.spawns.hasUnsettled(key));
        assert.deepEqual([await has('p'), await has('q'), await has('r')], [true, true, false]);
        await store.write('settle', (tx) => tx.spawns.update('c3', { state: 'settled' }));
        assert.equal(await has('q'), false);
        assert.deepEqual(
          await store.read((tx) => tx.spawns.get('c1')),
          spawn('c1', { requesterKey: 'p', createdAt: 1, state: 'settled', settledAt: 9 }),
        );
      }));
  });

  describe('deliveries', () => {
    it('[ST10] book an effect once, whoever books it again', () =>
      withStore(open, async ({ store }) => {
        const row = delivery('d1', { idempotencyKey: 'announce of c1' });
        assert.equal(await store.write('add', (tx) => tx.deliveries.insert(row)), true);
        const again = { ...row, deliveryId: 'd2', text: 'other' };
        assert.equal(await store.write('add', (tx) => tx.deliveries.insert(again)), false);
        assert.deepEqual(await store.read((tx) => tx.deliveries.get('d1')), row);
        assert.equal(await store.read((tx) => tx.deliveries.get('d2')), undefined);
      }));

    it('do not take an id that another effect has', () =>
      withStore(open, async ({ store }) => {
        await store.write('add', (tx) => tx.deliveries.insert(delivery('d1')));
        await assert.rejects(
          store.write('add', (tx) =>
            tx.deliveries.insert(delivery('d1', { idempotencyKey: 'another' })),
          ),
        );
      }));

    it('are listed by state, oldest first, and by session, newest first', () =>
      withStore(open, async ({ store }) => {
        await store.write('add', async (tx) => {
          await tx.deliveries.insert(delivery('d3', { createdAt: 3 }));
          await tx.deliveries.insert(delivery('d1', { createdAt: 1 }));
          await tx.deliveries.insert(delivery('d2', { createdAt: 2 }));
          await tx.deliveries.insert(delivery('x', { sessionKey: 'other', createdAt: 4 }));
          const patch = { state: 'sent', attempts: 1, updatedAt: 9, reason: null } as const;
          await tx.deliveries.update('d2', patch);
        });
        await store.read(async (tx) => {
          const queued = await tx.deliveries.byState('queued', 2);
          assert.deepEqual(
            queued.map(({ deliveryId }) => deliveryId),
            ['d1', 'd3'],
          );
          const mine = await tx.deliveries.ofSession('agent:main:main', 2);
          assert.deepEqual(
            mine.map(({ deliveryId }) => deliveryId),
            ['d3', 'd2'],
          );
          assert.equal(mine[1]?.state, 'sent');
        });
      }));
  });

  describe('deliveries of a route', () => {
    const ids = (rows: { deliveryId: string }[]) => rows.map(({ deliveryId }) => deliveryId);

    it('are open in their order, and the oldest open one is the head', () =>
      withStore(open, async ({ store }) => {
        await store.write('add', async (tx) => {
          const parts = { routeKey: 'r', textKey: 't' };
          await tx.deliveries.insert(delivery('d10', { ...parts, routeSeq: 10, part: 1 }));
          await tx.deliveries.insert(delivery('d9', { ...parts, routeSeq: 9, state: 'sending' }));
          await tx.deliveries.insert(
            delivery('d8', { routeKey: 'r', routeSeq: 8, state: 'failed' }),
          );
          await tx.deliveries.insert(
            delivery('d11', { routeKey: 'r', routeSeq: 11, state: 'sent' }),
          );
          await tx.deliveries.insert(delivery('d1', { routeKey: 'other', routeSeq: 1 }));
        });
        const head = () => store.read((tx) => tx.deliveries.headOfRoute('r'));
        assert.equal((await head())?.deliveryId, 'd9');
        await store.write('book', (tx) => tx.deliveries.update('d9', { state: 'sent', sentAt: 5 }));
        assert.equal((await head())?.deliveryId, 'd10');
        await store.write('book', (tx) => tx.deliveries.update('d10', { state: 'unknown' }));
        assert.equal(await head(), undefined);
        await store.read(async (tx) => {
          assert.equal((await tx.deliveries.lastOfRoute('r'))?.deliveryId, 'd11');
          assert.equal(await tx.deliveries.lastOfRoute('nowhere'), undefined);
          assert.deepEqual(ids(await tx.deliveries.ofText('t')), ['d9', 'd10']);
          const newest = { routeKey: 'r', beforeSeq: undefined, limit: 2 };
          assert.deepEqual(ids(await tx.deliveries.pageOfRoute(newest)), ['d11', 'd10']);
          const rest = await tx.deliveries.pageOfRoute({ ...newest, beforeSeq: 10 });
          assert.deepEqual(ids(rest), ['d9', 'd8']);
        });
      }));

    it('[ST12] are paged by state and by session, newest first, ties by id', () =>
      withStore(open, async ({ store }) => {
        await store.write('add', async (tx) => {
          await tx.deliveries.insert(delivery('a', { state: 'failed' }));
          await tx.deliveries.insert(delivery('b', { state: 'failed' }));
          await tx.deliveries.insert(delivery('c', { state: 'failed', createdAt: 2000 }));
          await tx.deliveries.insert(delivery('d', { attempts: 2, sessionKey: 'k' }));
          await tx.deliveries.insert(delivery('e', { sessionKey: 'k', createdAt: 900 }));
        });
        const failed = (cursor: { createdAt: number; deliveryId: string } | undefined) =>
          store.read(async (tx) =>
            ids(await tx.deliveries.pageOfState({ state: 'failed', cursor, limit: 2 })),
          );
        assert.deepEqual(await failed(undefined), ['c', 'b']);
        assert.deepEqual(await failed({ createdAt: 1000, deliveryId: 'b' }), ['a']);
        await store.read(async (tx) => {
          const first = { cursor: undefined, limit: 9 };
          const retrying = await tx.deliveries.pageOfState({ state: 'retrying', ...first });
          assert.deepEqual(ids(retrying), ['d']);
          const mine = await tx.deliveries.pageOfSession({ sessionKey: 'k', ...first });
          assert.deepEqual(ids(mine), ['d', 'e']);
        });
      }));
  });

  describe('audit', () => {
    it('[AU1] is read newest first, of all, of a session, a subject, an action and an actor, without a gap', () =>
      withStore(open, async ({ store }) => {
        const lines = [
          auditLine('l1', { at: 1 }),
          auditLine('l2', { at: 2, sessionKey: 'k', subjectId: 'd2' }),
          auditLine('l3', { at: 2, subjectId: 'd2', detailJson: '{"from":"failed"}' }),
          auditLine('l4', { at: 3, sessionKey: 'k', action: 'sessions.reset', actor: 'device' }),
        ];
        await store.write('add', async (tx) => {
          for (const line of lines) await tx.audit.insert(line);
        });
        const page = (query: {
          of?: AuditScope;
          cursor?: { at: number; id: string };
          limit?: number;
        }) =>
          store.read(async (tx) =>
            (await tx.audit.page({ cursor: undefined, limit: 9, ...query })).map(({ id }) => id),
          );
        assert.deepEqual(await page({ limit: 2 }), ['l4', 'l3']);
        assert.deepEqual(await page({ cursor: { at: 2, id: 'l3' } }), ['l2', 'l1']);
        assert.deepEqual(await page({ of: { sessionKey: 'k' } }), ['l4', 'l2']);
        const subject = { subjectKind: 'delivery', subjectId: 'd2' };
        assert.deepEqual(await page({ of: subject }), ['l3', 'l2']);
        assert.deepEqual(await page({ of: { action: 'sessions.reset' } }), ['l4']);
        assert.deepEqual(await page({ of: { actor: 'operator' } }), ['l3', 'l2', 'l1']);
        const [newest] = await store.read((tx) =>
          tx.audit.page({ of: subject, cursor: undefined, limit: 1 }),
        );
        assert.deepEqual(newest, lines[2]);
      }));

    it('[AU1] says nothing of a change that was rolled back', () =>
      withStore(open, async ({ store }) => {
        await assert.rejects(
          store.write('fails', async (tx) => {
            await tx.audit.insert(auditLine('l1'));
            throw new Error('no');
          }),
        );
        const all = await store.read((tx) => tx.audit.page({ cursor: undefined, limit: 9 }));
        assert.deepEqual(all, []);
      }));
  });

  describe('jobs', () => {
    const job = { jobKey: 'archive:c1', kind: 'archive', payloadJson: '{"n":1}', runAt: 50 };

    it('are due at their time, oldest first', () =>
      withStore(open, async ({ store }) => {
        assert.equal(await store.read((tx) => tx.jobs.nextRunAt()), undefined);
        await store.write('add', async (tx) => {
          await tx.jobs.add(job);
          await tx.jobs.add({ ...job, jobKey: 'b', runAt: 20 });
          await tx.jobs.add({ ...job, jobKey: 'c', runAt: 20 });
        });
        const due = (now: number, limit: number) =>
          store.read(async (tx) => (await tx.jobs.due(now, limit)).map(({ jobKey }) => jobKey));
        assert.deepEqual(await due(19, 9), []);
        assert.deepEqual(await due(20, 9), ['b', 'c']);
        assert.deepEqual(await due(50, 2), ['b', 'c']);
        assert.deepEqual(await due(50, 9), ['b', 'c', 'archive:c1']);
        assert.equal(await store.read((tx) => tx.jobs.nextRunAt()), 20);
      }));

    it('are moved by a second add with their key, and start afresh', () =>
      withStore(open, async ({ store }) => {
        await store.write('add', (tx) => tx.jobs.add(job));
        await store.write('fail', (tx) =>
          tx.jobs.retry(job.jobKey, { error: 'no network', runAt: 60 }),
        );
        const only = () => store.read(async (tx) => (await tx.jobs.due(999, 9))[0]);
        const failed = await only();
        assert.deepEqual(
          [failed?.attempts, failed?.lastError, failed?.runAt],
          [1, 'no network', 60],
        );
        await store.write('move', (tx) =>
          tx.jobs.add({ ...job, payloadJson: '{"n":2}', runAt: 70 }),
        );
        const moved = await only();
        assert.deepEqual(moved, {
          ...job,
          jobId: failed?.jobId,
          payloadJson: '{"n":2}',
          runAt: 70,
          attempts: 0,
          lastError: null,
        });
      }));

    it('are removed in the unit that has their effect; a missing one is no error', () =>
      withStore(open, async ({ store }) => {
        await store.write('add', (tx) => tx.jobs.add(job));
        await assert.rejects(
          store.write('effect fails', async (tx) => {
            await tx.jobs.remove(job.jobKey);
            throw new Error('no');
          }),
        );
        assert.equal(await store.read((tx) => tx.jobs.nextRunAt()), 50);
        await store.write('effect', (tx) => tx.jobs.remove(job.jobKey));
        await store.write('again', (tx) => tx.jobs.remove(job.jobKey));
        await store.write('late', (tx) => tx.jobs.retry(job.jobKey, { error: 'x', runAt: 1 }));
        assert.equal(await store.read((tx) => tx.jobs.nextRunAt()), undefined);
      }));
  });
}

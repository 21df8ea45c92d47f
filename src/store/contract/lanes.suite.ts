import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RUN_CLASSES, type RunClass } from '../../protocol/words.ts';
import type { LaneFence } from '../lane-repository.ts';
import type { Store } from '../store.ts';
import { child, type OpenHarness, run, session, withStore } from './samples.suite.ts';

export function lanesContract(open: OpenHarness): void {
  describe('lanes', () => {
    it('hands out the seqs of a lane from 1', () =>
      withStore(open, async ({ store }) => {
        const seqs = await store.write('seqs', async (tx) => [
          await tx.lanes.nextSeq('k'),
          await tx.lanes.nextSeq('k'),
          await tx.lanes.nextSeq('other'),
        ]);
        assert.deepEqual(seqs, [1, 2, 1]);
        const lane = await store.read((tx) => tx.lanes.get('k'));
        assert.deepEqual(lane, {
          sessionKey: 'k',
          owner: null,
          epoch: 0,
          nextSeq: 3,
          pending: 0,
          headClass: null,
          currentRunId: null,
          state: 'idle',
          readyAt: 0,
          rootKey: 'k',
          turnAt: 0,
          quietUntil: 0,
        });
      }));

    it('makes an empty lane ready with its first run and only counts the next', () =>
      withStore(open, async ({ store }) => {
        await accept(store, 'k', { runId: 'r1', runClass: 'main', readyAt: 5 });
        await accept(store, 'k', { runId: 'r2', runClass: 'nested', readyAt: 6 });
        const lane = await store.read((tx) => tx.lanes.get('k'));
        assert.equal(lane?.pending, 2);
        assert.equal(lane?.headClass, 'main');
        assert.equal(lane?.readyAt, 5);
        assert.equal(lane?.state, 'queued');
      }));

    it('takes one free lane by its name, whatever waits in it, and leaves it without an owner', () =>
      withStore(open, async ({ store }) => {
        await accept(store, 'k', { runId: 'r1', runClass: 'inbox', readyAt: 99 });
        const take = (owner: string, sessionKey = 'k') =>
          store.write('take', (tx) => tx.lanes.take({ sessionKey, owner }));
        assert.equal(await take('a', 'none'), undefined);
        const taken = await take('a');
        assert.ok(taken);
        assert.deepEqual([taken.owner, taken.epoch, taken.headClass], ['a', 1, 'inbox']);
        assert.equal(await take('b'), undefined, 'it has an owner');
        const fence = fenceOf(taken);
        await store.write('start', async (tx) => {
          await tx.runs.update('r1', { state: 'running' });
          await tx.lanes.setCurrent(fence, 'r1', 'running');
          await tx.lanes.leave(fence);
        });
        const left = await store.read((tx) => tx.lanes.get('k'));
        assert.deepEqual([left?.owner, left?.currentRunId, left?.state], [null, 'r1', 'running']);
        assert.equal(await store.write('recover', (tx) => tx.lanes.freeOrphans('b')), 0);
        assert.equal((await take('b'))?.epoch, 2);
        await assert.rejects(
          store.write('leave', (tx) => tx.lanes.leave(fence)),
          { code: 'fenced' },
        );
      }));

    it('never claims, nor waits for, a lane of a class that nobody plays', () =>
      withStore(open, async ({ store }) => {
        await accept(store, 'inbox', { runId: 'r1', runClass: 'inbox' });
        await accept(store, 'later', { runId: 'r2', runClass: 'inbox', readyAt: 50 });
        for (const runClass of RUN_CLASSES) {
          const found = await store.write('claim', (tx) =>
            tx.lanes.claimNext({ runClass, owner: 'boot' }),
          );
          assert.equal(found, undefined);
          assert.equal(await store.read((tx) => tx.lanes.nextReadyAt(runClass, 1)), undefined);
        }
      }));

    it('claims the lane that has waited longest, of the asked class, once', () =>
      withStore(open, async ({ store }) => {
        await accept(store, 'late', { runId: 'r1', readyAt: 30 });
        await accept(store, 'early', { runId: 'r2', readyAt: 10 });
        await accept(store, 'nested', { runId: 'r3', readyAt: 1, runClass: 'nested' });
        const claim = async (runClass: RunClass) => {
          const lane = await store.write('claim', (tx) =>
            tx.lanes.claimNext({ runClass, owner: 'boot' }),
          );
          return lane?.sessionKey;
        };
        assert.equal(await claim('main'), 'early');
        assert.equal(await claim('main'), 'late');
        assert.equal(await claim('main'), undefined);
        assert.equal(await claim('cron'), undefined);
        assert.equal(await claim('nested'), 'nested');
      }));

    it('gives an owner its lane at a higher epoch each time', () =>
      withStore(open, async ({ store }) => {
        await accept(store, 'k', { runId: 'r1' });
        const first = await claimAndStart(store, 'boot1');
        assert.equal(first.epoch, 1);
        await store.write('orphans', (tx) => tx.lanes.freeOrphans('boot2'));
        const second = await claimAndStart(store, 'boot2');
        assert.equal(second.epoch, 2);
      }));

    it('runs a lane in order, one owner at a time, and leaves it idle', () =>
      withStore(open, async ({ store }) => {
        await accept(store, 'k', { runId: 'r1', runClass: 'main', readyAt: 5 });
        await accept(store, 'k', { runId: 'r2', runClass: 'nested', readyAt: 6 });
        const fence = await claimAndStart(store, 'boot');
        assert.equal(
          await store.write('again', (tx) =>
            tx.lanes.claimNext({ runClass: 'nested', owner: 'boot' }),
          ),
          undefined,
        );
        assert.equal((await store.read((tx) => tx.lanes.get('k')))?.state, 'running');
        await end(store, fence, { runId: 'r1', at: 8 });
        const between = await store.read((tx) => tx.lanes.get('k'));
        assert.deepEqual(
          { ...between, nextSeq: 0, epoch: 0 },
          {
            sessionKey: 'k',
            owner: null,
            epoch: 0,
            nextSeq: 0,
            pending: 1,
            headClass: 'nested',
            currentRunId: null,
            state: 'queued',
            readyAt: 8,
            rootKey: 'k',
            turnAt: 8,
            quietUntil: 6,
          },
        );
        const next = await claimAndStart(store, 'boot', 'nested');
        await end(store, next, { runId: 'r2', at: 9 });
        const lane = await store.read((tx) => tx.lanes.get('k'));
        assert.equal(lane?.pending, 0);
        assert.equal(lane?.state, 'idle');
        assert.equal(lane?.headClass, null);
        assert.equal(lane?.owner, null);
      }));

    it('counts a run that is added while another one runs, without touching the head', () =>
      withStore(open, async ({ store }) => {
        await accept(store, 'k', { runId: 'r1', runClass: 'main' });
        await claimAndStart(store, 'boot');
        await accept(store, 'k', { runId: 'r2', runClass: 'subagent', readyAt: 50 });
        const lane = await store.read((tx) => tx.lanes.get('k'));
        assert.equal(lane?.pending, 2);
        assert.equal(lane?.headClass, 'main');
        assert.equal(lane?.state, 'running');
      }));

    it('[QU15] lets roots take turns, however many lanes one of them has ready', () =>
      withStore(open, async ({ store }) => {
        await family(store, 'a', 4);
        await family(store, 'b', 2);
        await accept(store, 'c', { runId: 'c', readyAt: 900 });
        assert.deepEqual(await claimAll(store), ['a', 'b', 'c', 'a/1', 'b/1', 'a/2', 'a/3']);
      }));

    it('[QU15] serves a root that has come later next, and lets a new lane of a served root wait', () =>
      withStore(open, async ({ store }) => {
        await family(store, 'a', 3);
        assert.equal(await claim(store), 'a');
        await accept(store, 'late', { runId: 'late', readyAt: 999 });
        assert.equal(await claim(store), 'late');
        await accept(store, 'a', { runId: 'more', readyAt: 999 });
        assert.deepEqual(await claimAll(store), ['a/1', 'a/2']);
      }));

    it('leaves a lane alone that is not ready yet, and tells when it will be', () =>
      withStore(open, async ({ store, clock }) => {
        const next = () => store.read((tx) => tx.lanes.nextReadyAt('main', clock.at));
        assert.equal(await next(), undefined);
        await accept(store, 'k', { runId: 'r1', readyAt: 1700 });
        await accept(store, 'k2', { runId: 'r2', readyAt: 1400 });
        assert.equal(await claim(store), undefined);
        assert.equal(await next(), 1400);
        clock.at = 1400;
        assert.equal(await claim(store), 'k2');
        assert.equal(await next(), 1700);
        await accept(store, 'k', { runId: 'r3', readyAt: 1900 });
        assert.equal(await next(), 1900, 'one more message, one more wait');
        await accept(store, 'k', { runId: 'r4', readyAt: 1400 });
        assert.equal(await claim(store), 'k', 'a run that does not wait ends the wait');
      }));

    it('puts a run that stands ahead of others at the head of a lane that nobody has', () =>
      withStore(open, async ({ store }) => {
        await accept(store, 'k', { runId: 'r1', runClass: 'nested' });
        await store.write('ahead', async (tx) => {
          await tx.runs.insert(run('r2', 'k', { seq: -2, runClass: 'main' }));
          await tx.lanes.addRun('k', 'main', 1);
        });
        assert.equal((await store.read((tx) => tx.lanes.get('k')))?.headClass, 'main');
        const queued = await store.read((tx) => tx.runs.queued('k', 9));
        assert.deepEqual(
          queued.map(({ runId }) => runId),
          ['r2', 'r1'],
        );
      }));

    it('[ST3] claims a lane with an interrupted run first, from the pool of that run', () =>
      withStore(open, async ({ store }) => {
        await accept(store, 'old', { runId: 'r0', readyAt: 1 });
        await accept(store, 'k', { runId: 'r1', runClass: 'main', readyAt: 90 });
        await accept(store, 'k', { runId: 'r2', runClass: 'nested', readyAt: 90 });
        await store.write('start both', async (tx) => {
          for (const runId of ['r0', 'r1']) {
            const lane = await tx.lanes.claimNext({ runClass: 'main', owner: 'dead' });
            assert.ok(lane);
            await tx.lanes.setCurrent(fenceOf(lane), runId, 'running');
            await tx.runs.update(runId, { state: 'running' });
          }
        });
        await store.write('wait', async (tx) => {
          const lane = await tx.lanes.get('k');
          assert.ok(lane);
          await tx.lanes.setState(fenceOf(lane), 'waiting');
        });
        await accept(store, 'new', { runId: 'r3', readyAt: 0 });
        assert.equal(await store.write('free', (tx) => tx.lanes.freeOrphans('boot')), 2);
        assert.equal(await store.write('free', (tx) => tx.lanes.freeOrphans('boot')), 0);
        const order: (string | null | undefined)[] = [];
        for (let claims = 0; claims < 3; claims += 1) {
          const lane = await store.write('claim', (tx) =>
            tx.lanes.claimNext({ runClass: 'main', owner: 'boot' }),
          );
          order.push(lane?.currentRunId);
          if (lane?.sessionKey === 'k') assert.equal(lane.state, 'waiting');
        }
        assert.deepEqual(order, ['r0', 'r1', null]);
      }));

    it('leaves the lanes of the present owner when it frees those of dead ones', () =>
      withStore(open, async ({ store }) => {
        await accept(store, 'k1', { runId: 'r1' });
        await claimAndStart(store, 'dead');
        await accept(store, 'k2', { runId: 'r2' });
        const mine = await claimAndStart(store, 'boot');
        assert.equal(await store.write('free', (tx) => tx.lanes.freeOrphans('boot')), 1);
        assert.equal((await store.write('lock', (tx) => tx.lanes.lock(mine))).owner, 'boot');
        assert.equal((await store.read((tx) => tx.lanes.get('k1')))?.owner, null);
      }));

    it('frees a lane that died between its claim and its first run', () =>
      withStore(open, async ({ store }) => {
        await accept(store, 'k', { runId: 'r1' });
        await store.write('claim', (tx) => tx.lanes.claimNext({ runClass: 'main', owner: 'dead' }));
        assert.equal(await store.write('free', (tx) => tx.lanes.freeOrphans('boot')), 1);
        const fence = await claimAndStart(store, 'boot');
        assert.equal(fence.epoch, 2);
      }));

    it('lets nobody but the present owner write: every fenced call throws', () =>
      withStore(open, async ({ store }) => {
        await accept(store, 'k', { runId: 'r1' });
        const stale = await claimAndStart(store, 'boot1');
        assert.equal((await store.write('lock', (tx) => tx.lanes.lock(stale))).currentRunId, 'r1');
        await store.write('orphans', (tx) => tx.lanes.freeOrphans('boot2'));
        const fresh = await claimAndStart(store, 'boot2');
        const wrong: LaneFence[] = [
          stale,
          { ...fresh, epoch: fresh.epoch - 1 },
          { ...fresh, owner: 'boot1' },
          { ...fresh, sessionKey: 'nope' },
        ];
        for (const fence of wrong) {
          const fenced = { code: 'fenced' };
          await assert.rejects(
            store.write('lock', (tx) => tx.lanes.lock(fence)),
            fenced,
          );
          await assert.rejects(
            store.write('current', (tx) => tx.lanes.setCurrent(fence, 'r9', 'running')),
            fenced,
          );
          await assert.rejects(
            store.write('state', (tx) => tx.lanes.setState(fence, 'waiting')),
            fenced,
          );
          await assert.rejects(
            store.write('release', (tx) => tx.lanes.release(fence, 1)),
            fenced,
          );
        }
        const lane = await store.read((tx) => tx.lanes.get('k'));
        assert.equal(lane?.owner, 'boot2');
        assert.equal(lane?.currentRunId, 'r1');
        assert.equal(lane?.pending, 1);
      }));

    it('takes a queued run that ended by itself off its lane', () =>
      withStore(open, async ({ store }) => {
        await accept(store, 'k', { runId: 'r1', runClass: 'main' });
        await accept(store, 'k', { runId: 'r2', runClass: 'nested' });
        const abort = (runId: string) =>
          store.write('abort', async (tx) => {
            await tx.runs.update(runId, { state: 'aborted', endedAt: 9 });
            await tx.lanes.removeQueued('k');
            return tx.lanes.get('k');
          });
        const one = await abort('r1');
        assert.deepEqual([one?.pending, one?.headClass, one?.state], [1, 'nested', 'queued']);
        const none = await abort('r2');
        assert.deepEqual([none?.pending, none?.headClass, none?.state], [0, null, 'idle']);
        assert.equal((await abort('r2'))?.pending, 0);
        await accept(store, 'k', { runId: 'r3', runClass: 'main', readyAt: 77 });
        const again = await store.read((tx) => tx.lanes.get('k'));
        assert.deepEqual([again?.pending, again?.headClass, again?.readyAt], [1, 'main', 77]);
      }));

    it('keeps the class and state of a claimed lane when a queued run behind it ends', () =>
      withStore(open, async ({ store }) => {
        await accept(store, 'k', { runId: 'r1', runClass: 'main' });
        await accept(store, 'k', { runId: 'r2', runClass: 'nested' });
        await claimAndStart(store, 'boot');
        await store.write('merge', async (tx) => {
          await tx.runs.update('r2', { state: 'ok', mergedInto: 'r1' });
          await tx.lanes.removeQueued('k');
        });
        const lane = await store.read((tx) => tx.lanes.get('k'));
        assert.deepEqual([lane?.pending, lane?.headClass, lane?.state], [1, 'main', 'running']);
      }));

    it('tells the state of many lanes; one that does not exist is idle', () =>
      withStore(open, async ({ store }) => {
        const keys = Array.from({ length: 300 }, (_, at) => `k${at}`);
        await accept(store, 'k7', { runId: 'r7' });
        await accept(store, 'k299', { runId: 'r299' });
        const states = await store.read((tx) => tx.lanes.states([...keys, 'k7']));
        assert.equal(states.size, 300);
        const busy = [...states].filter(([, state]) => state !== 'idle');
        assert.deepEqual(busy, [
          ['k7', 'queued'],
          ['k299', 'queued'],
        ]);
        assert.equal((await store.read((tx) => tx.lanes.states([]))).size, 0);
      }));
  });
}

/** A session with a lane and children with lanes, all ready, the family after the one before. */
async function family(store: Store, root: string, size: number): Promise<void> {
  const keys = Array.from({ length: size }, (_, at) => (at === 0 ? root : `${root}/${at}`));
  await store.write('family', async (tx) => {
    await tx.sessions.insert(session(root));
    for (const key of keys.slice(1)) await tx.sessions.insert(child(key, session(root)));
  });
  const readyAt = root.charCodeAt(0);
  for (const key of keys) await accept(store, key, { runId: `run of ${key}`, readyAt });
}

async function claim(store: Store): Promise<string | undefined> {
  const lane = await store.write('claim', (tx) =>
    tx.lanes.claimNext({ runClass: 'main', owner: 'boot' }),
  );
  return lane?.sessionKey;
}

async function claimAll(store: Store): Promise<string[]> {
  const order: string[] = [];
  for (let key = await claim(store); key !== undefined; key = await claim(store)) order.push(key);
  return order;
}

function accept(
  store: Store,
  sessionKey: string,
  given: { runId: string; runClass?: RunClass; readyAt?: number },
): Promise<void> {
  const { runId, runClass = 'main', readyAt = 1 } = given;
  return store.write('accept', async (tx) => {
    const seq = await tx.lanes.nextSeq(sessionKey);
    await tx.lanes.addRun(sessionKey, runClass, readyAt);
    await tx.runs.insert(run(runId, sessionKey, { seq, runClass }));
  });
}

/** Claims the next lane of the class and goes on with its run, as the executor does. */
function claimAndStart(
  store: Store,
  owner: string,
  runClass: RunClass = 'main',
): Promise<LaneFence> {
  return store.write('claim', async (tx) => {
    const lane = await tx.lanes.claimNext({ runClass, owner });
    assert.ok(lane);
    if (lane.currentRunId === null) {
      const next = await tx.runs.nextQueued(lane.sessionKey);
      assert.ok(next);
      assert.equal(next.runClass, runClass);
      await tx.runs.update(next.runId, { state: 'running' });
      await tx.lanes.setCurrent(fenceOf(lane), next.runId, 'running');
    }
    return fenceOf(lane);
  });
}

function end(store: Store, fence: LaneFence, ended: { runId: string; at: number }): Promise<void> {
  return store.write('end', async (tx) => {
    await tx.lanes.lock(fence);
    await tx.runs.update(ended.runId, { state: 'ok', endedAt: ended.at });
    await tx.lanes.release(fence, ended.at);
  });
}

function fenceOf(lane: { sessionKey: string; owner: string | null; epoch: number }): LaneFence {
  assert.ok(lane.owner);
  return { sessionKey: lane.sessionKey, owner: lane.owner, epoch: lane.epoch };
}

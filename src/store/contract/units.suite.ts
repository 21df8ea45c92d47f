import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Store, StoreSignal } from '../store.ts';
import { input, type OpenHarness, run, session, withStore } from './samples.suite.ts';

export function unitsContract(open: OpenHarness): void {
  describe('units of work', () => {
    it('resolve with their value after the commit', () =>
      withStore(open, async ({ store }) => {
        const value = await store.write('add', async (tx) => {
          await tx.sessions.insert(session('k'));
          return 42;
        });
        assert.equal(value, 42);
        assert.equal(await store.read((tx) => tx.sessions.count()), 1);
      }));

    it('leave nothing behind when they fail', () =>
      withStore(open, async ({ store }) => {
        const failure = new Error('no');
        await assert.rejects(
          store.write('fail', async (tx) => {
            await tx.sessions.insert(session('k'));
            await tx.inputs.insert(input('i', 'k'));
            throw failure;
          }),
          failure,
        );
        await store.read(async (tx) => {
          assert.equal(await tx.sessions.count(), 0);
          assert.equal(await tx.windows.get('window of k'), undefined);
          assert.equal(await tx.inputs.get('i'), undefined);
        });
      }));

    it('that wait together fail alone: the others are committed and answered once', () =>
      withStore(open, async ({ store }) => {
        const answers = await Promise.allSettled(
          Array.from({ length: 20 }, (_, at) =>
            store.write(`unit ${at}`, async (tx) => {
              await tx.inputs.insert(input(`i${at}`, 'k', { seq: at }));
              if (at % 7 === 3) throw new Error(`no ${at}`);
              return at;
            }),
          ),
        );
        const failed = answers.flatMap(({ status }, at) => (status === 'rejected' ? [at] : []));
        assert.deepEqual(failed, [3, 10, 17]);
        const kept = await store.read((tx) => tx.inputs.pending('k', 99));
        assert.deepEqual(
          kept.map(({ seq }) => seq),
          Array.from({ length: 20 }, (_, at) => at).filter((at) => at % 7 !== 3),
        );
      }));

    it('see what earlier units wrote, and their own writes', () =>
      withStore(open, async ({ store }) => {
        const counts = await Promise.all(
          ['a', 'b', 'c'].map((key) =>
            store.write('add', async (tx) => {
              await tx.sessions.insert(session(key));
              return tx.sessions.count();
            }),
          ),
        );
        assert.deepEqual(counts, [1, 2, 3]);
      }));

    it('have one time each, the time they started at', () =>
      withStore(open, async ({ store, clock }) => {
        clock.at = 5000;
        const [first, second] = await store.write('now', async (tx) => {
          const before = tx.now;
          clock.at = 6000;
          await tx.sessions.count();
          return [before, tx.now];
        });
        assert.deepEqual([first, second], [5000, 5000]);
        assert.equal(await store.write('now', async (tx) => tx.now), 6000);
      }));

    it('cannot be written through once they have ended', () =>
      withStore(open, async ({ store }) => {
        const tx = await store.write('leak', async (inner) => inner);
        await assert.rejects(
          async () => tx.sessions.insert(session('k')),
          /after its unit had ended/,
        );
        assert.equal(await store.read((reader) => reader.sessions.count()), 0);
      }));

    it('[ST4] accept a message once, however many callers ask at once', () =>
      withStore(open, async ({ store }) => {
        const accepted = await Promise.all(
          Array.from({ length: 20 }, (_, at) => acceptOnce(store, `run ${at}`)),
        );
        assert.deepEqual([...new Set(accepted)], [accepted[0]]);
        await store.read(async (tx) => {
          assert.equal((await tx.lanes.get('k'))?.pending, 1);
          assert.deepEqual(await tx.runs.countByState(), { queued: 1 });
        });
      }));

    it('[BR-158] lose no change when 200 of them change one session at once', () =>
      withStore(open, async ({ store }) => {
        await store.write('add', (tx) => tx.sessions.insert(session('k')));
        await Promise.all(
          Array.from({ length: 200 }, () =>
            store.write('count', async (tx) => {
              const row = await tx.sessions.get('k');
              await tx.sessions.update('k', { inputTokens: (row?.inputTokens ?? 0) + 1 });
            }),
          ),
        );
        assert.equal((await store.read((tx) => tx.sessions.get('k')))?.inputTokens, 200);
      }));

    it('keep text that no database could store as it is', () =>
      withStore(open, async ({ store }) => {
        await store.write('add', (tx) =>
          tx.inputs.insert(input('i', 'k', { text: 'a\0b\ud800c 😀' })),
        );
        assert.equal((await store.read((tx) => tx.inputs.get('i')))?.text, 'a\uFFFDb\uFFFDc 😀');
      }));
  });

  describe('reads', () => {
    it('do not see what is not committed', () =>
      withStore(open, async ({ store }) => {
        const during = await store.write('add', async (tx) => {
          await tx.sessions.insert(session('k'));
          return {
            own: await tx.sessions.count(),
            other: await store.read((reader) => reader.sessions.count()),
          };
        });
        assert.deepEqual(during, { own: 1, other: 0 });
        assert.equal(await store.read((tx) => tx.sessions.count()), 1);
      }));

    it('see one snapshot from their first to their last call', () =>
      withStore(open, async ({ store }) => {
        const counts = await store.read(async (tx) => {
          const before = await tx.sessions.count();
          await store.write('add', (writer) => writer.sessions.insert(session('k')));
          return [before, await tx.sessions.count()];
        });
        assert.deepEqual(counts, [0, 0]);
        assert.equal(await store.read((tx) => tx.sessions.count()), 1);
      }));

    it('fail alone', () =>
      withStore(open, async ({ store }) => {
        const results = await Promise.allSettled([
          store.read((tx) => tx.sessions.count()),
          store.read(async () => {
            throw new Error('no');
          }),
          store.read((tx) => tx.sessions.count()),
        ]);
        assert.deepEqual(
          results.map(({ status }) => status),
          ['fulfilled', 'rejected', 'fulfilled'],
        );
      }));
  });

  describe('signals', () => {
    it('are sent after the commit, each once per commit', () =>
      withStore(open, async ({ store }) => {
        const seen: { signal: StoreSignal; stored: Promise<number> }[] = [];
        const stop = store.onSignal((signal) => {
          seen.push({ signal, stored: store.read((tx) => tx.sessions.count()) });
        });
        await store.write('add', async (tx) => {
          tx.signal({ type: 'session', sessionKey: 'k' });
          tx.signal({ type: 'lane', sessionKey: 'k' });
          await tx.sessions.insert(session('k'));
          tx.signal({ type: 'session', sessionKey: 'k' });
          tx.signal({ type: 'job' });
        });
        assert.deepEqual(
          seen.map(({ signal }) => signal),
          [
            { type: 'session', sessionKey: 'k' },
            { type: 'lane', sessionKey: 'k' },
            { type: 'job' },
          ],
        );
        for (const { stored } of seen) assert.equal(await stored, 1);
        stop();
        await store.write('more', async (tx) => tx.signal({ type: 'job' }));
        assert.equal(seen.length, 3);
      }));

    it('of a unit that failed are not sent, those of its neighbours are', () =>
      withStore(open, async ({ store }) => {
        const seen: StoreSignal[] = [];
        store.onSignal((signal) => seen.push(signal));
        await Promise.allSettled(
          ['a', 'b', 'c'].map((runId) =>
            store.write('signal', async (tx) => {
              tx.signal({ type: 'run', runId });
              if (runId === 'b') throw new Error('no');
            }),
          ),
        );
        assert.deepEqual(seen, [
          { type: 'run', runId: 'a' },
          { type: 'run', runId: 'c' },
        ]);
      }));

    it('reach the other listeners when one throws, and the unit is not harmed', () =>
      withStore(open, async ({ store }) => {
        const seen: StoreSignal[] = [];
        store.onSignal(() => {
          throw new Error('listener');
        });
        store.onSignal((signal) => seen.push(signal));
        await store.write('signal', async (tx) => tx.signal({ type: 'job' }));
        assert.deepEqual(seen, [{ type: 'job' }]);
      }));
  });

  describe('close', () => {
    it('finishes what waits, then refuses', () =>
      withStore(open, async ({ store }) => {
        const waiting = store.write('add', (tx) => tx.sessions.insert(session('k')));
        const reading = store.read((tx) => tx.sessions.count());
        await store.close();
        await waiting;
        assert.equal(typeof (await reading), 'number');
        const closed = { code: 'unavailable' };
        await assert.rejects(
          store.write('late', async () => 1),
          closed,
        );
        await assert.rejects(
          store.read(async () => 1),
          closed,
        );
        await store.close();
      }));
  });
}

/** The unit of an acceptance: idempotency, lane, input, run. */
function acceptOnce(store: Store, runId: string): Promise<string> {
  return store.write('accept', async (tx) => {
    const before = await tx.inputs.findByIdempotencyKey('operator agent', 'job');
    if (before !== undefined) return before.inputId;
    const seq = await tx.lanes.nextSeq('k');
    await tx.lanes.addRun('k', 'main', tx.now);
    const named = { seq, idempotencyScope: 'operator agent', idempotencyKey: 'job' };
    await tx.inputs.insert(input(runId, 'k', named));
    await tx.runs.insert(run(runId, 'k', { seq }));
    return runId;
  });
}

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RunRow } from '../run-repository.ts';
import { input, type OpenHarness, run, wait, withStore } from './samples.suite.ts';

export function runsContract(open: OpenHarness): void {
  describe('inputs', () => {
    it('gives back every column of an input as it was written', () =>
      withStore(open, async ({ store }) => {
        const row = input('i1', 'k', {
          seq: 4,
          kind: 'inter_session',
          provenanceJson: '{"kind":"inter_session"}',
          idempotencyScope: 'operator agent',
          idempotencyKey: 'job',
          contentHash: 'abc',
          sourceKey: 'agent:main:main',
        });
        await store.write('add', (tx) => tx.inputs.insert(row));
        assert.deepEqual(await store.read((tx) => tx.inputs.get('i1')), row);
        assert.equal(await store.read((tx) => tx.inputs.get('nope')), undefined);
      }));

    it('[ST4] takes an idempotency key once per scope', () =>
      withStore(open, async ({ store }) => {
        const keyed = (id: string, scope: string) =>
          store.write('add', (tx) =>
            tx.inputs.insert(input(id, 'k', { idempotencyScope: scope, idempotencyKey: 'job' })),
          );
        await keyed('i1', 'operator agent');
        await keyed('i2', 'operator chat.send');
        await assert.rejects(keyed('i3', 'operator agent'), { code: 'key_conflict' });
        await store.read(async (tx) => {
          const found = await tx.inputs.findByIdempotencyKey('operator agent', 'job');
          assert.equal(found?.inputId, 'i1');
          assert.equal(await tx.inputs.findByIdempotencyKey('operator agent', 'x'), undefined);
          assert.equal(await tx.inputs.get('i3'), undefined);
        });
      }));

    it('takes any number of inputs without a key', () =>
      withStore(open, async ({ store }) => {
        await store.write('add', async (tx) => {
          await tx.inputs.insert(input('i1', 'k'));
          await tx.inputs.insert(input('i2', 'k'));
        });
        assert.equal((await store.read((tx) => tx.inputs.pending('k', 9))).length, 2);
      }));

    it('[ST5] lists what is not yet in a transcript, in lane order', () =>
      withStore(open, async ({ store }) => {
        await store.write('add', async (tx) => {
          await tx.inputs.insert(input('i3', 'k', { seq: 3 }));
          await tx.inputs.insert(input('i1', 'k', { seq: 1 }));
          await tx.inputs.insert(input('i2', 'k', { seq: 2, kind: 'note', runId: null }));
          await tx.inputs.insert(input('i4', 'k', { seq: 4, state: 'dropped' }));
          await tx.inputs.insert(input('j1', 'other', { seq: 1 }));
        });
        const pending = (limit: number) =>
          store.read(async (tx) => (await tx.inputs.pending('k', limit)).map((row) => row.inputId));
        assert.deepEqual(await pending(9), ['i1', 'i2', 'i3']);
        assert.deepEqual(await pending(2), ['i1', 'i2']);
        await store.write('append', (tx) => tx.inputs.markAppended('i2', 'i1', 55));
        assert.deepEqual(await pending(9), ['i1', 'i3']);
        const note = await store.read((tx) => tx.inputs.get('i2'));
        assert.deepEqual([note?.state, note?.runId, note?.appendedAt], ['appended', 'i1', 55]);
        await store.write('drop', (tx) => tx.inputs.markDropped('i3'));
        assert.deepEqual(await pending(9), ['i1']);
        await assert.rejects(
          store.write('append', (tx) => tx.inputs.markAppended('nope', 'i1', 55)),
          { code: 'not_found' },
        );
      }));

    it('[ST5] lists the notes among them, however many messages wait in front of them', () =>
      withStore(open, async ({ store }) => {
        await store.write('add', async (tx) => {
          for (const seq of [1, 2, 3]) await tx.inputs.insert(input(`m${seq}`, 'k', { seq }));
          const note = { runId: null };
          await tx.inputs.insert(input('n5', 'k', { ...note, seq: 5, kind: 'announce' }));
          await tx.inputs.insert(input('n4', 'k', { ...note, seq: 4, kind: 'note' }));
          await tx.inputs.insert(input('n6', 'k', { ...note, seq: 6, kind: 'summary' }));
          await tx.inputs.insert(
            input('n7', 'k', { ...note, seq: 7, kind: 'note', state: 'appended' }),
          );
          await tx.inputs.insert(input('n8', 'other', { ...note, seq: 8, kind: 'note' }));
        });
        const notes = (limit: number) =>
          store.read(async (tx) =>
            (await tx.inputs.pendingNotes('k', limit)).map((row) => row.inputId),
          );
        assert.deepEqual(await notes(9), ['n4', 'n5', 'n6']);
        assert.deepEqual(await notes(2), ['n4', 'n5']);
      }));

    it('[ST6] counts routed messages under a root, and primary ones per edge and direction', () =>
      withStore(open, async ({ store }) => {
        const routed = { rootRunId: 'root', kind: 'inter_session', sourceKey: 'a' } as const;
        await store.write('add', async (tx) => {
          await tx.inputs.insert(input('root', 'a'));
          await tx.inputs.insert(input('i1', 'b', routed));
          await tx.inputs.insert(input('i2', 'b', routed));
          await tx.inputs.insert(input('i3', 'a', { ...routed, sourceKey: 'b' }));
          await tx.inputs.insert(input('i4', 'b', { ...routed, kind: 'exchange' }));
          await tx.inputs.insert(input('i5', 'b', { ...routed, kind: 'task' }));
          await tx.inputs.insert(input('i6', 'b', { ...routed, rootRunId: 'other' }));
          await tx.inputs.insert(input('i7', 'b', { ...routed, kind: 'note' }));
          await tx.inputs.insert(input('i8', 'b', { ...routed, kind: 'announce' }));
        });
        await store.read(async (tx) => {
          assert.equal(await tx.inputs.countUnderRoot('root'), 5);
          assert.equal(await tx.inputs.countEdge('root', 'a', 'b'), 3);
          assert.equal(await tx.inputs.countEdge('root', 'b', 'a'), 1);
          assert.equal(await tx.inputs.countEdge('root', 'c', 'b'), 0);
          assert.equal(await tx.inputs.countEdge('nope', 'b', 'a'), 0);
        });
      }));
  });

  describe('runs', () => {
    it('gives back every column of a run as it was written and changed', () =>
      withStore(open, async ({ store }) => {
        const row = run('r1', 'k', {
          seq: 4,
          runClass: 'subagent',
          purpose: 'task',
          spawnKey: 'k',
          hops: 3,
          parentRunId: 'r0',
          deliver: true,
          routeJson: '{"channel":"webchat"}',
          optionsJson: '{}',
          timeoutMs: 60_000,
        });
        const patch = {
          state: 'ok',
          sessionId: 's',
          startedAt: 2,
          endedAt: 3,
          reply: '',
          costUsd: 0.0125,
          usageKnown: true,
          deliver: false,
        } as const;
        await store.write('add', (tx) => tx.runs.insert(row));
        await store.write('end', (tx) => tx.runs.update('r1', patch));
        assert.deepEqual(await store.read((tx) => tx.runs.get('r1')), { ...row, ...patch });
        await assert.rejects(
          store.write('missing', (tx) => tx.runs.update('nope', { state: 'ok' })),
          { code: 'not_found' },
        );
        await assert.rejects(store.write('again', (tx) => tx.runs.insert(row)));
      }));

    it('finds the oldest queued run of a lane', () =>
      withStore(open, async ({ store }) => {
        await store.write('add', async (tx) => {
          await tx.runs.insert(run('r3', 'k', { seq: 3 }));
          await tx.runs.insert(run('r1', 'k', { seq: 1, state: 'running' }));
          await tx.runs.insert(run('r2', 'k', { seq: 2 }));
          await tx.runs.insert(run('x1', 'other', { seq: 0 }));
        });
        await store.read(async (tx) => {
          assert.equal((await tx.runs.nextQueued('k'))?.runId, 'r2');
          assert.equal(await tx.runs.nextQueued('nope'), undefined);
          assert.deepEqual(await tx.runs.countByState(), { queued: 3, running: 1 });
          const queued = await tx.runs.queuedOf('k');
          assert.deepEqual(
            queued.map(({ runId }) => runId),
            ['r2', 'r3'],
          );
        });
      }));

    it('finds the newest that does a session’s work, what a run caused, and what a call stopped', () =>
      withStore(open, async ({ store }) => {
        await store.write('add', async (tx) => {
          await tx.runs.insert(run('r1', 'k', { seq: 1, state: 'ok' }));
          await tx.runs.insert(run('r2', 'k', { seq: 2, state: 'ok', parentRunId: 'x1' }));
          await tx.runs.insert(run('r3', 'k', { seq: 3, purpose: 'spawn_announce' }));
          await tx.runs.insert(run('r4', 'k', { seq: 4, purpose: 'command', state: 'ok' }));
          await tx.runs.insert(run('x1', 'other', { stoppedBy: 'operator', stopKey: 'call' }));
        });
        await store.read(async (tx) => {
          assert.equal((await tx.runs.latestOf('k'))?.runId, 'r2');
          assert.equal(await tx.runs.latestOf('nope'), undefined);
          const caused = await tx.runs.causedBy('x1');
          assert.deepEqual(
            caused.map(({ runId }) => runId),
            ['r2'],
          );
          const stopped = await tx.runs.stoppedUnder('call');
          assert.deepEqual(
            stopped.map(({ runId }) => runId),
            ['x1'],
          );
        });
      }));

    it('[ST12] the pages of a session and of a state have no gap and no double', () =>
      withStore(open, async ({ store }) => {
        await store.write('add', async (tx) => {
          for (let seq = 1; seq <= 7; seq += 1) {
            const acceptedAt = 1000 + Math.floor(seq / 3);
            await tx.runs.insert(run(`r${seq}`, 'k', { seq, acceptedAt, state: 'ok' }));
          }
          await tx.runs.insert(run('x', 'other', { state: 'error' }));
        });
        const newest = ['r7', 'r6', 'r5', 'r4', 'r3', 'r2', 'r1'];
        await store.read(async (tx) => {
          const seen: string[] = [];
          const seenOfState: string[] = [];
          for (let last: RunRow | undefined, page = 0; page < 4; page += 1) {
            const rows = await tx.runs.pageOfSession({ sessionKey: 'k', after: last, limit: 2 });
            seen.push(...rows.map(({ runId }) => runId));
            last = rows.at(-1);
          }
          for (let last: RunRow | undefined, page = 0; page < 4; page += 1) {
            const rows = await tx.runs.pageOfState({ state: 'ok', cursor: last, limit: 2 });
            seenOfState.push(...rows.map(({ runId }) => runId));
            last = rows.at(-1);
          }
          assert.deepEqual(seen, newest);
          assert.deepEqual(seenOfState, newest);
        });
      }));
  });

  describe('tool calls', () => {
    const call = { runId: 'r', position: 0, callIndex: 1 };
    const plan = { ...call, callId: 'c1', name: 'exec', argsJson: '{"a":1}', heldJson: null };

    it('go from planned to started to finished', () =>
      withStore(open, async ({ store }) => {
        const only = () => store.read(async (tx) => (await tx.toolCalls.ofRun('r'))[0]);
        await store.write('plan', (tx) => tx.toolCalls.plan(plan));
        const planned = { ...plan, state: 'planned', resultJson: null, startedAt: null };
        assert.deepEqual(await only(), { ...planned, finishedAt: null });
        await store.write('start', (tx) => tx.toolCalls.start(call, 5));
        assert.deepEqual(await only(), {
          ...planned,
          state: 'started',
          startedAt: 5,
          finishedAt: null,
        });
        await store.write('finish', (tx) => tx.toolCalls.finish(call, '{}', 6));
        assert.deepEqual(await only(), {
          ...plan,
          state: 'finished',
          resultJson: '{}',
          startedAt: 5,
          finishedAt: 6,
        });
      }));

    it('[ST7] are named by position and index, planned once, and listed in call order', () =>
      withStore(open, async ({ store }) => {
        await store.write('plan', async (tx) => {
          await tx.toolCalls.plan({ ...plan, position: 1, callIndex: 0 });
          await tx.toolCalls.plan(plan);
          await tx.toolCalls.plan({ ...plan, callIndex: 0 });
        });
        await assert.rejects(store.write('again', (tx) => tx.toolCalls.plan(plan)));
        const places = await store.read(async (tx) =>
          (await tx.toolCalls.ofRun('r')).map(({ position, callIndex }) => [position, callIndex]),
        );
        assert.deepEqual(places, [
          [0, 0],
          [0, 1],
          [1, 0],
        ]);
        await assert.rejects(
          store.write('start', (tx) => tx.toolCalls.start({ ...call, runId: 'nope' }, 5)),
          { code: 'not_found' },
        );
      }));
  });

  describe('waits', () => {
    it('are open until they end, and found by the lane that waits', () =>
      withStore(open, async ({ store }) => {
        const row = wait('w1', { waiterKey: 'k' });
        await store.write('add', (tx) => tx.waits.insert(row));
        assert.deepEqual(await store.read((tx) => tx.waits.get('w1')), row);
        assert.deepEqual(await store.read((tx) => tx.waits.openOfLane('k')), [row]);
        await store.write('end', (tx) => tx.waits.end('w1', 'done', 9));
        assert.deepEqual(await store.read((tx) => tx.waits.openOfLane('k')), []);
        const ended = { ...row, state: 'done', endedAt: 9 };
        assert.deepEqual(await store.read((tx) => tx.waits.get('w1')), ended);
        await assert.rejects(
          store.write('end', (tx) => tx.waits.end('nope', 'done', 9)),
          {
            code: 'not_found',
          },
        );
      }));

    it('of one lane are found together, and a message ends those that are open', () =>
      withStore(open, async ({ store }) => {
        await store.write('add', async (tx) => {
          await tx.waits.insert(wait('w1', { waiterKey: 'k' }));
          await tx.waits.insert(wait('w1:1', { waiterKey: 'k' }));
          await tx.waits.insert(wait('w1:2', { waiterKey: 'k', state: 'done', endedAt: 2 }));
          await tx.waits.insert(wait('x', { waiterKey: 'other' }));
        });
        const openOf = (key: string) =>
          store.read(async (tx) => (await tx.waits.openOfLane(key)).map(({ waitId }) => waitId));
        assert.deepEqual((await openOf('k')).toSorted(), ['w1', 'w1:1']);
        await store.write('interrupt', (tx) => tx.waits.interruptLane('k', 'r9', 7));
        assert.deepEqual(await openOf('k'), []);
        assert.deepEqual(await openOf('other'), ['x']);
        const first = await store.read((tx) => tx.waits.get('w1'));
        assert.deepEqual(
          [first?.state, first?.interruptedBy, first?.endedAt],
          ['interrupted', 'r9', 7],
        );
        assert.equal((await store.read((tx) => tx.waits.get('w1:2')))?.interruptedBy, null);
      }));

    it('end with the run that waits; what has ended before stays as it is', () =>
      withStore(open, async ({ store }) => {
        await store.write('add', async (tx) => {
          await tx.waits.insert(wait('w1', { waiterRunId: 'r1', state: 'done', endedAt: 2 }));
          await tx.waits.insert(wait('w2', { waiterRunId: 'r1' }));
          await tx.waits.insert(wait('w3', { waiterRunId: 'r2' }));
          await tx.waits.endOfRun('r1', 7);
        });
        const ends = await store.read(async (tx) => {
          const rows = await Promise.all(['w1', 'w2', 'w3'].map((id) => tx.waits.get(id)));
          return rows.map((row) => [row?.state, row?.endedAt]);
        });
        assert.deepEqual(ends, [
          ['done', 2],
          ['interrupted', 7],
          ['open', null],
        ]);
      }));
  });
}

/** The rules of the verdict by themselves: what each of them lets through, and what it finds. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Evidence } from './evidence.ts';
import { judgeDeliveries } from './judge-deliveries.ts';
import { judgeStops } from './judge-stops.ts';
import { judgeTranscripts } from './judge-transcripts.ts';
import type { GatewayEntry } from './ledger.ts';
import type { Row } from './store-state.ts';

/** Evidence of these rows and nothing else. */
function evidenceOf(given: {
  runs?: Row[];
  inputs?: Row[];
  deliveries?: Row[];
  gateway?: GatewayEntry[];
  driver?: Evidence['driver'];
}): Evidence {
  const { runs = [], inputs = [], deliveries = [], gateway = [], driver = [] } = given;
  const run = (runId: unknown): Row | undefined => runs.find((row) => row['run_id'] === runId);
  const none: Row[] = [];
  const rows = { runs, inputs, deliveries, windows: none } as Evidence['rows'];
  return {
    driver,
    gateway,
    model: [],
    channel: [],
    rows,
    entries: [],
    run,
    input: (inputId) => inputs.find((row) => row['input_id'] === inputId),
    entriesOf: () => [],
    turnOf: (row) => run(row['merged_into']) ?? row,
    accepted: () => [],
    workspaceOf: () => '',
  };
}

function runRow(runId: string, row: Row): Row {
  const plain = { session_key: 'k', seq: 1, stopped_by: null, error: null, merged_into: null };
  const rest = { parent_run_id: null, queue_mode: null, purpose: 'message', ended_at: 10 };
  return { run_id: runId, state: 'ok', ...plain, ...rest, ...row };
}

const kindsOf = (problems: readonly { kind: string }[]): string[] =>
  problems.map(({ kind }) => kind);

describe('the rules of the verdict', () => {
  it('[CX5] a delivery is unknown only where its gateway was cut short at it', () => {
    const unknown = { delivery_id: 'd', channel: 'plain', state: 'unknown' };
    const sending = { type: 'sending', pid: 1, deliveryId: 'd' } as const;
    const cases: [GatewayEntry[], string[]][] = [
      [[sending, { type: 'killed', pid: 1 }], []],
      [[sending, { type: 'paused', pid: 1, ms: 12_000 }], []],
      [[sending, { ...sending, type: 'booked' }, sending, { type: 'killed', pid: 1 }], []],
      [[sending], ['wrong']],
      [[sending, { type: 'killed', pid: 2 }], ['wrong']],
      [[sending, { type: 'drained', pid: 1, code: 0 }], ['wrong']],
      [
        [sending, { type: 'booked', pid: 1, deliveryId: 'd' }, { type: 'killed', pid: 1 }],
        ['wrong'],
      ],
    ];
    for (const [gateway, expected] of cases) {
      const found = judgeDeliveries(evidenceOf({ deliveries: [unknown], gateway }));
      assert.deepEqual(kindsOf(found), expected, JSON.stringify(gateway));
    }
  });

  it('[CX6] a gateway that was asked to stop ends with exit code 0', () => {
    const drained = (code: number | null): Evidence =>
      evidenceOf({ gateway: [{ type: 'drained', pid: 1, code }] });
    assert.deepEqual(judgeStops(drained(0)), []);
    assert.deepEqual(kindsOf(judgeStops(drained(1))), ['wrong']);
    assert.deepEqual(kindsOf(judgeStops(drained(null))), ['wrong']);
  });

  it('[CX6] a stop that was told holds, and nothing goes on below it', () => {
    const stopped = runRow('r', { state: 'aborted', stopped_by: 'operator' });
    const below = (row: Row): Row => runRow('below', { parent_run_id: 'r', ...row });
    const told = (run: Row): Evidence =>
      evidenceOf({ runs: [run], driver: [{ type: 'stop', target: 'k', runIds: ['r'] }] });
    assert.deepEqual(judgeStops(told(stopped)), []);
    assert.deepEqual(kindsOf(judgeStops(told(runRow('r', {})))), ['wrong']);
    const cases: [Row, string[]][] = [
      [{ state: 'aborted', stopped_by: 'operator', ended_at: 11 }, []],
      [{ ended_at: 9 }, []],
      [{ ended_at: 11 }, ['wrong']],
    ];
    for (const [row, expected] of cases) {
      const found = judgeStops(evidenceOf({ runs: [stopped, below(row)] }));
      assert.deepEqual(kindsOf(found), expected, JSON.stringify(row));
    }
  });

  it('[CX6] a run is broken off by a stop, by a newer message, or with its turn', () => {
    const interrupted = {
      state: 'aborted',
      error: 'the run was stopped: a newer message interrupted it',
    };
    const interrupt = runRow('i', { seq: -2, queue_mode: 'interrupt' });
    const ok: Row[][] = [
      [runRow('r', { state: 'aborted', stopped_by: 'operator' })],
      [runRow('r', interrupted), interrupt],
      [
        runRow('r', { state: 'aborted', merged_into: 't' }),
        runRow('t', { state: 'aborted', stopped_by: 'operator' }),
      ],
    ];
    for (const runs of ok) assert.deepEqual(judgeStops(evidenceOf({ runs })), []);
    const alone = [runRow('r', { ...interrupted, seq: 3 }), interrupt];
    assert.deepEqual(kindsOf(judgeStops(evidenceOf({ runs: alone }))), ['wrong']);
    assert.deepEqual(
      kindsOf(judgeStops(evidenceOf({ runs: [runRow('r', { state: 'aborted' })] }))),
      ['wrong'],
    );
  });

  it('[CX6] a dropped message stands nowhere and has a reason', () => {
    const input = { input_id: 'r', state: 'dropped', kind: 'message', text: 'hi' };
    const judged = (row: Row): string[] =>
      kindsOf(judgeTranscripts(evidenceOf({ runs: [runRow('r', row)], inputs: [input] })));
    assert.deepEqual(judged({ state: 'aborted', stopped_by: 'operator' }), []);
    assert.deepEqual(judged({ state: 'error', error: 'dropped: more than 3' }), []);
    assert.deepEqual(judged({ state: 'error', error: 'the model failed' }), ['lost']);
    assert.deepEqual(judged({ state: 'ok' }), ['lost']);
  });
});

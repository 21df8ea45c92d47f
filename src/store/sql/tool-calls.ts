import type { ToolCallId, ToolCallRow, ToolCallWrites } from '../run-repository.ts';
import { GatewayError } from '../../protocol/errors.ts';
import { defineQuery } from './query.ts';
import type { SqlUnit } from './sql-unit.ts';

const OF_RUN = defineQuery((db, p: { runId: string }) =>
  db
    .selectFrom('tool_calls')
    .selectAll()
    .where('run_id', '=', p.runId)
    .orderBy('position')
    .orderBy('call_index'),
);

const START = defineQuery((db, p: ToolCallId & { at: number }) =>
  db
    .updateTable('tool_calls')
    .set({ state: 'started', started_at: p.at })
    .where('run_id', '=', p.runId)
    .where('position', '=', p.position)
    .where('call_index', '=', p.callIndex),
);

const FINISH = defineQuery((db, p: ToolCallId & { resultJson: string; at: number }) =>
  db
    .updateTable('tool_calls')
    .set({ state: 'finished', result_json: p.resultJson, held_json: null, finished_at: p.at })
    .where('run_id', '=', p.runId)
    .where('position', '=', p.position)
    .where('call_index', '=', p.callIndex),
);

const DROP_HELD = defineQuery((db, p: { runId: string }) =>
  db
    .updateTable('tool_calls')
    .set({ held_json: null })
    .where('run_id', '=', p.runId)
    .where('held_json', 'is not', null),
);

export class SqlToolCalls implements ToolCallWrites {
  readonly #unit: SqlUnit;
  constructor(unit: SqlUnit) {
    this.#unit = unit;
  }

  ofRun(runId: string): Promise<ToolCallRow[]> {
    return this.#unit.all(OF_RUN, { runId });
  }

  plan(row: Parameters<ToolCallWrites['plan']>[0]): Promise<void> {
    return this.#unit.insert('tool_calls', {
      ...row,
      state: 'planned',
      resultJson: null,
      startedAt: null,
      finishedAt: null,
    });
  }

  async start(call: ToolCallId, at: number): Promise<void> {
    mustExist(call, await this.#unit.change(START, { ...call, at }));
  }

  async finish(call: ToolCallId, resultJson: string, at: number): Promise<void> {
    mustExist(call, await this.#unit.change(FINISH, { ...call, resultJson, at }));
  }

  async dropHeld(runId: string): Promise<void> {
    await this.#unit.change(DROP_HELD, { runId });
  }
}

function mustExist({ runId, position, callIndex }: ToolCallId, changes: number): void {
  if (changes > 0) return;
  throw new GatewayError('not_found', `there is no tool call ${runId}:${position}:${callIndex}`);
}

import { sql } from 'kysely';
import { GatewayError } from '../../protocol/errors.ts';
import type { InputKind, InputRow, InputWrites } from '../input-repository.ts';
import { defineQuery } from './query.ts';
import type { SqlUnit } from './sql-unit.ts';

const BY_ID = defineQuery((db, p: { inputId: string }) =>
  db.selectFrom('inputs').selectAll().where('input_id', '=', p.inputId),
);

const BY_IDEMPOTENCY_KEY = defineQuery((db, p: { scope: string; key: string }) =>
  db
    .selectFrom('inputs')
    .selectAll()
    .where('idempotency_scope', '=', p.scope)
    .where('idempotency_key', '=', p.key)
    .where('idempotency_key', 'is not', null),
);

const PENDING = defineQuery((db, p: { sessionKey: string; limit: number }) =>
  db
    .selectFrom('inputs')
    .selectAll()
    .where('session_key', '=', p.sessionKey)
    .where('state', '=', sql.lit('pending'))
    .orderBy('seq')
    .limit(p.limit),
);

const PENDING_NOTES = defineQuery((db, p: { sessionKey: string; limit: number }) =>
  db
    .selectFrom('inputs')
    .selectAll()
    .where('session_key', '=', p.sessionKey)
    .where('state', '=', sql.lit('pending'))
    .where('kind', 'in', ['note', 'announce', 'summary'])
    .orderBy('seq')
    .limit(p.limit),
);

const FIRST_PENDING = defineQuery((db, p: { sessionKey: string; kind: InputKind }) =>
  db
    .selectFrom('inputs')
    .selectAll()
    .where('session_key', '=', p.sessionKey)
    .where('state', '=', sql.lit('pending'))
    .where('kind', '=', p.kind)
    .orderBy('seq')
    .limit(1),
);

/** The condition of the partial index of routed messages, word for word. */
const IS_ROUTED = sql<boolean>`kind in ('inter_session', 'note', 'exchange')`;

const COUNT_UNDER_ROOT = defineQuery((db, p: { rootRunId: string }) =>
  db
    .selectFrom('inputs')
    .select((eb) => eb.fn.countAll<number>().as('total'))
    .where('root_run_id', '=', p.rootRunId)
    .where(IS_ROUTED),
);

const COUNT_EDGE = defineQuery(
  (db, p: { rootRunId: string; sourceKey: string; targetKey: string }) =>
    db
      .selectFrom('inputs')
      .select((eb) => eb.fn.countAll<number>().as('total'))
      .where('root_run_id', '=', p.rootRunId)
      .where(sql<boolean>`kind in ('inter_session', 'note')`)
      .where('source_key', '=', p.sourceKey)
      .where('session_key', '=', p.targetKey)
      .where(IS_ROUTED),
);

const MARK_APPENDED = defineQuery((db, p: { inputId: string; runId: string | null; at: number }) =>
  db
    .updateTable('inputs')
    .set({ state: 'appended', run_id: p.runId, appended_at: p.at })
    .where('input_id', '=', p.inputId),
);

const MARK_DROPPED = defineQuery((db, p: { inputId: string }) =>
  db.updateTable('inputs').set({ state: 'dropped' }).where('input_id', '=', p.inputId),
);

export class SqlInputs implements InputWrites {
  readonly #unit: SqlUnit;
  constructor(unit: SqlUnit) {
    this.#unit = unit;
  }

  get(inputId: string): Promise<InputRow | undefined> {
    return this.#unit.first(BY_ID, { inputId });
  }

  findByIdempotencyKey(scope: string, key: string): Promise<InputRow | undefined> {
    return this.#unit.first(BY_IDEMPOTENCY_KEY, { scope, key });
  }

  pending(sessionKey: string, limit: number): Promise<InputRow[]> {
    return this.#unit.all(PENDING, { sessionKey, limit });
  }

  pendingNotes(sessionKey: string, limit: number): Promise<InputRow[]> {
    return this.#unit.all(PENDING_NOTES, { sessionKey, limit });
  }

  firstPending(sessionKey: string, kind: InputKind): Promise<InputRow | undefined> {
    return this.#unit.first(FIRST_PENDING, { sessionKey, kind });
  }

  async countUnderRoot(rootRunId: string): Promise<number> {
    return (await this.#unit.first(COUNT_UNDER_ROOT, { rootRunId }))?.total ?? 0;
  }

  async countEdge(rootRunId: string, sourceKey: string, targetKey: string): Promise<number> {
    return (await this.#unit.first(COUNT_EDGE, { rootRunId, sourceKey, targetKey }))?.total ?? 0;
  }

  async insert(row: InputRow): Promise<void> {
    if (await this.#unit.insertNew('inputs', row)) return;
    throw new GatewayError(
      'key_conflict',
      `input ${row.inputId} was not added: its id or its idempotency key is taken`,
    );
  }

  async markAppended(inputId: string, runId: string | null, at: number): Promise<void> {
    const changes = await this.#unit.change(MARK_APPENDED, { inputId, runId, at });
    if (changes === 0) throw new GatewayError('not_found', `there is no input ${inputId}`);
  }

  async markDropped(inputId: string): Promise<void> {
    const changes = await this.#unit.change(MARK_DROPPED, { inputId });
    if (changes === 0) throw new GatewayError('not_found', `there is no input ${inputId}`);
  }

  rewrite(inputId: string, text: string): Promise<void> {
    return this.#unit.update('inputs', { name: 'inputId', value: inputId }, { text });
  }
}

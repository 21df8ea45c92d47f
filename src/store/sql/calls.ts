import type { CallCursor, CallReads, CallWrites, DeferredCallRow } from '../call-repository.ts';
import { defineQuery } from './query.ts';
import type { SqlUnit } from './sql-unit.ts';

const BY_ID = defineQuery((db, p: { callId: string }) =>
  db.selectFrom('deferred_calls').selectAll().where('call_id', '=', p.callId),
);

const PAGE = defineQuery((db, p: CallCursor & { sessionKey: string; limit: number; now: number }) =>
  db
    .selectFrom('deferred_calls')
    .selectAll()
    .where('session_key', '=', p.sessionKey)
    .where('expires_at', '>', p.now)
    .where((eb) => eb(eb.refTuple('created_at', 'call_id'), '<', eb.tuple(p.createdAt, p.callId)))
    .orderBy('created_at', 'desc')
    .orderBy('call_id', 'desc')
    .limit(p.limit),
);

const NTH_KEPT = defineQuery((db, p: { sessionKey: string; now: number; before: number }) =>
  db
    .selectFrom('deferred_calls')
    .select('expires_at')
    .where('session_key', '=', p.sessionKey)
    .where('expires_at', '>', p.now)
    .orderBy('expires_at')
    .limit(1)
    .offset(p.before),
);

const EXPIRED = defineQuery((db, p: { now: number; limit: number }) =>
  db
    .selectFrom('deferred_calls')
    .select('call_id')
    .where('expires_at', '<=', p.now)
    .orderBy('expires_at')
    .orderBy('call_id')
    .limit(p.limit),
);

const REMOVE = defineQuery((db, p: { callId: string }) =>
  db.deleteFrom('deferred_calls').where('call_id', '=', p.callId),
);

/** Later than whatever a page begins with. */
const BEFORE_ALL: CallCursor = { createdAt: Number.MAX_SAFE_INTEGER, callId: '' };

export class SqlCalls implements CallWrites {
  readonly #unit: SqlUnit;
  constructor(unit: SqlUnit) {
    this.#unit = unit;
  }

  get(callId: string): Promise<DeferredCallRow | undefined> {
    return this.#unit.first(BY_ID, { callId });
  }

  pageOf({
    cursor = BEFORE_ALL,
    ...query
  }: Parameters<CallReads['pageOf']>[0]): Promise<DeferredCallRow[]> {
    return this.#unit.all(PAGE, { ...query, ...cursor });
  }

  async hasAtLeast({
    sessionKey,
    count,
    now,
  }: Parameters<CallReads['hasAtLeast']>[0]): Promise<boolean> {
    const nth = await this.#unit.first(NTH_KEPT, { sessionKey, now, before: count - 1 });
    return nth !== undefined;
  }

  insert(row: DeferredCallRow): Promise<void> {
    return this.#unit.insert('deferred_calls', row);
  }

  cancel(callId: string, at: number): Promise<void> {
    const patch = { cancelledAt: at };
    return this.#unit.update('deferred_calls', { name: 'callId', value: callId }, patch);
  }

  async remove(callId: string): Promise<void> {
    await this.#unit.change(REMOVE, { callId });
  }

  async expired(now: number, limit: number): Promise<string[]> {
    return (await this.#unit.all(EXPIRED, { now, limit })).map(({ callId }) => callId);
  }
}

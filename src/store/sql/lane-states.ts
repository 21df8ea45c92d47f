import type { SessionState } from '../../protocol/words.ts';
import { must } from '../../util/assert.ts';
import { defineQuery, keyed, type Query } from './query.ts';
import type { SqlUnit } from './sql-unit.ts';

/** Lists are padded to a few sizes, so that there are a few statements and not one per length. */
const LIST_SIZES = [1, 4, 16, 64, 256];
const LONGEST_LIST = 256;

const statesQuery = keyed(
  (size): Query<Record<string, string>, { sessionKey: string; state: SessionState }> =>
    defineQuery((db, p: Record<string, string>) => {
      const keys = Array.from({ length: Number(size) }, (_, at) => p[`key${at}`] ?? '');
      return db
        .selectFrom('lanes')
        .select(['session_key', 'state'])
        .where('session_key', 'in', keys);
    }),
);

/** Returns the state of each named lane; a missing lane is idle. */
export async function statesOf(
  unit: SqlUnit,
  sessionKeys: readonly string[],
): Promise<Map<string, SessionState>> {
  const states = new Map<string, SessionState>(sessionKeys.map((key) => [key, 'idle']));
  const keys = [...states.keys()];
  for (let from = 0; from < keys.length; from += LONGEST_LIST) {
    const part = keys.slice(from, from + LONGEST_LIST);
    const size = must(
      LIST_SIZES.find((length) => length >= part.length),
      'list size',
    );
    const params: Record<string, string> = {};
    for (let at = 0; at < size; at += 1) params[`key${at}`] = must(part[at] ?? part[0], 'key');
    for (const lane of await unit.all(statesQuery(String(size)), params)) {
      states.set(lane.sessionKey, lane.state);
    }
  }
  return states;
}

/** Rows for every table of a schema of whatever version, made from the columns that it has. */
import assert from 'node:assert/strict';
import type { Store } from '../../store.ts';

/** A column as the database tells it. */
export interface Column {
  table: string;
  name: string;
  /** `text`, `bigint`, `integer` or `double precision` */
  type: string;
}
export type Sample = Record<string, string | number | null>;

const MAIN = 'agent:main:main';
const CHILD = 'agent:main:subagent:00000000-0000-4000-8000-000000000001';

/** Values that belong together, by column or by table and column; the others say where they stand. */
const VALUES: Record<string, string | number | null> = {
  'sessions.key': MAIN,
  'session_ancestors.session_key': CHILD,
  ancestor_key: MAIN,
  session_key: MAIN,
  root_key: MAIN,
  spawned_by: null,
  session_id: 's1',
  run_id: 'r1',
  input_id: 'r1',
  entry_id: 'e1',
  parent_id: null,
  seq: 1,
  next_seq: 2,
  type: 'message',
  role: 'user',
  json: '{"role":"user","content":[{"type":"text","text":"kept"}],"timestamp":1}',
  'runs.state': 'ok',
  'deliveries.state': 'sent',
  'lanes.state': 'idle',
  pending: 0,
  owner: null,
  current_run_id: null,
  merged_into: null,
  archived_at: null,
  deleted_at: null,
  purge_at: null,
  archive_at: null,
};
/** The session below the main one. */
const CHILD_ROW: Sample = {
  key: CHILD,
  session_id: 's2',
  spawned_by: MAIN,
  spawn_depth: 1,
  updated_at: 7,
};

/** Returns rows for every table; a table that comes with a later migration has one by itself. */
export function sampleRows(columns: readonly Column[]): Map<string, Sample[]> {
  const rows = new Map<string, Sample[]>();
  for (const column of columns) {
    const [row = {}] = rows.get(column.table) ?? [];
    row[column.name] = valueOf(column);
    rows.set(column.table, [row]);
  }
  const [main] = rows.get('sessions') ?? [];
  if (main !== undefined) rows.set('sessions', [main, { ...main, ...CHILD_ROW }]);
  return rows;
}

function valueOf({ table, name, type }: Column): string | number | null {
  for (const known of [`${table}.${name}`, name]) {
    if (known in VALUES) return VALUES[known] ?? null;
  }
  if (type.startsWith('text')) return name.endsWith('_json') ? '{}' : `${name} of ${table}`;
  return type.startsWith('double') ? 0.5 : 1;
}

/** Returns the statement that inserts a row, with the placeholders of the database. */
export function insertionOf(
  table: string,
  { row, placeholder }: { row: Sample; placeholder: (at: number) => string },
): { sql: string; values: (string | number | null)[] } {
  const names = Object.keys(row);
  const places = names.map((_, at) => placeholder(at + 1));
  return {
    sql: `insert into ${table} (${names.join(', ')}) values (${places.join(', ')})`,
    values: Object.values(row),
  };
}

/** Returns which of the rows a table has no more, by the columns that it had. */
export function missingRows(
  before: readonly Sample[],
  after: readonly Record<string, unknown>[],
): Sample[] {
  return before.filter(
    (row) =>
      !after.some((found) => Object.entries(row).every(([name, value]) => found[name] === value)),
  );
}

/** What was written by an older version is found in all the ways that it is looked for. */
export async function assertInUse(store: Store): Promise<void> {
  await store.read(async (tx) => {
    assert.equal((await tx.sessions.get(MAIN))?.sessionId, 's1');
    const page = { archived: false, cursor: undefined, limit: 9 };
    const below = await tx.sessions.scan({ ...page, scope: { type: 'below', ancestorKey: MAIN } });
    assert.deepEqual(
      below.map(({ key, updatedAt }) => [key, updatedAt]),
      [[CHILD, 7]],
    );
    const tail = { sessionId: 's1', includeTools: true, beforeSeq: undefined, limit: 9 };
    assert.equal((await tx.entries.tail(tail)).length, 1);
    assert.equal((await tx.runs.get('r1'))?.state, 'ok');
  });
}

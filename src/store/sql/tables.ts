/** The tables as SQL sees them: the rows of the `*-repository.ts` with snake_case columns and 0/1 for booleans. */
import type { Generated } from 'kysely';
import type { AttachmentRow, StoreIdentityRow } from '../attachment-repository.ts';
import type { AuditRow } from '../audit-repository.ts';
import type { DeferredCallRow } from '../call-repository.ts';
import type { BudgetHoldRow, BudgetRow } from '../budget-repository.ts';
import type { GatewayRow, LaneRow } from '../lane-repository.ts';
import type { DeviceRow, PairingRow } from '../device-repository.ts';
import type { DeliveryRow } from '../delivery-repository.ts';
import type { ExchangeRow, JobRow, SpawnRow } from '../follow-up-repository.ts';
import type { EntryRow } from '../transcript-repository.ts';
import type { InputRow } from '../input-repository.ts';
import type { ModelCallRow, UsageDayRow } from '../usage-repository.ts';
import type { RunRow, ToolCallRow, WaitRow } from '../run-repository.ts';
import type { SessionRow, WindowRow } from '../session-repository.ts';

type Snake<S extends string> = S extends `${infer Head}${infer Tail}`
  ? `${Head extends Lowercase<Head> ? Head : `_${Lowercase<Head>}`}${Snake<Tail>}`
  : S;
type Camel<S extends string> = S extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : S;

type TableOf<Row> = {
  [K in keyof Row & string as Snake<K>]: Row[K] extends boolean ? number : Row[K];
};

/** Closure of lineage: one row per session and ancestor of it. */
export interface SessionAncestorRow {
  sessionKey: string;
  ancestorKey: string;
  /** what lists are ordered by, as in the session's row */
  updatedAt: number;
  archivedAt: number | null;
  deletedAt: number | null;
}

/** Table name to row. */
export interface Rows {
  sessions: SessionRow;
  session_ancestors: SessionAncestorRow;
  windows: WindowRow;
  entries: EntryRow;
  inputs: InputRow;
  runs: RunRow;
  lanes: LaneRow;
  tool_calls: ToolCallRow;
  model_calls: ModelCallRow;
  usage_days: UsageDayRow;
  budgets: BudgetRow;
  budget_holds: BudgetHoldRow;
  waits: WaitRow;
  exchanges: ExchangeRow;
  spawns: SpawnRow;
  deliveries: DeliveryRow;
  attachments: AttachmentRow;
  store_identity: StoreIdentityRow;
  deferred_calls: DeferredCallRow;
  audit: AuditRow;
  devices: DeviceRow;
  pairings: PairingRow;
  jobs: JobRow;
  gateways: GatewayRow;
}

/** What the query builder knows of the schema. */
export type Tables = { [T in Exclude<keyof Rows, 'jobs'>]: TableOf<Rows[T]> } & {
  jobs: Omit<TableOf<JobRow>, 'job_id'> & { job_id: Generated<number> };
};

const BOOLEAN_COLUMNS = ['system_sent', 'aborted_last_run', 'deliver', 'usage_known'] as const;
type BooleanColumn = (typeof BOOLEAN_COLUMNS)[number];

/** A selected record as a row: camelCase names, booleans for 0/1. */
export type RowOf<O> = {
  [K in keyof O & string as Camel<K>]: K extends BooleanColumn ? boolean : O[K];
};

const booleanColumns: ReadonlySet<string> = new Set(BOOLEAN_COLUMNS);
const snakeNames = new Map<string, string>();

/** Returns the column of a property: `sessionKey` is `session_key`. */
export function toColumn(property: string): string {
  let column = snakeNames.get(property);
  if (column === undefined) {
    column = property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    snakeNames.set(property, column);
  }
  return column;
}

/** Returns a function that maps records with these columns to rows; make it once per query. */
export function createRowMapper(
  columns: readonly string[],
): (record: Record<string, unknown>) => Record<string, unknown> {
  const fields = columns.map((column) => ({
    column,
    property: column.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    isBoolean: booleanColumns.has(column),
  }));
  return (record) => {
    const row: Record<string, unknown> = {};
    for (const { column, property, isBoolean } of fields) {
      row[property] = isBoolean ? record[column] !== 0 : record[column];
    }
    return row;
  };
}

/** The columns that hold JSON. What cannot be read is reported; readers leave it out. */
import type { Check, DoctorDialect } from './check.ts';

const CALL = `run_id || ':' || position || ':' || call_index`;
const COLUMNS: [table: string, column: string, key: string][] = [
  ['entries', 'json', `session_id || ' ' || seq`],
  ['inputs', 'provenance_json', 'input_id'],
  ['runs', 'route_json', 'run_id'],
  ['runs', 'options_json', 'run_id'],
  ['tool_calls', 'args_json', CALL],
  ['tool_calls', 'held_json', CALL],
  ['tool_calls', 'result_json', CALL],
  ['spawns', 'route_json', 'child_key'],
  ['spawns', 'attach_as_json', 'child_key'],
  ['attachments', 'files_json', 'folder_id'],
  ['deferred_calls', 'run_ids_json', 'call_id'],
  ['audit', 'detail_json', 'id'],
  ['devices', 'scopes_json', 'id'],
  ['pairings', 'scopes_json', 'id'],
];

/** Returns the rules of what is stored as JSON. */
export function jsonChecks({ isNoJson }: DoctorDialect): Check[] {
  return COLUMNS.map(([table, column, key]) => ({
    name: `unreadable-${table}-${column.replaceAll('_', '-')}`,
    rule: `${table}.${column} is no JSON; readers leave it out, the row is kept`,
    find: `select ${key} as id from ${table}
      where ${column} is not null and ${isNoJson(column)}`,
  }));
}

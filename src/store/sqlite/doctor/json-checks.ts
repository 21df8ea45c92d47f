/** The columns that hold JSON. What cannot be read is reported; readers leave it out. */
import { type Check, statement } from './check.ts';

const COLUMNS: [table: string, column: string, key: string][] = [
  ['entries', 'json', `session_id || ' ' || seq`],
  ['inputs', 'provenance_json', 'input_id'],
  ['runs', 'route_json', 'run_id'],
  ['runs', 'options_json', 'run_id'],
  ['tool_calls', 'args_json', `run_id || ':' || position || ':' || call_index`],
  ['tool_calls', 'result_json', `run_id || ':' || position || ':' || call_index`],
  ['spawns', 'route_json', 'child_key'],
];

const REPORTED: readonly Check[] = COLUMNS.map(([table, column, key]) => ({
  name: `unreadable-${table}-${column.replaceAll('_', '-')}`,
  rule: `${table}.${column} is no JSON; readers leave it out, the row is kept`,
  find: `select ${key} as id from ${table}
    where ${column} is not null and json_valid(${column}) = 0`,
}));

export const JSON_CHECKS: readonly Check[] = [
  ...REPORTED,
  {
    name: 'unreadable-jobs-payload-json',
    rule: 'the payload of a job is no JSON; it is written anew from the name of the job',
    find: `select job_key, kind, substr(job_key, length(kind) + 2) as subject,
        case kind when 'advance-exchange' then 'exchangeId' when 'announce-spawn' then 'childKey'
          else 'deliveryId' end as name
      from jobs where json_valid(payload_json) = 0
        and kind in ('advance-exchange', 'announce-spawn', 'deliver')`,
    heal: (row) => [
      statement(
        'update jobs set payload_json = ? where job_key = ?',
        JSON.stringify({ [String(row['name'])]: row['subject'] }),
        row['job_key'],
      ),
    ],
  },
];

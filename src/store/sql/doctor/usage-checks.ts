/** What model calls used, and the sums of it by day: two tables that must say the same. */
import { USAGE_SUMS } from '../usage.ts';
import { type Check, type Found, type Statement, statement } from './check.ts';

/** What a sum holds besides the number of its calls. */
const SUMS = USAGE_SUMS.filter((name) => name !== 'calls');

/** The calls that are there, by session, day and model. */
const COUNTED = `counted as (
  select r.session_key, c.at / 86400000 as day, c.model, count(*) as calls,
    sum(1 - c.usage_known) as unknown_calls,
    sum(case when c.usage_known = 1 and c.cost_nanos is null then 1 else 0 end) as unpriced_calls,
    sum(c.input_tokens) as input_tokens, sum(c.output_tokens) as output_tokens,
    sum(c.cache_read_tokens) as cache_read_tokens, sum(c.cache_write_tokens) as cache_write_tokens,
    sum(coalesce(c.cost_nanos, 0)) as cost_nanos
  from model_calls c join runs r on r.run_id = c.run_id
  group by r.session_key, c.at / 86400000, c.model)`;

const COUNTS = ['calls', ...SUMS]
  .map((name) => `cast(coalesce(c.${name}, 0) as bigint) as counted_${name}`)
  .join(', ');
const ARE_OTHER = SUMS.map((name) => `d.${name} <> coalesce(c.${name}, 0)`).join(' or ');
const ARE_LESS = SUMS.map((name) => `d.${name} < coalesce(c.${name}, 0)`).join(' or ');

export const USAGE_CHECKS: readonly Check[] = [
  {
    name: 'model-call-run',
    rule: 'a model call belongs to a run that is not there; it is kept',
    find: `select distinct c.run_id from model_calls c
      where not exists (select 1 from runs r where r.run_id = c.run_id)`,
  },
  {
    name: 'usage-missing',
    rule: 'calls of a session are in no sum of their day; the sum is made',
    find: `with ${COUNTED} select c.session_key, c.day, c.model, s.agent_id, s.root_key
      from counted c join sessions s on s.key = c.session_key
      where not exists (select 1 from usage_days d
        where d.session_key = c.session_key and d.day = c.day and d.model = c.model)`,
    // empty: the next rule counts
    heal: (row) => [
      statement(
        `insert into usage_days (session_key, day, model, agent_id, root_key, calls, ${SUMS.join(', ')}, purged_calls)
         values (?, ?, ?, ?, ?, 0, ${SUMS.map(() => '0').join(', ')}, 0)`,
        ...['session_key', 'day', 'model', 'agent_id', 'root_key'].map((name) => row[name]),
      ),
    ],
  },
  {
    name: 'usage-sums',
    rule: 'the sums of a day are not those of its calls, with the calls that were purged; counted again, and what calls that are gone had cost is kept',
    find: `with ${COUNTED} select d.session_key, d.day, d.model, d.calls, d.purged_calls, ${COUNTS},
        ${SUMS.map((name) => `d.${name}`).join(', ')}
      from usage_days d left join counted c
        on c.session_key = d.session_key and c.day = d.day and c.model = d.model
      where d.calls <> coalesce(c.calls, 0) + d.purged_calls
        or (d.purged_calls = 0 and (${ARE_OTHER})) or (d.purged_calls > 0 and (${ARE_LESS}))`,
    heal: (row) => [recounted(row)],
  },
];

/** Calls that a sum holds and that are not there count as purged, so that no money is forgotten. */
function recounted(row: Found): Statement {
  const number = (name: string): number => Number(row[name]);
  const counted = number('counted_calls');
  const purged = Math.max(number('purged_calls'), number('calls') - counted);
  const sums = SUMS.map((name) => {
    const there = number(`counted_${name}`);
    return purged === 0 ? there : Math.max(number(name), there);
  });
  return statement(
    `update usage_days set calls = ?, purged_calls = ?, ${SUMS.map((name) => `${name} = ?`).join(', ')}
     where session_key = ? and day = ? and model = ?`,
    counted + purged,
    purged,
    ...sums,
    row['session_key'],
    row['day'],
    row['model'],
  );
}

/** What runs have set aside of budgets, and the sums of it that the budgets keep. */
import { type Check, statement, UNFINISHED } from './check.ts';

const HELD = `held as (
  select owner_key, cast(sum(tokens) as bigint) as tokens, cast(sum(nanos) as bigint) as nanos,
    count(*) as runs
  from budget_holds group by owner_key)`;

export const BUDGET_CHECKS: readonly Check[] = [
  {
    name: 'budget-hold-run',
    rule: 'a run that has ended, or is not there, holds a part of a budget; it is free again',
    find: `select distinct h.run_id from budget_holds h
      where not exists (select 1 from runs r where r.run_id = h.run_id and r.state in ${UNFINISHED})`,
    heal: (row) => [statement('delete from budget_holds where run_id = ?', row['run_id'])],
  },
  {
    name: 'budget-sums',
    rule: 'a budget does not say what runs hold of it; counted again',
    find: `with ${HELD} select b.owner_key, coalesce(h.tokens, 0) as tokens,
        coalesce(h.nanos, 0) as nanos, coalesce(h.runs, 0) as runs
      from budgets b left join held h on h.owner_key = b.owner_key
      where b.reserved_tokens <> coalesce(h.tokens, 0) or b.reserved_nanos <> coalesce(h.nanos, 0)
        or b.going <> coalesce(h.runs, 0) or (b.counted_to is null) <> (coalesce(h.runs, 0) = 0)`,
    heal: (row, now) => [
      statement(
        'update budgets set reserved_tokens = ?, reserved_nanos = ?, going = ?, counted_to = ? where owner_key = ?',
        row['tokens'],
        row['nanos'],
        row['runs'],
        // the time until now, in which nobody knows who ran, is nobody's
        Number(row['runs']) === 0 ? null : now,
        row['owner_key'],
      ),
    ],
  },
];

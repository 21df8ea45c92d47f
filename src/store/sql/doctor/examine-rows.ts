/** What the rows of a store say of each other, rule by rule. */
import type { SqlStatement } from '../sql-steps.ts';
import type { Check, DoctorDialect, DoctorStore, Found } from './check.ts';
import { archiveChecks } from './archive-checks.ts';
import { BUDGET_CHECKS } from './budget-checks.ts';
import { followUpChecks } from './follow-up-checks.ts';
import { jsonChecks } from './json-checks.ts';
import { LINEAGE_CHECKS } from './lineage-checks.ts';
import { RUN_CHECKS } from './run-checks.ts';
import { TRANSCRIPT_CHECKS } from './transcript-checks.ts';
import { USAGE_CHECKS } from './usage-checks.ts';

export interface Finding {
  check: string;
  rule: string;
  /** rows that broke the rule */
  count: number;
  /** names of the first ones */
  rows: string[];
  /** `healable` = with `fix` it is healed; `left` = nothing here can heal it */
  state: 'healed' | 'healable' | 'left';
}

export interface StoreReport {
  schemaVersion: number;
  /** false: the database or its schema kept the rows from being looked at */
  isExamined: boolean;
  findings: Finding[];
}

const MAX_ROWS = 20;
/** Healing a parent may show what is wrong with its children, generation by generation. */
const MAX_ROUNDS = 100;

/** In this order: what an earlier check heals, a later one may rely on. */
function checksOf(dialect: DoctorDialect): Check[] {
  return [
    ...TRANSCRIPT_CHECKS,
    ...RUN_CHECKS,
    ...followUpChecks(dialect),
    ...archiveChecks(dialect),
    ...USAGE_CHECKS,
    ...BUDGET_CHECKS,
    ...LINEAGE_CHECKS,
    ...jsonChecks(dialect),
    ...dialect.ownChecks,
  ];
}

/**
 * Returns which rules are broken, and by which rows; with `fix` what can be healed is, one transaction
 * per rule. Nothing that somebody could read is ever removed.
 */
export async function examineRows(
  store: DoctorStore,
  { fix, now }: { fix: boolean; now: number },
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const check of checksOf(store.dialect)) {
    const finding = await runCheck(store, { check, fix, now });
    if (finding !== undefined) findings.push(finding);
  }
  return findings;
}

/** Returns what was found, with the first of its rows. */
export function findingOf(about: Omit<Finding, 'count'>): Finding {
  return { ...about, count: about.rows.length, rows: about.rows.slice(0, MAX_ROWS) };
}

async function runCheck(
  store: DoctorStore,
  { check, fix, now }: { check: Check; fix: boolean; now: number },
): Promise<Finding | undefined> {
  const { name, rule, heal } = check;
  const { rows: found } = await store.query(check.find, []);
  if (found.length === 0) return undefined;
  const rows = found.map((row) => String(Object.values(row)[0]));
  const about = { check: name, rule, rows };
  if (heal === undefined) return findingOf({ ...about, state: 'left' });
  if (!fix) return findingOf({ ...about, state: 'healable' });
  const left = await healRows(store, { found, check, heal: heal.bind(check), now });
  return findingOf({ ...about, state: left === 0 ? 'healed' : 'left' });
}

/** The unit `heal-<check>`: all rows of one rule, or none. Returns how many still break it. */
async function healRows(
  store: DoctorStore,
  work: { found: Found[]; check: Check; heal: NonNullable<Check['heal']>; now: number },
): Promise<number> {
  const { check, heal, now } = work;
  let found = work.found;
  await store.query(store.dialect.begin, []);
  try {
    for (let round = 0; found.length > 0 && round < MAX_ROUNDS; round += 1) {
      const before = found.length;
      for (const row of found) await runSteps(store, heal(row, now));
      found = (await store.query(check.find, [])).rows;
      // as many as before: what is left cannot be healed here
      if (found.length === before && round > 0) break;
    }
    await store.query('commit', []);
    return found.length;
  } catch (error) {
    // after a full disk the database has rolled back by itself
    await store.query('rollback', []).catch(() => {});
    throw error;
  }
}

/** Runs statements in order, and gives each its rows before the next is asked for. */
async function runSteps(store: DoctorStore, steps: Iterable<SqlStatement>): Promise<void> {
  const each = steps[Symbol.iterator]() as Iterator<SqlStatement, void, Found[]>;
  let next = each.next([]);
  while (next.done !== true) {
    next = each.next((await store.query(next.value.sql, next.value.params)).rows);
  }
}

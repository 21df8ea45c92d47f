/** Looking a store through that nobody uses: the file, the schema, and what the rows say of each other. */
import type { Clock } from '../../../util/clock.ts';
import { MIGRATIONS, missingMigrations } from '../../sql/schema.ts';
import { inspectFile } from '../inspect-file.ts';
import { migrate } from '../migrate.ts';
import { SqliteConnection } from '../sqlite-connection.ts';
import type { Check, Found } from './check.ts';
import { FOLLOW_UP_CHECKS } from './follow-up-checks.ts';
import { JSON_CHECKS } from './json-checks.ts';
import { LINEAGE_CHECKS } from './lineage-checks.ts';
import { RUN_CHECKS } from './run-checks.ts';
import { TRANSCRIPT_CHECKS } from './transcript-checks.ts';

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
  /** false: the file or its schema kept the rows from being looked at */
  isExamined: boolean;
  findings: Finding[];
}

/** In this order: what an earlier check heals, a later one may rely on. */
const CHECKS: readonly Check[] = [
  ...TRANSCRIPT_CHECKS,
  ...RUN_CHECKS,
  ...FOLLOW_UP_CHECKS,
  ...LINEAGE_CHECKS,
  ...JSON_CHECKS,
];
const MAX_ROWS = 20;
/** Healing a parent may show what is wrong with its children, generation by generation. */
const MAX_ROUNDS = 100;
/** Damage that lies in an index alone, which can be made again from its table. */
const INDEX_DAMAGE = /^(row \d+ missing from index|wrong # of entries in index) /;

/**
 * Returns what is wrong with the store; with `fix` what can be healed is, one transaction per rule.
 * Throws `config` for a newer schema. Nothing that somebody could read is ever removed.
 */
export function examineStore(
  path: string,
  { fix, clock }: { fix: boolean; clock: Clock },
): StoreReport {
  const { damage, schemaVersion } = inspectFile(path);
  const findings: Finding[] = [];
  if (damage.length > 0) {
    findings.push(healFile(path, { damage, fix }));
    if (findings[0]?.state === 'left') return { schemaVersion, isExamined: false, findings };
  }
  const isOld = missingMigrations(schemaVersion, path).length > 0;
  if (isOld) findings.push(schemaFinding(schemaVersion, fix));
  if (isOld && !fix) return { schemaVersion, isExamined: false, findings };
  const connection = new SqliteConnection(path, { readOnly: !fix });
  try {
    if (isOld) migrate(connection, clock);
    for (const check of CHECKS) {
      const finding = runCheck(connection, { check, fix, now: clock.now() });
      if (finding !== undefined) findings.push(finding);
    }
  } finally {
    connection.close();
  }
  return { schemaVersion: MIGRATIONS.length, isExamined: true, findings };
}

function runCheck(
  connection: SqliteConnection,
  { check, fix, now }: { check: Check; fix: boolean; now: number },
): Finding | undefined {
  const { name, rule, heal } = check;
  const found = connection.run(check.find).rows;
  if (found.length === 0) return undefined;
  const rows = found.slice(0, MAX_ROWS).map((row) => String(Object.values(row)[0]));
  const finding = { check: name, rule, count: found.length, rows };
  if (heal === undefined) return { ...finding, state: 'left' };
  if (!fix) return { ...finding, state: 'healable' };
  const left = healRows(connection, { found, check, heal: heal.bind(check), now });
  return { ...finding, state: left === 0 ? 'healed' : 'left' };
}

/** The unit `heal-<check>`: all rows of one rule, or none. Returns how many still break it. */
function healRows(
  connection: SqliteConnection,
  work: { found: Found[]; check: Check; heal: NonNullable<Check['heal']>; now: number },
): number {
  const { check, heal, now } = work;
  let found = work.found;
  connection.run('begin immediate');
  try {
    for (let round = 0; found.length > 0 && round < MAX_ROUNDS; round += 1) {
      const before = found.length;
      for (const row of found) {
        for (const { sql, params } of heal(row, now)) connection.run(sql, params);
      }
      found = connection.run(check.find).rows;
      // as many as before: what is left cannot be healed here
      if (found.length === before && round > 0) break;
    }
    connection.run('commit');
    return found.length;
  } catch (error) {
    if (connection.isInTransaction) connection.run('rollback');
    throw error;
  }
}

function healFile(path: string, { damage, fix }: { damage: string[]; fix: boolean }): Finding {
  const isIndexAlone = damage.every((line) => INDEX_DAMAGE.test(line));
  const finding = {
    check: 'file',
    rule: isIndexAlone
      ? 'an index does not fit its table; it is made again'
      : 'the file is damaged; "trunkline restore FILE" goes back to a backup, nothing here was changed',
    count: damage.length,
    rows: damage,
  };
  if (!isIndexAlone) return { ...finding, state: 'left' };
  if (!fix) return { ...finding, state: 'healable' };
  const connection = new SqliteConnection(path, { readOnly: false });
  try {
    connection.run('reindex');
  } finally {
    connection.close();
  }
  return { ...finding, state: inspectFile(path).damage.length === 0 ? 'healed' : 'left' };
}

function schemaFinding(version: number, fix: boolean): Finding {
  return {
    check: 'schema',
    rule: `the schema is older than this program (${MIGRATIONS.length}); the next start brings it up to date`,
    count: 1,
    rows: [String(version)],
    state: fix ? 'healed' : 'healable',
  };
}

/** Looking a store file through that nobody uses: the file, the schema, and what the rows say of each other. */
import type { Clock } from '../../../util/clock.ts';
import {
  examineRows,
  type Finding,
  findingOf,
  type StoreReport,
} from '../../sql/doctor/examine-rows.ts';
import { schemaFinding } from '../../sql/doctor/schema-finding.ts';
import { NEWEST_VERSION, missingMigrations } from '../../sql/schema.ts';
import { inspectFile } from '../inspect-file.ts';
import { migrate } from '../migrate.ts';
import { SqliteConnection } from '../sqlite-connection.ts';
import { sqliteDoctorDialect as dialect } from './doctor-dialect.ts';

/** Damage that lies in an index alone, which can be made again from its table. */
const INDEX_DAMAGE = /^(row \d+ missing from index|wrong # of entries in index) /;

/**
 * Returns what is wrong with the store; with `fix` what can be healed is, one transaction per rule.
 * Rejects `config` for a newer schema. Nothing that somebody could read is ever removed.
 */
export async function examineStore(
  path: string,
  { fix, clock }: { fix: boolean; clock: Clock },
): Promise<StoreReport> {
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
    const query: SqliteConnection['query'] = (sql, params) => connection.query(sql, params);
    findings.push(...(await examineRows({ dialect, query }, { fix, now: clock.now() })));
  } finally {
    connection.close();
  }
  return { schemaVersion: NEWEST_VERSION, isExamined: true, findings };
}

function healFile(path: string, { damage, fix }: { damage: string[]; fix: boolean }): Finding {
  const isIndexAlone = damage.every((line) => INDEX_DAMAGE.test(line));
  const about = {
    check: 'file',
    rule: isIndexAlone
      ? 'an index does not fit its table; it is made again'
      : 'the file is damaged; "trunkline restore FILE" goes back to a backup, nothing here was changed',
    rows: damage,
  };
  if (!isIndexAlone) return findingOf({ ...about, state: 'left' });
  if (!fix) return findingOf({ ...about, state: 'healable' });
  const connection = new SqliteConnection(path, { readOnly: false });
  try {
    connection.run('reindex');
  } finally {
    connection.close();
  }
  const isWhole = inspectFile(path).damage.length === 0;
  return findingOf({ ...about, state: isWhole ? 'healed' : 'left' });
}

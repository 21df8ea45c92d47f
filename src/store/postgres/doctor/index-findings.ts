/** What Postgres itself knows of its indexes and tables; whatever it may not be asked is left out. */
import { type Finding, findingOf } from '../../sql/doctor/examine-rows.ts';
import type { PgConnection } from '../pg-connection.ts';

/** Of our tables and of those of the job worker. */
const OF_OURS = `c.relnamespace in (to_regnamespace('graphile_worker'),
  (select relnamespace from pg_class where oid = to_regclass('schema_version')))`;

const INVALID = `select c.oid::regclass::text as name from pg_index i
  join pg_class c on c.oid = i.indexrelid
  where not (i.indisvalid and i.indisready) and ${OF_OURS} order by 1`;

const BTREES = `select c.oid::regclass::text as name from pg_index i
  join pg_class c on c.oid = i.indexrelid join pg_am a on a.oid = c.relam
  where a.amname = 'btree' and i.indisvalid and i.indisready and ${OF_OURS} order by 1`;

const TABLES = `select c.oid::regclass::text as name from pg_class c
  where c.relkind = 'r' and c.relpersistence = 'p' and ${OF_OURS} order by 1`;

/** Where amcheck is, when it is there and this user may ask it. */
const AMCHECK = `select n.nspname as schema from pg_extension e
  join pg_namespace n on n.oid = e.extnamespace
  where e.extname = 'amcheck' and exists (select 1 from pg_proc p
    where p.pronamespace = n.oid and p.proname = 'bt_index_check'
      and has_function_privilege(p.oid, 'execute'))
  and exists (select 1 from pg_proc p
    where p.pronamespace = n.oid and p.proname = 'verify_heapam'
      and has_function_privilege(p.oid, 'execute'))`;

/** SQLSTATE of what amcheck finds. */
const DAMAGE: ReadonlySet<unknown> = new Set(['XX001', 'XX002']);

/** Returns what is wrong with indexes and tables; with `fix` indexes are made again. */
export async function indexFindings(
  connection: PgConnection,
  { fix }: { fix: boolean },
): Promise<Finding[]> {
  const findings: Finding[] = [];
  const invalid = await namesOf(connection, INVALID);
  if (invalid.length > 0) {
    findings.push(
      await healIndexes(connection, {
        check: 'index-invalid',
        rule: 'an index was not made to its end, so that it is not used; it is made again',
        names: invalid,
        fix,
        find: () => namesOf(connection, INVALID),
      }),
    );
  }
  const schema = (await connection.query(AMCHECK, [])).rows[0]?.['schema'];
  if (typeof schema === 'string')
    findings.push(...(await damageFindings(connection, { schema, fix })));
  return findings;
}

async function damageFindings(
  connection: PgConnection,
  { schema, fix }: { schema: string; fix: boolean },
): Promise<Finding[]> {
  const findings: Finding[] = [];
  const inSchema = quoted(schema);
  const tables = await damagedOf(connection, {
    names: await namesOf(connection, TABLES),
    ask: `select 1 from ${inSchema}.verify_heapam($1::regclass) limit 1`,
  });
  if (tables.length > 0) {
    const rule =
      'a table is damaged; go back to a backup ("docs/store-care.md"), nothing here was changed';
    findings.push(findingOf({ check: 'table', rule, rows: tables, state: 'left' }));
  }
  const find = async (): Promise<string[]> =>
    damagedOf(connection, {
      names: await namesOf(connection, BTREES),
      ask: `select 1 from ${inSchema}.bt_index_check($1::regclass, true) as asked where asked::text <> ''`,
    });
  const names = await find();
  if (names.length > 0) {
    const rule = 'an index does not fit its table; it is made again';
    findings.push(await healIndexes(connection, { check: 'index', rule, names, fix, find }));
  }
  return findings;
}

/** Those that `ask` answers a row for, or fails on with damage. */
async function damagedOf(
  connection: PgConnection,
  { names, ask }: { names: string[]; ask: string },
): Promise<string[]> {
  const damaged: string[] = [];
  for (const name of names) {
    const isDamaged = await connection.query(ask, [name]).then(
      ({ rows }) => rows.length > 0,
      (error: unknown) => {
        if (isDamage(error)) return true;
        throw error;
      },
    );
    if (isDamaged) damaged.push(name);
  }
  return damaged;
}

async function healIndexes(
  connection: PgConnection,
  work: Pick<Finding, 'check' | 'rule'> & {
    names: string[];
    fix: boolean;
    find: () => Promise<string[]>;
  },
): Promise<Finding> {
  const { check, rule, names, fix, find } = work;
  const about = { check, rule, rows: names };
  if (!fix) return findingOf({ ...about, state: 'healable' });
  // names come quoted from the database
  for (const name of names) await connection.query(`reindex index ${name}`, []);
  return findingOf({ ...about, state: (await find()).length === 0 ? 'healed' : 'left' });
}

async function namesOf(connection: PgConnection, sql: string): Promise<string[]> {
  return (await connection.query(sql, [])).rows.map((row) => String(row['name']));
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** The store's own errors keep the server's as their cause. */
function isDamage(error: unknown): boolean {
  const server = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return server instanceof Error && 'code' in server && DAMAGE.has(server.code);
}

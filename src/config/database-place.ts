import type { ConfigIssue } from './config-issue.ts';
import type { Environment } from './env-references.ts';
import { given } from './state-files.ts';

/** A Postgres database in place of the file in the state directory. */
export interface DatabasePlace {
  url: string;
  /** past a pooler, to the database itself; undefined = `url` leads there */
  directUrl: string | undefined;
}

const URL_NAME = 'TRUNKLINE_DATABASE_URL';
const DIRECT_URL_NAME = 'TRUNKLINE_DATABASE_DIRECT_URL';

/** Returns the database that the environment names, undefined for SQLite, and what is wrong with it. */
export function databasePlaceOf(env: Environment): {
  database: DatabasePlace | undefined;
  errors: ConfigIssue[];
} {
  const url = given(env, URL_NAME);
  const directUrl = given(env, DIRECT_URL_NAME);
  const errors: ConfigIssue[] = [];
  if (url !== undefined && !isPostgresUrl(url)) errors.push(notPostgres(URL_NAME));
  if (directUrl !== undefined && !isPostgresUrl(directUrl))
    errors.push(notPostgres(DIRECT_URL_NAME));
  if (url === undefined && directUrl !== undefined) {
    errors.push({ path: DIRECT_URL_NAME, message: `set ${URL_NAME} as well` });
  }
  return { database: url === undefined ? undefined : { url, directUrl }, errors };
}

function isPostgresUrl(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url !== undefined && /^postgres(ql)?:$/.test(url.protocol) && url.pathname.length > 1;
}

/** The value is not shown: it may hold a password. */
function notPostgres(path: string): ConfigIssue {
  return { path, message: 'expected postgres://user:password@host:port/database' };
}

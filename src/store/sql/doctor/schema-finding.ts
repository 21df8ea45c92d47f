import { NEWEST_VERSION } from '../schema.ts';
import { type Finding, findingOf } from './examine-rows.ts';

/** Returns what to say of a schema that is older than this program. */
export function schemaFinding(version: number, fix: boolean): Finding {
  return findingOf({
    check: 'schema',
    rule: `the schema is older than this program (${NEWEST_VERSION}); the next start brings it up to date`,
    rows: [String(version)],
    state: fix ? 'healed' : 'healable',
  });
}

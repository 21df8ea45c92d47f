/**
 * The numbered migrations, oldest first. A migration that has been released is never changed; a
 * change of the schema is a new one. They are data: the driver runs them, each in one transaction.
 */
import { GatewayError } from '../../protocol/errors.ts';
import type { SqlDialect } from './dialect.ts';
import { fillSearch } from './fill-search.ts';
import { firstTables } from './migrations/0001-first-tables.ts';
import { gateways } from './migrations/0002-gateways.ts';
import { stops } from './migrations/0003-stops.ts';
import { queueAndTurns } from './migrations/0004-queue-and-turns.ts';
import { deliveryDesk } from './migrations/0005-delivery-desk.ts';
import { archive } from './migrations/0006-archive.ts';
import { search } from './migrations/0007-search.ts';
import { usage } from './migrations/0008-usage.ts';
import { treesInOrder } from './migrations/0009-trees-in-order.ts';
import { devices } from './migrations/0010-devices.ts';
import { childrenOfWindows } from './migrations/0011-children-of-windows.ts';
import { budgets } from './migrations/0012-budgets.ts';
import { attachments, nameStore } from './migrations/0013-attachments.ts';
import { deferredCalls } from './migrations/0014-deferred-calls.ts';
import type { SqlSteps } from './sql-steps.ts';

export interface Migration {
  /** the schema version it leads to, counted from 1 */
  version: number;
  name: string;
  statements(dialect: SqlDialect): string[];
  /** What takes more than statements; runs after them, in the same transaction. */
  fill?(dialect: SqlDialect): SqlSteps;
}

export const MIGRATIONS: readonly Migration[] = [
  { version: 1, name: 'first-tables', statements: firstTables },
  { version: 2, name: 'gateways', statements: gateways },
  { version: 3, name: 'stops', statements: stops },
  { version: 4, name: 'queue-and-turns', statements: queueAndTurns },
  { version: 5, name: 'delivery-desk', statements: deliveryDesk },
  { version: 6, name: 'archive', statements: archive },
  { version: 7, name: 'search', statements: search, fill: fillSearch },
  { version: 8, name: 'usage', statements: usage },
  { version: 9, name: 'trees-in-order', statements: treesInOrder },
  { version: 10, name: 'devices', statements: devices },
  { version: 11, name: 'children-of-windows', statements: childrenOfWindows },
  { version: 12, name: 'budgets', statements: budgets },
  { version: 13, name: 'attachments', statements: attachments, fill: nameStore },
  { version: 14, name: 'deferred-calls', statements: deferredCalls },
];

/** The schema that this program works with. */
export const NEWEST_VERSION = MIGRATIONS.at(-1)?.version ?? 0;

/** Says which schema a database has; made before the first migration. */
export const META_TABLE = `
create table if not exists schema_version (
  version integer not null primary key, -- of the schema after this migration
  name text not null,                   -- of the migration
  applied_at bigint not null            -- epoch milliseconds
)`;
export const SELECT_VERSION = 'select coalesce(max(version), 0) as version from schema_version';

/**
 * Returns the migrations that a database at `version` lacks.
 * Throws `config` when a newer Trunkline has written it; `place` names the database.
 */
export function missingMigrations(version: number, place: string): readonly Migration[] {
  if (version > NEWEST_VERSION) {
    throw new GatewayError(
      'config',
      `the store ${place} has schema version ${version}, this Trunkline knows versions up to ${NEWEST_VERSION}; ` +
        'start the newer Trunkline that wrote it, or use another state directory',
    );
  }
  return MIGRATIONS.filter((migration) => migration.version > version);
}

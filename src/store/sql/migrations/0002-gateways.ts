import type { SqlDialect } from '../dialect.ts';

/** Which gateways are alive, where several share one database. A few rows; SQLite keeps it empty. */
export function gateways(_dialect: SqlDialect): string[] {
  return [
    `create table gateways (
      id text not null primary key,         -- boot id, as the owner of lanes
      lock_key bigint not null,             -- advisory lock that its session holds while it lives
      worker_id text,                       -- who has its jobs locked, null until its worker runs
      heartbeat_at bigint not null,         -- epoch ms
      lease_until bigint not null           -- epoch ms: dead from then on
    )`,
  ];
}

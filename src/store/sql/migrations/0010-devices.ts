import type { SqlDialect } from '../dialect.ts';

/** Clients that prove who they are with a key of their own, and those that ask to be let in. */
export function devices({ sortedText }: SqlDialect): string[] {
  return [
    `create table devices (
      id ${sortedText} not null primary key, -- sha256 of the public key, hex
      public_key text not null,             -- Ed25519, the 32 bytes as base64url
      name text not null,                   -- as the client called itself
      platform text not null,
      scopes_json text not null,            -- what it was approved for; a connection gets no more
      approved_by text not null,            -- operator, a device, or loopback: by itself
      approved_at bigint not null,          -- epoch ms
      token_hash text,                      -- sha256 of its token, null = it has none
      token_used_at bigint,                 -- epoch ms, null = nobody has shown it yet
      last_seen_at bigint,                  -- epoch ms of its last connection
      revoked_at bigint                     -- epoch ms, null = it may connect
    )`,
    // devices.page
    `create index devices_approved on devices (approved_at, id)`,
    // devices.oldestRevoked
    `create index devices_revoked on devices (revoked_at, id) where revoked_at is not null`,

    `create table pairings (
      id ${sortedText} not null primary key, -- of the request
      device_id text not null unique,       -- one request a device
      public_key text not null,
      name text not null,
      platform text not null,
      address text not null,                -- where it was asked from
      scopes_json text not null,            -- what it asks for
      created_at bigint not null,           -- epoch ms
      expires_at bigint not null            -- epoch ms: no longer open from then on
    )`,
    // pairings.open, pairings.removeExpired
    `create index pairings_expiry on pairings (expires_at, id)`,
  ];
}

import { randomUUID } from 'node:crypto';
import type { SqlSteps } from '../sql-steps.ts';

/** Files that a spawn brings, and what their calls hold until they are done. */
export function attachments(): string[] {
  return [
    `create table attachments (
      folder_id text not null primary key,  -- name of the folder in .openclaw/attachments
      child_key text not null unique,       -- attachments.ofChild
      agent_id text not null,               -- whose workspace it is in
      files_json text not null,             -- {files: AttachmentFacts[]}: name, bytes, sha256, mimeType
      state text not null,                  -- kept | leaving | gone
      created_at bigint not null            -- epoch ms
    )`,
    // one row: tells folders of this store from those of another in the same workspace
    `create table store_identity (
      id text not null primary key          -- made at random
    )`,
    // {mountPath?} as the spawn named it: kept, and without an effect
    'alter table spawns add column attach_as_json text',
    // the arguments with what no transcript may keep; null once the call is done
    'alter table tool_calls add column held_json text',
    // toolCalls.dropHeld
    'create index tool_calls_held on tool_calls (run_id) where held_json is not null',
  ];
}

/** Gives the store its name. */
export function* nameStore(): SqlSteps {
  yield { sql: `insert into store_identity (id) values ('${randomUUID()}')`, params: [] };
}

import type { SqlDialect } from '../dialect.ts';

/** What keeps the order of a chat, tells how sure a hand-over is, and names who changed what at the desk. */
export function deliveryDesk({ sortedText }: SqlDialect): string[] {
  return [...deliveryColumns(), ...audit(sortedText)];
}

function deliveryColumns(): string[] {
  return [
    // the chat: parts of one route are handed over one after another
    `alter table deliveries add column route_key text not null default ''`,
    // place among all parts of the route, from 1
    `alter table deliveries add column route_seq bigint not null default 1`,
    // the text it is a part of
    `alter table deliveries add column text_key text not null default ''`,
    // place in that text, from 0
    `alter table deliveries add column part integer not null default 0`,
    // how often it was handed to a channel, in all
    `alter table deliveries add column handovers integer not null default 0`,
    // boot id of the gateway that hands it over, null = nobody does
    `alter table deliveries add column sender text`,
    // epoch ms: when the hand-over that is under way began
    `alter table deliveries add column sending_at bigint`,
    // epoch ms: the first hand-over that nobody knows the effect of, null = none
    `alter table deliveries add column unclear_since bigint`,
    // epoch ms: not to be handed over before
    `alter table deliveries add column next_attempt_at bigint not null default 0`,
    // the chat service's own name of what it shows
    `alter table deliveries add column message_id text`,
    // epoch ms
    `alter table deliveries add column sent_at bigint`,
    // sha256 of what an idempotency key of the method send stands for
    `alter table deliveries add column content_hash text`,
    // sessions.findByChat; webchat names the session itself
    `create index sessions_chat on sessions (last_channel, last_to)
      where last_channel is not null and last_channel <> 'webchat'`,
    // Each is a route of its own: then the job that it has, deliver:<delivery_id>, is that of its route.
    `update deliveries set route_key = delivery_id, text_key = delivery_id, handovers = attempts,
      sending_at = case when state = 'sending' then updated_at end,
      sent_at = case when state = 'sent' then updated_at end`,
    // deliveries.lastOfRoute, deliveries.pageOfRoute
    `create index deliveries_route on deliveries (route_key, route_seq)`,
    // deliveries.headOfRoute
    `create index deliveries_open on deliveries (route_key, route_seq)
      where state in ('queued', 'sending')`,
    // deliveries.ofText
    `create index deliveries_text on deliveries (text_key, part)`,
    // deliveries.pageOfState, retrying; as an expression, so that the index of all states is none for it
    `create index deliveries_retrying on deliveries (created_at, delivery_id)
      where coalesce(state, '') = 'queued' and attempts > 0`,
  ];
}

function audit(sortedText: string): string[] {
  return [
    `create table audit (
      id ${sortedText} not null primary key, -- of this line
      at bigint not null,                   -- epoch ms
      actor text not null,                  -- who: operator, a device, a session key, gateway
      action text not null,                 -- what was done, by its method: deliveries.retry
      subject_kind text not null,           -- what it was done to: delivery, session, …
      subject_id text not null,             -- which one
      session_key text,                     -- the session it is about, null = none
      detail_json text                      -- states and numbers; never content
    )`,
    // audit.page
    `create index audit_time on audit (at, id)`,
    `create index audit_session on audit (session_key, at, id) where session_key is not null`,
    `create index audit_subject on audit (subject_kind, subject_id, at, id)`,
    `create index audit_action on audit (action, at, id)`,
    `create index audit_actor on audit (actor, at, id)`,
  ];
}

/** Putting texts into the outbox. Every outbound path goes through here (A6, A14, A19). */
import { routeOfKey } from '../../core/key-route.ts';
import { channelOf, chatTypeOf } from '../../core/keys.ts';
import { routeKeyOf } from '../../core/route-key.ts';
import { routeOfParts } from '../../core/route-of-parts.ts';
import type { Refusal } from '../../core/refusals.ts';
import { decideSendPolicy, SEND_BLOCKED_TEXT } from '../../core/send-policy.ts';
import { visibleText } from '../../core/silence.ts';
import { splitText } from '../../core/split-text.ts';
import { parseStoredObject } from '../../core/stored-message.ts';
import type { Config } from '../../protocol/options/config.ts';
import type { Route } from '../../protocol/words.ts';
import type { DeliveryRow } from '../../store/delivery-repository.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import type { RunContext } from '../context.ts';
import { type RowPlace, unreadableReporter } from '../unreadable-rows.ts';
import { forgetPurged } from './forget-purged.ts';
import { addRouteJob } from './route.ts';

/** Longest part on a channel that says nothing of its own limit. */
const DEFAULT_PART_LENGTH = 4000;

export interface OutgoingText {
  /** the session whose chat receives it; its send policy decides. Undefined = none is known */
  session: SessionRow | undefined;
  route: Route | undefined;
  runId: string | null;
  text: string;
  /** names the effect; the same key is put in once, however often it is tried */
  key: string;
  /** set when something else keeps it from a chat, e.g. a stopped child */
  suppressedBy?: string;
  /** what the key stands for, where a caller has chosen it */
  contentHash?: string;
  /** it confirms an owner's command, which a denied chat is told as well (A6) */
  isConfirmation?: boolean;
}

/** Returns where a session's chat is: its last route, else the chat that its key names (B5.5). */
export function routeOf(session: SessionRow): Route | undefined {
  if (session.lastChannel !== null) {
    return routeOfParts(session.lastChannel, {
      to: session.lastTo,
      accountId: session.lastAccountId,
      threadId: session.lastThreadId,
    });
  }
  return routeOfKey(session.key);
}

/** Returns how a session keeps a route as its last one. */
export function toLastRoute({
  channel,
  to,
  accountId,
  threadId,
}: Route): Pick<SessionRow, 'lastChannel' | 'lastTo' | 'lastAccountId' | 'lastThreadId'> {
  return {
    lastChannel: channel,
    lastTo: to ?? null,
    lastAccountId: accountId ?? null,
    lastThreadId: threadId ?? null,
  };
}

/** Returns a stored route; undefined when it cannot be read, because a text must not go to a guessed chat. */
export function storedRoute(
  context: Pick<RunContext, 'store' | 'logger'>,
  { routeJson, ...place }: RowPlace & { routeJson: string },
): Route | undefined {
  const route = parseStoredObject(routeJson);
  if (typeof route?.['channel'] === 'string') return route as unknown as Route;
  unreadableReporter(context)(place);
  return undefined;
}

/** True when a text for this route can reach somebody: `internal` and `unknown` are no chats (A10). */
export function isChatRoute(route: Route | undefined): route is Route {
  return route !== undefined && route.channel !== 'internal' && route.channel !== 'unknown';
}

/** Returns whether the session's send policy lets text out, with the deciding rule. */
export function sendPolicyOf(
  config: Config,
  session: SessionRow,
): { allowed: boolean; rule: string } {
  return decideSendPolicy(config.session.sendPolicy, {
    key: session.key,
    channel: channelOf(session),
    chatType: chatTypeOf(session),
    sendPolicy: session.sendPolicy,
  });
}

/** Returns what refuses a message to a session whose send policy denies it, or undefined. */
export function sendPolicyRefusal(config: Config, session: SessionRow): Refusal | undefined {
  const { allowed, rule: name } = sendPolicyOf(config, session);
  if (allowed) return undefined;
  const setting = session.sendPolicy === null ? { name } : { name, value: session.sendPolicy };
  const error = `${SEND_BLOCKED_TEXT} (${name})`;
  return { status: 'forbidden', error, rule: 'send_policy', setting };
}

/**
 * Adds the parts of a text to the outbox in the caller's transaction, once per key, and returns those
 * that it added. Silence adds nothing; a text that may not or cannot go out is recorded `suppressed`
 * with the reason.
 */
export async function putOutgoing(
  tx: WriteTx,
  context: RunContext,
  outgoing: OutgoingText,
): Promise<DeliveryRow[]> {
  const visible = visibleText(outgoing.text);
  if (visible.silent || (await tx.deliveries.get(partIdOf(outgoing.key, 0))) !== undefined)
    return [];
  const reason = suppressionOf(context, outgoing);
  const route: Route = isChatRoute(outgoing.route) ? outgoing.route : { channel: 'unknown' };
  const maxLength = context.channels.get(route.channel)?.maxPartLength ?? DEFAULT_PART_LENGTH;
  const routeKey = routeKeyOf(route);
  // What never goes out has no place in the order of its chat.
  const last = reason === undefined ? await tx.deliveries.lastOfRoute(routeKey) : undefined;
  const isFirst = (await tx.deliveries.headOfRoute(routeKey)) === undefined;
  const rows = splitText(visible.text, maxLength).map((text, part): DeliveryRow => ({
    ...newPart(tx.now, { outgoing, route, routeKey, part }),
    routeSeq: reason === undefined ? (last?.routeSeq ?? 0) + part + 1 : 0,
    text,
    state: reason === undefined ? 'queued' : 'suppressed',
    reason: reason ?? null,
  }));
  for (const row of rows) {
    await tx.deliveries.insert(row);
    await forgetPurged(tx, row);
  }
  // Where parts are open their job is there, and may be at one of them.
  if (reason === undefined && isFirst) await addRouteJob(tx, routeKey, tx.now);
  return rows;
}

/** Returns the name of a part of the text that this key names. */
export function partIdOf(key: string, part: number): string {
  return `${key}:${part}`;
}

function newPart(
  now: number,
  {
    outgoing: { key, session, runId, contentHash },
    route,
    routeKey,
    part,
  }: { outgoing: OutgoingText; route: Route; routeKey: string; part: number },
): Omit<DeliveryRow, 'routeSeq' | 'text' | 'state' | 'reason'> {
  const id = partIdOf(key, part);
  return {
    deliveryId: id,
    idempotencyKey: id,
    sessionKey: session?.key ?? '',
    channel: route.channel,
    routeTo: route.to ?? null,
    accountId: route.accountId ?? null,
    threadId: route.threadId ?? null,
    runId,
    routeKey,
    textKey: key,
    part,
    attempts: 0,
    handovers: 0,
    sender: null,
    sendingAt: null,
    unclearSince: null,
    nextAttemptAt: now,
    messageId: null,
    sentAt: null,
    contentHash: contentHash ?? null,
    createdAt: now,
    updatedAt: now,
  };
}

function suppressionOf(context: RunContext, outgoing: OutgoingText): string | undefined {
  if (outgoing.suppressedBy !== undefined) return outgoing.suppressedBy;
  if (!isChatRoute(outgoing.route)) return 'no_route';
  const { session } = outgoing;
  // Without a session the caller has judged it by the rules, see `sendDirect`.
  if (session === undefined || outgoing.isConfirmation === true) return undefined;
  return sendPolicyOf(context.config(), session).allowed ? undefined : 'send_policy';
}

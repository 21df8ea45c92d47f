/** Putting texts into the outbox. Every outbound path goes through here (A6, A14, A19). */
import { routeOfKey } from '../../core/key-route.ts';
import { channelOf, chatTypeOf } from '../../core/keys.ts';
import { routeKeyOf } from '../../core/route-key.ts';
import { decideSendPolicy } from '../../core/send-policy.ts';
import { visibleText } from '../../core/silence.ts';
import { splitText } from '../../core/split-text.ts';
import { parseStoredObject } from '../../core/stored-message.ts';
import type { Config } from '../../protocol/options/config.ts';
import type { Route } from '../../protocol/words.ts';
import type { DeliveryRow, SessionRow } from '../../store/rows.ts';
import type { WriteTx } from '../../store/store.ts';
import type { RunContext } from '../context.ts';
import { type RowPlace, unreadableReporter } from '../unreadable-rows.ts';

/** Longest part on a channel that says nothing of its own limit. */
const DEFAULT_PART_LENGTH = 4000;

export interface OutgoingText {
  /** the session whose chat receives it; its send policy decides */
  session: SessionRow;
  route: Route | undefined;
  runId: string | null;
  text: string;
  /** names the effect; the same key is put in once, however often it is tried */
  key: string;
  /** set when something else keeps it from a chat, e.g. a stopped child */
  suppressedBy?: string;
}

/** Returns where a session's chat is: its last route, else the chat that its key names (B5.5). */
export function routeOf(session: SessionRow): Route | undefined {
  if (session.lastChannel !== null) {
    return routeWith(session.lastChannel, {
      to: session.lastTo,
      accountId: session.lastAccountId,
      threadId: session.lastThreadId,
    });
  }
  return routeOfKey(session.key);
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

/**
 * Adds the parts of a text to the outbox in the caller's transaction. Silence adds nothing; a text
 * that may not or cannot go out is recorded `suppressed` with the reason.
 */
export async function putOutgoing(
  tx: WriteTx,
  context: RunContext,
  outgoing: OutgoingText,
): Promise<void> {
  const visible = visibleText(outgoing.text);
  if (visible.silent) return;
  const { route } = outgoing;
  const reason = suppressionOf(context, outgoing);
  const channel = isChatRoute(route) ? route.channel : 'unknown';
  const maxLength = context.channels.get(channel)?.maxPartLength ?? DEFAULT_PART_LENGTH;
  const routeKey = routeKeyOf({ ...route, channel });
  const last = await tx.deliveries.lastOfRoute(routeKey);
  for (const [index, text] of splitText(visible.text, maxLength).entries()) {
    const row: DeliveryRow = {
      deliveryId: `${outgoing.key}:${index}`,
      idempotencyKey: `${outgoing.key}:${index}`,
      sessionKey: outgoing.session.key,
      channel,
      routeTo: route?.to ?? null,
      accountId: route?.accountId ?? null,
      threadId: route?.threadId ?? null,
      runId: outgoing.runId,
      routeKey,
      routeSeq: (last?.routeSeq ?? 0) + index + 1,
      textKey: outgoing.key,
      part: index,
      text,
      state: reason === undefined ? 'queued' : 'suppressed',
      reason: reason ?? null,
      attempts: 0,
      handovers: 0,
      sender: null,
      sendingAt: null,
      unclearSince: null,
      nextAttemptAt: tx.now,
      messageId: null,
      sentAt: null,
      contentHash: null,
      createdAt: tx.now,
      updatedAt: tx.now,
    };
    const isNew = await tx.deliveries.insert(row);
    if (!isNew || reason !== undefined) continue;
    await tx.jobs.add({
      jobKey: `deliver:${row.deliveryId}`,
      kind: 'deliver',
      payloadJson: JSON.stringify({ deliveryId: row.deliveryId }),
      runAt: tx.now,
    });
    tx.signal({ type: 'job' });
  }
}

function suppressionOf(context: RunContext, outgoing: OutgoingText): string | undefined {
  if (outgoing.suppressedBy !== undefined) return outgoing.suppressedBy;
  if (!isChatRoute(outgoing.route)) return 'no_route';
  return sendPolicyOf(context.config(), outgoing.session).allowed ? undefined : 'send_policy';
}

function routeWith(
  channel: string,
  rest: { to: string | null; accountId: string | null; threadId: string | null },
): Route {
  return {
    channel,
    ...(rest.to === null ? {} : { to: rest.to }),
    ...(rest.accountId === null ? {} : { accountId: rest.accountId }),
    ...(rest.threadId === null ? {} : { threadId: rest.threadId }),
  };
}

/** `send`: a text to a chat, outside of any run, through the same outbox (B10.4, A13). */
import type { SentDirect } from '../../protocol/answers/delivery-answers.ts';
import { chatKeyOf } from '../../core/chat-key.ts';
import { type OperatorCaller, operatorName } from '../../core/caller.ts';
import { routeOfParts } from '../../core/route-of-parts.ts';
import { decideSendPolicy, SEND_BLOCKED_TEXT } from '../../core/send-policy.ts';
import { visibleText } from '../../core/silence.ts';
import { worstDelivery } from '../../core/worst-delivery.ts';
import type { Config } from '../../protocol/options/config.ts';
import { GatewayError } from '../../protocol/errors.ts';
import { CHAT_TYPES, type Route } from '../../protocol/words.ts';
import type { DeliveryRow } from '../../store/delivery-repository.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { ReadTx } from '../../store/store.ts';
import type { RunContext } from '../context.ts';
import { contentHashOf } from '../runs/accept-run.ts';
import { keySettings } from '../sessions/key-settings.ts';
import { lookUpForOperator } from '../sessions/resolve-caller.ts';
import { partIdOf, putOutgoing, sendPolicyOf } from './outbox.ts';
import { briefly } from '../../util/briefly.ts';

export interface SendDirect {
  /** address of the chat; of webchat the session */
  to: string;
  message: string;
  /** default: webchat */
  channel?: string;
  accountId?: string;
  threadId?: string;
  idempotencyKey: string;
}

/** How long the answer waits for the chat. */
const ANSWER_AFTER_MS = 5000;
/** Sessions that share a chat and are asked whether they let texts out. */
const MAX_SESSIONS = 50;

/**
 * Puts the text into the outbox, once per key, and answers when the chat has it, or soon. Rejects with
 * what was wrong, before any effect.
 */
export async function sendDirect(
  context: RunContext,
  { caller, send, signal }: { caller: OperatorCaller; send: SendDirect; signal?: AbortSignal },
): Promise<SentDirect> {
  refuseUnsendable(context, send);
  const textKey = `send:${operatorName(caller)}:${send.idempotencyKey}`;
  await context.store.write('accept-direct', async (tx) => {
    const place = await placeOf(tx, context.config(), send);
    const contentHash = contentHashOf({ route: place.route, message: send.message });
    const earlier = await tx.deliveries.get(partIdOf(textKey, 0));
    if (earlier !== undefined && earlier.contentHash !== contentHash) {
      throw new GatewayError(
        'key_conflict',
        'send: this idempotencyKey was used for another text; use a new key for a new text',
      );
    }
    if (earlier !== undefined) return;
    refuseDenied(context.config(), place);
    const outgoing = { session: place.sessions[0], route: place.route, runId: null };
    await putOutgoing(tx, context, { ...outgoing, text: send.message, key: textKey, contentHash });
  });
  return toAnswer(await partsWhenSettled(context, { textKey, signal }));
}

function refuseUnsendable({ channels }: RunContext, { channel, message }: SendDirect): void {
  if (channel !== undefined && !channels.has(channel)) {
    throw new GatewayError(
      'invalid_request',
      `send: no channel ${briefly(channel)} is set up here`,
    );
  }
  if (!visibleText(message).silent) return;
  throw new GatewayError(
    'invalid_request',
    'send: message: nothing of it would be shown; words such as NO_REPLY are taken out',
  );
}

interface Place {
  route: Route;
  /** whose chat it is, the one that wrote last first; empty = none is known */
  sessions: SessionRow[];
}

async function placeOf(tx: ReadTx, config: Config, send: SendDirect): Promise<Place> {
  const { to, channel = 'webchat', accountId, threadId } = send;
  if (channel === 'webchat') {
    const { key, session, closure } = await lookUpForOperator(tx, config, to);
    if (closure !== undefined) {
      throw new GatewayError(
        'invalid_request',
        `send: session ${key} is ${closure}; it takes no texts`,
      );
    }
    return { route: { channel, to: key }, sessions: session === undefined ? [] : [session] };
  }
  const route = routeOfParts(channel, { to, accountId, threadId });
  const chat = { channel, to, accountId: accountId ?? null, threadId: threadId ?? null };
  const sessions = await tx.sessions.findByChat({ ...chat, limit: MAX_SESSIONS });
  return { route, sessions: sessions.toSorted((a, b) => b.updatedAt - a.updatedAt) };
}

/**
 * Judged by the sessions whose chat it is: one that denies is enough. Where none is known, by the rules
 * as for a direct, a group and a channel chat of this address.
 */
function refuseDenied(config: Config, { route, sessions }: Place): void {
  const known = sessions.map((session) => sendPolicyOf(config, session));
  const decisions = known.length > 0 ? known : decisionsOfStranger(config, route);
  const denied = decisions.find(({ allowed }) => !allowed);
  if (denied === undefined) return;
  throw new GatewayError('invalid_request', `${SEND_BLOCKED_TEXT} (${denied.rule})`);
}

function decisionsOfStranger(
  config: Config,
  { channel, to = '' }: Route,
): { allowed: boolean; rule: string }[] {
  const { mainKey, scope, defaultAgentId: agentId } = keySettings(config);
  return CHAT_TYPES.map((chatType) => {
    const chat = { channel, type: chatType, id: to };
    const found = chatKeyOf(chat, { agentId, mainKey, scope });
    const key = found.ok ? found.key : '';
    const stranger = { key, channel, chatType, sendPolicy: null };
    return decideSendPolicy(config.session.sendPolicy, stranger);
  });
}

/** Resolves when every part has come to an end, or after a while, with the parts as they are. */
async function partsWhenSettled(
  { store }: RunContext,
  { textKey, signal }: { textKey: string; signal: AbortSignal | undefined },
): Promise<DeliveryRow[]> {
  const limit = AbortSignal.timeout(ANSWER_AFTER_MS);
  const over = signal === undefined ? limit : AbortSignal.any([limit, signal]);
  const isOver = new Promise((resolve) => {
    over.addEventListener('abort', resolve, { once: true });
  });
  for (;;) {
    const { promise: changed, resolve } = Promise.withResolvers<void>();
    const stopListening = store.onSignal((told) => {
      const isOurs = told.type === 'delivery' && told.deliveryId.startsWith(`${textKey}:`);
      if (isOurs || told.type === 'resync') resolve();
    });
    try {
      const parts = await store.read((tx) => tx.deliveries.ofText(textKey));
      if (over.aborted || !parts.some(isOpen)) return parts;
      await Promise.race([changed, isOver]);
    } finally {
      stopListening();
    }
  }
}

function isOpen({ state }: DeliveryRow): boolean {
  return state === 'queued' || state === 'sending';
}

function toAnswer(parts: readonly DeliveryRow[]): SentDirect {
  const messageId = parts[0]?.messageId;
  return {
    channel: parts[0]?.channel ?? '',
    state: worstDelivery(parts)?.state ?? 'sent',
    deliveryIds: parts.map(({ deliveryId }) => deliveryId),
    ...(messageId === null || messageId === undefined ? {} : { messageId }),
  };
}

/** The one place where a channel is called with a text. */
import type { ChannelAdapter, OutgoingPart } from '../../channels/channel.ts';
import type { ChannelTraits, DeliveryEvent } from '../../core/delivery-state.ts';
import type { DeliveryRow } from '../../store/delivery-repository.ts';
import type { RunContext } from '../context.ts';
import { type CallEnd, callLimitOf, type ChannelCalls, REASON_MAX } from './channel-calls.ts';

/** Characters of what a chat service calls a message. */
const ID_MAX = 1000;

export interface DeliveryContext extends RunContext {
  channelCalls: ChannelCalls;
}

/** Hands a part to its channel and returns what came of it. */
export async function handOver(context: DeliveryContext, row: DeliveryRow): Promise<DeliveryEvent> {
  const channel = context.channels.get(row.channel);
  if (channel === undefined) {
    return { type: 'failed', reason: `no channel ${row.channel} is set up here` };
  }
  if (context.store.shared?.holdsLease() === false) {
    return { type: 'refused', reason: 'this gateway had lost touch with the database' };
  }
  const end = await context.channelCalls.call(callLimitOf(channel), (signal) =>
    channel.send(partOf(row), signal),
  );
  return toEvent(end);
}

/** A channel is code of others: what is none of the answers it may give says nothing of the text. */
function toEvent(end: CallEnd<unknown>): DeliveryEvent {
  if (end.type === 'not_made') return { type: 'refused', reason: end.reason };
  if (end.type !== 'answered') return { type: 'unclear', reason: end.reason };
  const { status, reason, messageId } = { ...(end.answer as Record<string, unknown> | null) };
  if (status === 'sent') return { type: 'sent', messageId: knownId(messageId) };
  if (typeof reason !== 'string') return { type: 'unclear', reason: NO_ANSWER };
  if (status === 'retry') return { type: 'refused', reason: reason.slice(0, REASON_MAX) };
  if (status === 'failed' || status === 'unclear')
    return { type: status, reason: reason.slice(0, REASON_MAX) };
  return { type: 'unclear', reason: NO_ANSWER };
}

const NO_ANSWER = 'the channel answered what is no answer';

/** A name that is cut names nothing. */
function knownId(messageId: unknown): string | undefined {
  return typeof messageId === 'string' && messageId.length <= ID_MAX ? messageId : undefined;
}

/** Looks whether the chat has a part, and returns what that says. */
export async function lookAt(context: DeliveryContext, row: DeliveryRow): Promise<DeliveryEvent> {
  const channel = context.channels.get(row.channel);
  const end = await context.channelCalls.call(
    callLimitOf(channel),
    async (signal) => (await channel?.readBack?.(partOf(row), signal)) ?? 'unknown',
  );
  if (end.type !== 'answered') return { type: 'look_failed', reason: end.reason };
  if (end.answer === 'sent') return { type: 'found' };
  return { type: end.answer === 'not-sent' ? 'not_found' : 'not_told' };
}

/** Offers a part that was sent by another gateway to the clients of this one. */
export async function offerToOwnClients(context: RunContext, deliveryId: string): Promise<void> {
  const row = await context.store.read((tx) => tx.deliveries.get(deliveryId));
  const channel = row === undefined ? undefined : context.channels.get(row.channel);
  if (row?.state !== 'sent' || row.text === '' || channel?.reachesOwnClients !== true) return;
  await channel.send(partOf(row), new AbortController().signal);
}

/** Returns what a channel promises; one that is not set up promises nothing. */
export function traitsOf(channel: ChannelAdapter | undefined): ChannelTraits {
  return {
    idempotent: channel?.idempotent === true,
    idempotencyWindowMs: channel?.idempotencyWindowMs,
    canReadBack: channel?.readBack !== undefined,
    callLimitMs: callLimitOf(channel),
  };
}

function partOf(row: DeliveryRow): OutgoingPart {
  const { idempotencyKey, sessionKey, runId, routeTo: to, accountId, threadId, text } = row;
  return { idempotencyKey, sessionKey, runId, to, accountId, threadId, text };
}

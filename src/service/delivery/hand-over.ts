/** The one place where a channel is called with a text. */
import type { ChannelAdapter, OutgoingPart, SendOutcome } from '../../channels/channel.ts';
import type { ChannelTraits, DeliveryEvent } from '../../core/delivery-state.ts';
import type { DeliveryRow } from '../../store/rows.ts';
import type { RunContext } from '../context.ts';
import { type CallEnd, callLimitOf, type ChannelCalls, REASON_MAX } from './channel-calls.ts';

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

function toEvent(end: CallEnd<SendOutcome>): DeliveryEvent {
  if (end.type === 'not_made') return { type: 'refused', reason: end.reason };
  if (end.type !== 'answered') return { type: 'unclear', reason: end.reason };
  const { answer } = end;
  switch (answer.status) {
    case 'sent':
      return { type: 'sent', messageId: answer.messageId };
    case 'retry':
      return { type: 'refused', reason: answer.reason.slice(0, REASON_MAX) };
    case 'failed':
    case 'unclear':
      return { type: answer.status, reason: answer.reason.slice(0, REASON_MAX) };
  }
}

/** Looks whether the chat has a part, and returns what that says. */
export async function lookAt(context: DeliveryContext, row: DeliveryRow): Promise<DeliveryEvent> {
  const channel = context.channels.get(row.channel);
  const end = await context.channelCalls.call(
    callLimitOf(channel),
    async (signal) => (await channel?.readBack?.(partOf(row), signal)) ?? 'unknown',
  );
  if (end.type !== 'answered') return { type: 'look_failed', reason: end.reason };
  const told = { sent: 'found', 'not-sent': 'not_found', unknown: 'not_told' } as const;
  return { type: told[end.answer] };
}

/** Offers a part that was sent by another gateway to the clients of this one. */
export async function offerToOwnClients(context: RunContext, deliveryId: string): Promise<void> {
  const row = await context.store.read((tx) => tx.deliveries.get(deliveryId));
  const channel = row === undefined ? undefined : context.channels.get(row.channel);
  if (row?.state !== 'sent' || channel?.reachesOwnClients !== true) return;
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

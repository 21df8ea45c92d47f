/**
 * Run events as `agent` and `chat` payloads (SPEC B10.5), for each protocol version. `seq` is added
 * per connection, when the frame is written.
 */
import type { AgentPayload, ChatMessage, ChatPayload } from '../protocol/events.ts';
import type { ProtocolVersion } from '../protocol/versions.ts';
import type { RunEvent } from '../service/run-events.ts';
import type { TextStep } from './run-text.ts';

type WithoutSeq<Payload> = Payload extends unknown ? Omit<Payload, 'seq'> : never;
export type AgentBody = WithoutSeq<AgentPayload>;
export type ChatBody = WithoutSeq<ChatPayload>;
type EventOf<Type extends RunEvent['type']> = Extract<RunEvent, { type: Type }>;

/** What a connection is told of a step: everything so far when it was told nothing yet. */
export interface TextView {
  protocol: ProtocolVersion;
  isFirst: boolean;
}

/** Returns the `chat` delta of a step, or undefined when this version skips it. */
export function encodeChatDelta(
  event: EventOf<'delta'>,
  { step, view, now }: { step: TextStep; view: TextView; now: number },
): ChatBody | undefined {
  const base = { ...idsOf(event), state: 'delta' as const };
  const message = toChatMessage(step.text, now);
  if (view.protocol === 3)
    return step.snapshotDelta === undefined ? undefined : { ...base, message };
  if (step.replace) return { ...base, deltaText: step.text, replace: true, message };
  return { ...base, deltaText: view.isFirst ? step.text : step.delta };
}

/** Returns the `agent` text event of a step, or undefined when this version skips it. */
export function encodeAgentDelta(
  event: EventOf<'delta'>,
  { step, view, now }: { step: TextStep; view: TextView; now: number },
): AgentBody | undefined {
  const base = { ...idsOf(event), ts: now, stream: 'assistant' as const };
  const { text, replace } = step;
  if (view.protocol === 3) {
    if (step.snapshotDelta === undefined) return undefined;
    return { ...base, data: { text, delta: view.isFirst ? text : step.snapshotDelta } };
  }
  if (replace) return { ...base, data: { text, delta: text, replace } };
  return { ...base, data: { delta: view.isFirst ? text : step.delta } };
}

/** Returns the closing `agent` text event, which has the whole reply. */
export function encodeAgentText(
  event: EventOf<'ended'>,
  { delta, replace, now }: { delta: string; replace: boolean; now: number },
): AgentBody {
  const data = {
    text: event.reply,
    delta,
    ...(replace ? { replace: true as const } : {}),
    final: true as const,
  };
  return { ...idsOf(event), ts: now, stream: 'assistant', data };
}

/** Returns the lifecycle event of a run that begins, or begins again. */
export function encodeStart(event: EventOf<'started'>, now: number): AgentBody {
  const { startedAt, attempt } = event;
  const data = { phase: 'start' as const, startedAt, attempt };
  return { ...idsOf(event), ts: now, stream: 'lifecycle', data };
}

/** Returns the lifecycle event of a run that has ended: `end` when it ended ok, else `error`. */
export function encodeEnd(event: EventOf<'ended'>, now: number): AgentBody {
  const { state, startedAt, endedAt, error, mergedInto } = event;
  return {
    ...idsOf(event),
    ts: now,
    stream: 'lifecycle',
    data: {
      phase: state === 'ok' ? 'end' : 'error',
      outcome: state,
      ...(startedAt === undefined ? {} : { startedAt }),
      endedAt,
      ...(error === undefined ? {} : { error }),
      ...(mergedInto === undefined ? {} : { mergedInto }),
    },
  };
}

/** Returns the event of a tool call that starts or ends. */
export function encodeTool(event: EventOf<'tool'>, now: number): AgentBody {
  const { runId, sessionKey, type: _type, ...data } = event;
  return { runId, sessionKey, ts: now, stream: 'tool', data };
}

/** Returns the closing `chat` event, or undefined when a delivery carries it. */
export function encodeChatEnd(
  event: EventOf<'ended'>,
  protocol: ProtocolVersion,
): ChatBody | undefined {
  const { mergedInto } = event;
  const base = { ...idsOf(event), ...(mergedInto === undefined ? {} : { mergedInto }) };
  const message = event.reply === '' ? {} : { message: toChatMessage(event.reply, event.endedAt) };
  switch (event.state) {
    case 'ok':
      return event.delivered ? undefined : { ...base, state: 'final', ...message };
    case 'aborted':
      return { ...base, state: 'aborted', ...message };
    case 'error':
    case 'timeout':
      return {
        ...base,
        state: 'error',
        errorMessage: event.error ?? `the run ended with ${event.state}`,
        ...(protocol === 3 ? {} : { errorKind: event.state }),
      };
  }
}

/** Returns the `chat` event of a text that no run streams: one that the outbox hands over, or a note of the operator. */
export function encodeChatText(
  event: EventOf<'chat_delivery' | 'chat_note'>,
  now: number,
): ChatBody {
  const delivery = event.type === 'chat_delivery' ? { deliveryId: event.deliveryId } : {};
  return {
    ...idsOf(event),
    state: 'final',
    message: toChatMessage(event.text, now),
    ...delivery,
  };
}

function idsOf({ runId, sessionKey }: { runId: string; sessionKey: string }) {
  return { runId, sessionKey };
}

function toChatMessage(text: string, timestamp: number): ChatMessage {
  return { role: 'assistant', content: [{ type: 'text', text }], timestamp };
}

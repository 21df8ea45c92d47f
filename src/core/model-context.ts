/**
 * From stored messages to what a model is given: markers on routed turns, no dangling tool calls, no
 * leftovers of failed calls. Nothing here changes what is stored.
 */
import {
  type AssistantMessage,
  type Message,
  toolCallsOf,
  type ToolResultMessage,
  type UserMessage,
} from '../protocol/message.ts';
import { EARLIER_MARKER, routedMarker } from './prompts.ts';

export interface ContextMessage {
  message: Message;
  runId: string | null;
}

/** What the model sees instead of, or in front of, the text of the run's own message. */
export interface OwnPrompt {
  runId: string;
  /** line in front of the stored text */
  prefix?: string;
  /** whole text in place of the stored one */
  replace?: string;
}

/** Returns the messages in order, ready for a runtime. */
export function toModelContext(entries: readonly ContextMessage[], own: OwnPrompt): Message[] {
  const messages: Message[] = [];
  const lastOwn = ownMessageIndex(entries, own.runId);
  for (const [index, { message }] of entries.entries()) {
    if (message.role === 'toolResult') {
      if (openCalls(messages).has(message.toolCallId)) messages.push(message);
      continue;
    }
    if (message.role === 'assistant' && !isUsable(message)) continue;
    messages.push(...missingResults(messages));
    if (message.role === 'assistant') messages.push(message);
    else messages.push(index === lastOwn ? withOwnPrompt(message, own) : withMarker(message));
  }
  return messages[0]?.role === 'assistant' ? [openingOf(messages[0]), ...messages] : messages;
}

/** Providers refuse a conversation that the assistant opens, as it does with a note of the operator. */
function openingOf({ timestamp }: AssistantMessage): UserMessage {
  return { role: 'user', content: [{ type: 'text', text: EARLIER_MARKER }], timestamp };
}

/** What comes in after the run has begun to answer was steered into it and is not its own message. */
function ownMessageIndex(entries: readonly ContextMessage[], runId: string): number {
  const isOwn = (role: Message['role']) => (entry: ContextMessage) =>
    entry.message.role === role && entry.runId === runId;
  const answer = entries.findIndex(isOwn('assistant'));
  return entries.slice(0, answer < 0 ? undefined : answer).findLastIndex(isOwn('user'));
}

function withOwnPrompt(message: UserMessage, own: OwnPrompt): UserMessage {
  if (own.replace !== undefined) return withText(message, own.replace);
  if (own.prefix !== undefined) return withText(message, `${own.prefix}\n${plainText(message)}`);
  return withMarker(message);
}

function withMarker(message: UserMessage): UserMessage {
  if (message.provenance === undefined) return message;
  return withText(message, `${routedMarker(message.provenance)}\n${plainText(message)}`);
}

function plainText(message: UserMessage): string {
  if (typeof message.content === 'string') return message.content;
  return message.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
}

function withText(message: UserMessage, text: string): UserMessage {
  const images =
    typeof message.content === 'string'
      ? []
      : message.content.filter((block) => block.type === 'image');
  return { ...message, content: [{ type: 'text', text }, ...images] };
}

/** An assistant message that failed or was cut before it said anything would only confuse the next call. */
function isUsable(message: AssistantMessage): boolean {
  const failed = message.stopReason === 'error' || message.stopReason === 'aborted';
  if (!failed) return message.content.length > 0;
  return (
    toolCallsOf(message).length === 0 &&
    message.content.some((block) => block.type === 'text' && block.text.trim() !== '')
  );
}

/** Calls of the newest assistant message that have no result yet: id → tool name. */
function openCalls(messages: readonly Message[]): Map<string, string> {
  const at = messages.findLastIndex((message) => message.role === 'assistant');
  const assistant = messages[at];
  const open = new Map<string, string>();
  if (assistant?.role !== 'assistant') return open;
  for (const call of toolCallsOf(assistant)) open.set(call.id, call.name);
  for (const message of messages.slice(at + 1)) {
    if (message.role === 'toolResult') open.delete(message.toolCallId);
  }
  return open;
}

/** Providers refuse a transcript with open calls, so each gets a result that says what is known. */
function missingResults(messages: readonly Message[]): ToolResultMessage[] {
  const timestamp = messages.at(-1)?.timestamp ?? 0;
  return [...openCalls(messages)].map(([toolCallId, toolName]) => ({
    role: 'toolResult',
    toolCallId,
    toolName,
    content: [{ type: 'text', text: 'interrupted; outcome unknown' }],
    isError: true,
    timestamp,
  }));
}

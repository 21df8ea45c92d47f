/**
 * The transcript format (SPEC B11.2): what is stored, what `sessions_history` returns unchanged,
 * and what a runtime is given as context.
 */

export interface TextBlock {
  type: 'text';
  text: string;
}
export interface ImageBlock {
  type: 'image';
  /** base64 */
  data: string;
  mimeType: string;
}
export interface ThinkingBlock {
  type: 'thinking';
  thinking: string;
  thinkingSignature?: string;
  /** The provider hid the text; only the signature goes back to it. */
  redacted?: boolean;
}
export interface ToolCallBlock {
  type: 'toolCall';
  /** The provider's id of the call; never a key of ours (A13). */
  id: string;
  name: string;
  arguments: Record<string, unknown>;
}

/** Where a routed turn came from (A15). Set by the gateway alone. */
export interface Provenance {
  kind: 'inter_session';
  sourceSessionKey: string;
  sourceChannel?: string;
  /** `sessions_send`, `sessions_spawn` or the door's method. */
  sourceTool: string;
  rootRunId: string;
  /** How many routed messages lie between the root and this one; the first has 1. */
  hops: number;
}

/** Tokens, and cost in US dollars, of one model call. */
export interface Usage {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  totalTokens: number;
  cost: { input: number; output: number; cacheRead: number; cacheWrite: number; total: number };
}

export type StopReason = 'stop' | 'length' | 'toolUse' | 'error' | 'aborted';

export interface UserMessage {
  role: 'user';
  content: string | (TextBlock | ImageBlock)[];
  timestamp: number;
  provenance?: Provenance;
}
export interface AssistantMessage {
  role: 'assistant';
  content: (TextBlock | ThinkingBlock | ToolCallBlock)[];
  api: string;
  provider: string;
  model: string;
  /** Absent when the model reported none. */
  usage?: Usage;
  stopReason: StopReason;
  errorMessage?: string;
  timestamp: number;
}
export interface ToolResultMessage {
  role: 'toolResult';
  toolCallId: string;
  toolName: string;
  content: (TextBlock | ImageBlock)[];
  details?: unknown;
  isError: boolean;
  timestamp: number;
}
export type Message = UserMessage | AssistantMessage | ToolResultMessage;

/** Returns the text blocks of a message joined by newlines; thinking and tool calls are left out. */
export function textOf(message: Message): string {
  if (typeof message.content === 'string') return message.content;
  return message.content
    .filter((block) => block.type === 'text')
    .map((block) => block.text)
    .join('\n');
}

/** Returns the tool calls of an assistant message, in call order. */
export function toolCallsOf(message: AssistantMessage): ToolCallBlock[] {
  return message.content.filter((block) => block.type === 'toolCall');
}

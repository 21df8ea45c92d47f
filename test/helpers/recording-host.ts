import type { Turn, TurnHost } from '../../src/agent/runtime.ts';
import {
  toolCallsOf,
  type AssistantMessage,
  type Message,
  type ToolResultMessage,
} from '../../src/protocol/message.ts';

export interface RecordingHost extends TurnHost {
  deltas: string[];
  committed: AssistantMessage[];
  retries: AssistantMessage[];
}

/** Returns a host that keeps what it is given and answers each call `result of NAME`, or as `perform` says. */
export function createRecordingHost(
  perform: (message: AssistantMessage) => Promise<void> = () => Promise.resolve(),
): RecordingHost {
  const host: RecordingHost = {
    deltas: [],
    committed: [],
    retries: [],
    retried(message) {
      host.retries.push(message);
    },
    closing: () => undefined,
    delta(text) {
      host.deltas.push(text);
    },
    async toolCalls(message) {
      host.committed.push(message);
      await perform(message);
      return toResults(message);
    },
  };
  return host;
}

function toResults(message: AssistantMessage): ToolResultMessage[] {
  return toolCallsOf(message).map((call) => ({
    role: 'toolResult',
    toolCallId: call.id,
    toolName: call.name,
    content: [{ type: 'text', text: `result of ${call.name} ${JSON.stringify(call.arguments)}` }],
    isError: false,
    timestamp: 3,
  }));
}

/** Returns a turn whose transcript ends with this user text, with `first` and `second` as tools. */
export function createTurn(text: string, changes: Partial<Turn> = {}): Turn {
  return {
    runId: 'run-1',
    sessionKey: 'agent:main:main',
    agentId: 'main',
    model: { provider: 'fake', id: 'fake-1' },
    thinking: 'off',
    attempt: 1,
    systemPrompt: 'You are a test.',
    messages: [toUser(text)],
    tools: ['first', 'second'].map((name) => ({
      name,
      description: `The ${name} tool.`,
      parameters: { type: 'object', properties: { n: { type: 'number' } } },
    })),
    ...changes,
  };
}

export function toUser(text: string): Message {
  return { role: 'user', content: text, timestamp: 1 };
}

/** Returns a signal that never fires. */
export function noSignal(): AbortSignal {
  return new AbortController().signal;
}

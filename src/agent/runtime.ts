/**
 * What runs an agent's turn. A runtime talks to a model (or plays a script); the host makes every
 * step durable and executes the tools.
 */
import type {
  AssistantMessage,
  ImageBlock,
  Message,
  ToolResultMessage,
  UserMessage,
} from '../protocol/message.ts';
import type { ThinkingLevel } from '../protocol/words.ts';

/** A tool as the model sees it. */
export interface ToolSpec {
  name: string;
  description: string;
  /** JSON Schema of the arguments */
  parameters: Record<string, unknown>;
}

/** The model in effect for a turn. */
export interface ModelRef {
  provider: string;
  id: string;
}

export interface Turn {
  runId: string;
  sessionKey: string;
  agentId: string;
  model: ModelRef;
  thinking: ThinkingLevel;
  /** attempt of this run, from 1; a later attempt streams `replace: true` first */
  attempt: number;
  systemPrompt: string;
  /** The transcript as context; the last message is `user` or `toolResult`. */
  messages: Message[];
  tools: ToolSpec[];
}

export interface TurnHost {
  /** Offers a piece of assistant text to whoever watches. Not durable; never awaited. */
  delta(text: string): void;
  /**
   * Commits an assistant message that plans tool calls, executes each call in order, appends the
   * results, and resolves with them and with the messages that people steered in after them (B12).
   * Contract: call it for every assistant message with tool calls, and only for those; the runtime
   * executes no tool itself. A rejection ends the turn: pass it on, do not catch it.
   */
  toolCalls(message: AssistantMessage): Promise<(ToolResultMessage | UserMessage)[]>;
  /**
   * Asked before each model call: what to add to the system prompt of the last one, which offers no tools.
   * Undefined when it is not the last one.
   */
  closing(): string | undefined;
  /**
   * Tells of a model call that failed and is made again. Its message is kept nowhere, but what it used counts.
   * Not durable by itself: it is booked with the next message of the turn.
   */
  retried(message: AssistantMessage): void;
}

/** Contract: resolves with the final assistant message (without tool calls); a model failure is a
 * message with `stopReason: "error"` and `errorMessage`, an abort one with `stopReason: "aborted"`. */
export interface AgentRuntime {
  readonly kind: 'scripted' | 'embedded';
  /** How an interrupted run goes on: from our transcript, from the runtime's own session, or not at all. */
  readonly resume: 'transcript' | 'session' | 'none';
  runTurn(turn: Turn, host: TurnHost, signal: AbortSignal): Promise<AssistantMessage>;
}

/** What a tool call of an agent knows about itself. */
export interface ToolContext {
  runId: string;
  sessionKey: string;
  agentId: string;
  /** folder that the file tools are confined to */
  workspace: string;
  /** position of the assistant message in the run, and of the call in it (A13) */
  position: number;
  callIndex: number;
  signal: AbortSignal;
}

export interface ToolOutcome {
  /** text for the model */
  text: string;
  /** the same as data, when it is JSON */
  details?: unknown;
  /** shown after the text, where the model reads images */
  images?: readonly ImageBlock[];
  isError: boolean;
}

/** A tool an agent can call. `agent/` knows this interface only; `app/` hands the tools down as values. */
export interface AgentTool {
  readonly spec: ToolSpec;
  /** The spec for turns of one agent, where it differs by agent. */
  specFor?(agentId: string): ToolSpec;
  /** True when doing it again after a crash is safe: it only reads, or its key re-attaches (DESIGN 4). */
  readonly repeatable: boolean;
  execute(args: Record<string, unknown>, context: ToolContext): Promise<ToolOutcome>;
}

/** The tools there are, for one turn. */
export interface TurnTools {
  /** by the name that they are offered under */
  tools: ReadonlyMap<string, AgentTool>;
  /** Returns why a tool of an MCP server is not there, undefined when nothing is known of it. */
  whyMissing(name: string): string | undefined;
}

/** How an MCP server is doing, as the operator is told. */
export interface ToolServerState {
  name: string;
  /** `off`: no turn has needed it, or not for long */
  state: 'off' | 'ready' | 'failed';
  /** how many tools it has, when it is ready */
  tools?: number;
  /** why it failed */
  reason?: string;
}

/** What is asked for tools; it resolves also when some of their sources fail. */
export interface ToolQuestion {
  agentId: string;
  /** Returns whether the tool policy may let some tool of this MCP server through. */
  wantsServer(server: string): boolean;
}

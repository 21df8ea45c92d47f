/** What the MCP door needs of a gateway, in the same process or behind a socket. */

import type { CallRead, CallsPage, CallStarted } from '../protocol/answers/call-answers.ts';
import type { OfferedTool } from '../protocol/answers/method-answers.ts';
import type { SessionsInboxPage } from '../protocol/tools/inbox-answer.ts';

/** Who connected, as it says itself. */
export interface ClientIdentity {
  /** `clientInfo.name`, such as `claude-code` */
  name: string;
  /** the session it was told to act as: key, sessionId or `main` */
  sessionKey?: string | undefined;
}

/** Contract: rejects with a `GatewayError`; what a tool refuses is an answer. */
export interface McpGateway {
  /** Returns the key of the session that the client acts as; makes it when it has none yet. */
  openSession(client: ClientIdentity): Promise<string>;
  /** The tools that the policy of this session offers. */
  listTools(sessionKey: string): Promise<OfferedTool[]>;
  /** Calls a tool as the session. Rejects `unknown_name` for a tool that it is not offered. */
  invoke(call: McpToolCall): Promise<object>;
  /** Makes a call whose answer is fetched later; `result` = the tool refused it. Rejects as `invoke` does. */
  startCall(call: McpToolCall & { ttlMs?: number | undefined }): Promise<CallStarted>;
  /** How it stands, or once it is over within that time; the signal may end the wait. Rejects `not_found` for one of another session. */
  readCall(
    query: McpCallName & { timeoutMs: number; signal?: AbortSignal | undefined },
  ): Promise<CallRead>;
  /** Those of the session, the newest first. */
  listCalls(query: { sessionKey: string; cursor: string | undefined }): Promise<CallsPage>;
  /** Ends its wait. Rejects `not_found` for one of another session. */
  cancelCall(call: McpCallName): Promise<CallRead>;
  /** What has come for the session since it was asked last; undefined = nothing, or a session without an inbox. */
  takeNews(sessionKey: string): Promise<SessionsInboxPage | undefined>;
}
export interface McpCallName {
  sessionKey: string;
  callId: string;
}
export interface McpToolCall {
  sessionKey: string;
  tool: string;
  args: Record<string, unknown>;
  /** aborts when the client has gone */
  gone?: AbortSignal | undefined;
}

import type { SessionCaller } from '../core/caller.ts';
import type { CallStarted } from '../protocol/answers/call-answers.ts';
import type { OfferedTool } from '../protocol/answers/method-answers.ts';
import type { MethodParams } from '../protocol/methods.ts';
import type { Services } from '../service/services.ts';

/**
 * Calls a tool as a session. Contract: resolves with the tool's own JSON, its refusals included;
 * rejects `unknown_name` (or `not_found`) for a tool that does not exist or that the session's tool policy closes.
 */
export type InvokeTool = (call: {
  caller: SessionCaller;
  tool: string;
  args: Record<string, unknown>;
}) => Promise<unknown>;

/** The same for a call whose answer is fetched later. Rejects `invalid_request` for a tool that answers at once. */
export type StartCall = (
  call: Parameters<InvokeTool>[0] & { ttlMs?: number | undefined },
) => Promise<CallStarted>;

/** The tools that the session's tool policy offers it, with their schemas. */
export type ListTools = (caller: SessionCaller) => Promise<OfferedTool[]>;

/** Resolves the session that the call acts as, then calls the tool (A1); `gone` aborts when nobody waits for the answer. */
export async function invokeAs(
  { services, invokeTool }: { services: Pick<Services, 'resolveCaller'>; invokeTool: InvokeTool },
  {
    tool,
    args,
    sessionKey,
    idempotencyKey,
    gone,
  }: MethodParams['tools.invoke'] & { gone: AbortSignal },
): Promise<unknown> {
  const caller = await services.resolveCaller(sessionKey);
  const key = idempotencyKey === undefined ? {} : { idempotencyKey };
  return invokeTool({ caller: { ...caller, ...key, gone }, tool, args });
}

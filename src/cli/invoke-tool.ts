import { EXIT } from './exit-codes.ts';
import type { ExitCode } from './exit-codes.ts';
import { withGateway } from './client-options.ts';
import type { ClientFlags } from './client-options.ts';
import type { CliIo } from './cli-io.ts';
import { isRecord } from './output/json-value.ts';

/** A tool call that acts as a session (A1). */
export interface ToolCall {
  tool: string;
  args: Record<string, unknown>;
  /** key, sessionId or alias of the session it acts as */
  sessionKey: string;
  idempotencyKey?: string | undefined;
}

/** Calls a tool as a session, through `tools.invoke`, and returns the tool's own JSON. */
export function invokeTool(
  context: { flags: ClientFlags; io: CliIo },
  { idempotencyKey, ...call }: ToolCall,
): Promise<unknown> {
  return withGateway(context, async (client) => {
    const { result } = await client.call('tools.invoke', {
      ...call,
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    });
    return result;
  });
}

/** Returns the exit code that the `status` of a tool's answer means. */
export function exitCodeOf(answer: unknown): ExitCode {
  const status = isRecord(answer) ? answer['status'] : undefined;
  if (status === 'error' || status === 'forbidden') return EXIT.failure;
  if (status !== 'timeout') return EXIT.ok;
  // Without an outcome only the wait is over; the run goes on.
  return isRecord(answer) && answer['outcome'] !== undefined ? EXIT.failure : EXIT.partial;
}

/** Returns the arguments without those that were not given. */
export function givenArgs(args: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(args).filter(([, value]) => value !== undefined));
}

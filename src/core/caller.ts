/**
 * Who asks. Every door turns its credentials into one of these before it calls a service (A1).
 */

/** A session acts: a tool call of its agent, `/tools/invoke`, MCP, or the CLI with `--as`. Access rules apply. */
export interface SessionCaller {
  type: 'session';
  /** canonical key */
  sessionKey: string;
  agentId: string;
  /** set when a run of that session calls: the idempotency key of the call (A13) and its place in the tree */
  run?: {
    runId: string;
    position: number;
    callIndex: number;
    rootRunId: string;
    hops: number;
    signal: AbortSignal;
  };
  /** key given by a door call outside a run */
  idempotencyKey?: string;
  /** aborts when whoever made a door call has gone: a wait ends then, and nothing else */
  gone?: AbortSignal | undefined;
}

/** A person or program with the gateway's credentials. Scopes decide; access by visibility does not apply. */
export interface OperatorCaller {
  type: 'operator';
  scopes: readonly string[];
  deviceId?: string;
}

/** Returns the name under which an operator's doing is kept: the device, else `operator`. */
export function operatorName({ deviceId }: OperatorCaller): string {
  return deviceId ?? 'operator';
}

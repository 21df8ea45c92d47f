/**
 * The closed list of error codes. Every door encodes from this one table; retry decisions read the
 * code only.
 */

interface ErrorTraits {
  /** The wire code of the WebSocket protocol (SPEC B10.1). */
  wire:
    | 'INVALID_REQUEST'
    | 'UNAVAILABLE'
    | 'AGENT_TIMEOUT'
    | 'FORBIDDEN'
    | 'UNAUTHORIZED'
    | 'INTERNAL';
  httpStatus: number;
  retryable: boolean;
}

export const ERROR_CODES = {
  /** A frame, parameter, key or value is malformed; the text names it and what is accepted. */
  invalid_request: { wire: 'INVALID_REQUEST', httpStatus: 400, retryable: false },
  /** The method, tool or parameter does not exist; the text names the nearest known one. */
  unknown_name: { wire: 'INVALID_REQUEST', httpStatus: 404, retryable: false },
  /** The session, run or agent does not exist (and the caller may know that). */
  not_found: { wire: 'INVALID_REQUEST', httpStatus: 404, retryable: false },
  /** A documented feature whose support is not there yet is refused by name (A3). */
  unsupported: { wire: 'INVALID_REQUEST', httpStatus: 400, retryable: false },
  /** Access, an allow list, a scope or a limit refused the call. A send policy's refusal of an operator is `invalid_request` (B6). */
  forbidden: { wire: 'FORBIDDEN', httpStatus: 403, retryable: false },
  /** No or wrong credentials. */
  unauthorized: { wire: 'UNAUTHORIZED', httpStatus: 401, retryable: false },
  /** An idempotency key was used again with other content (A13). */
  key_conflict: { wire: 'INVALID_REQUEST', httpStatus: 409, retryable: false },
  /** The body or frame is larger than the limit. */
  too_large: { wire: 'INVALID_REQUEST', httpStatus: 413, retryable: false },
  /** The gateway is starting, draining or its store does not answer. */
  unavailable: { wire: 'UNAVAILABLE', httpStatus: 503, retryable: true },
  /** A paused or replaced owner tried to write to a lane that is no longer its own. */
  fenced: { wire: 'UNAVAILABLE', httpStatus: 503, retryable: true },
  /** The configuration cannot be used; the text names the path. */
  config: { wire: 'INVALID_REQUEST', httpStatus: 400, retryable: false },
  /** A fault of ours; the cause is in the log, never in the answer. */
  internal: { wire: 'INTERNAL', httpStatus: 500, retryable: false },
} as const satisfies Record<string, ErrorTraits>;

export type ErrorCode = keyof typeof ERROR_CODES;

/** The one error class. `message` says what failed, on what, and what to do next; it holds ids, never content. */
export class GatewayError extends Error {
  readonly code: ErrorCode;
  readonly details: Record<string, unknown> | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: { details?: Record<string, unknown>; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'GatewayError';
    this.code = code;
    this.details = options.details;
  }
}

/** Returns the error itself, or an `internal` error that keeps the cause and says nothing of it. Called once per door. */
export function toGatewayError(error: unknown): GatewayError {
  if (error instanceof GatewayError) return error;
  return new GatewayError('internal', 'internal error; see the gateway log', { cause: error });
}

import { ERROR_CODES, GatewayError } from './errors.ts';
import type { ErrorCode } from './errors.ts';
import type { WireError } from './frames.ts';

/** Returns an error as it crosses the wire; `details.code` says more than the wire code. */
export function toWireError(error: GatewayError): WireError {
  const traits = ERROR_CODES[error.code];
  const retryAfterMs = error.details?.['retryAfterMs'];
  return {
    code: traits.wire,
    message: error.message,
    details: { code: error.code.toUpperCase(), ...error.details },
    retryable: traits.retryable,
    ...(typeof retryAfterMs === 'number' ? { retryAfterMs } : {}),
  };
}

/** Returns the error that a gateway answered with; codes of another gateway are mapped to the nearest of ours. */
export function fromWireError(wire: WireError): GatewayError {
  const fine = wire.details?.['code'];
  const known = typeof fine === 'string' ? fine.toLowerCase() : '';
  return new GatewayError(isErrorCode(known) ? known : byWireCode(wire.code), wire.message, {
    details: { ...wire.details, wireCode: wire.code },
  });
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERROR_CODES, code);
}

function byWireCode(code: string): ErrorCode {
  if (code === 'UNAVAILABLE') return 'unavailable';
  if (code === 'FORBIDDEN') return 'forbidden';
  if (code === 'UNAUTHORIZED') return 'unauthorized';
  return code === 'INTERNAL' ? 'internal' : 'invalid_request';
}

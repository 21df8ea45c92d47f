/** Errors of the gateway in the protocol's numbers: whose fault it is decides whether a client tries again. */
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { GatewayError } from '../protocol/errors.ts';
import type { ErrorCode } from '../protocol/errors.ts';

/** What the client would have to ask otherwise; everything else is not in its hands. */
const ASKED_WRONGLY: ReadonlySet<ErrorCode> = new Set([
  'invalid_request',
  'unknown_name',
  'not_found',
  'unsupported',
  'forbidden',
  'key_conflict',
  'too_large',
]);

/** Does the work of one request; what it rejects with becomes an error of the protocol. */
export async function inProtocolErrors<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (thrown) {
    throw thrown instanceof GatewayError ? toProtocolError(thrown) : thrown;
  }
}

function toProtocolError({ code, message }: GatewayError): ProtocolError {
  const number = ASKED_WRONGLY.has(code)
    ? ProtocolErrorCode.InvalidParams
    : ProtocolErrorCode.InternalError;
  return new ProtocolError(number, message, { code });
}

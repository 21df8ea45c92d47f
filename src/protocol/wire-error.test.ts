import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ERROR_CODES, GatewayError } from './errors.ts';
import type { ErrorCode } from './errors.ts';
import { fromWireError, toWireError } from './wire-error.ts';

test('every error keeps its code across the wire', () => {
  for (const code of Object.keys(ERROR_CODES) as ErrorCode[]) {
    const back = fromWireError(toWireError(new GatewayError(code, 'why')));
    assert.equal(back.code, code);
    assert.equal(back.message, 'why');
  }
});

test('an error without our details is read by its wire code', () => {
  assert.equal(fromWireError({ code: 'UNAVAILABLE', message: 'm' }).code, 'unavailable');
  assert.equal(
    fromWireError({ code: 'FORBIDDEN', message: 'm', details: { code: 'MISSING_SCOPE' } }).code,
    'forbidden',
  );
  assert.equal(
    fromWireError({ code: 'NOT_LINKED', message: 'm', details: { code: 7 } }).code,
    'invalid_request',
  );
});

test('a retry time is a field of its own', () => {
  const error = new GatewayError('unavailable', 'm', { details: { retryAfterMs: 5 } });
  assert.equal(toWireError(error).retryAfterMs, 5);
  assert.equal(toWireError(error).retryable, true);
});

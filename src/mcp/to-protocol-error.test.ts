import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProtocolError } from '@modelcontextprotocol/server';
import { ERROR_CODES, GatewayError } from '../protocol/errors.ts';
import type { ErrorCode } from '../protocol/errors.ts';
import { inProtocolErrors } from './to-protocol-error.ts';

const INVALID_PARAMS = -32_602;
const INTERNAL_ERROR = -32_603;

const failingWith = (thrown: Error) => inProtocolErrors(() => Promise.reject(thrown));

test('[MD16] what a client may try again, or cannot mend, is not said to be its mistake', async () => {
  const notItsOwn: ErrorCode[] = ['unauthorized', 'unavailable', 'fenced', 'config', 'internal'];
  for (const code of Object.keys(ERROR_CODES) as ErrorCode[]) {
    const number = notItsOwn.includes(code) ? INTERNAL_ERROR : INVALID_PARAMS;
    const told = { code: number, message: 'why', data: { code } };
    await assert.rejects(failingWith(new GatewayError(code, 'why')), told, code);
  }
});

test('[MD16] an error of the protocol stays as it is', async () => {
  const thrown = new ProtocolError(-32_021, 'needs sampling');
  await assert.rejects(failingWith(thrown), (error) => error === thrown);
});

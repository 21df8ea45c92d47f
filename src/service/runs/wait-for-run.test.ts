import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MASK } from '../../core/mask-secrets.ts';
import { maskedError } from './wait-for-run.ts';

test('[MK5] the error of another session is told without the credential that it quotes', () => {
  const base = {
    runId: 'r',
    sessionKey: 'agent:b:main',
    status: 'error',
    messageState: 'done',
  } as const;
  const token = `ghp_${'aB3dE5gH'.repeat(5)}`;
  assert.equal(maskedError({ ...base, error: `401 for ${token}` }).error, `401 for ${MASK}`);
  assert.deepEqual(maskedError(base), base);
});

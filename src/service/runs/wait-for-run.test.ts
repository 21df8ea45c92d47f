import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MASK } from '../../core/mask-secrets.ts';
import { defaultConfig } from '../../protocol/options/config.ts';
import { toldToAnother } from './wait-for-run.ts';

const TOKEN = `ghp_${'aB3dE5gH'.repeat(5)}`;
const answer = { runId: 'r', sessionKey: 'agent:b:main', messageState: 'done' } as const;

test('[MK5] the error of another session is told without the credential that it quotes', () => {
  for (const mask of [true, false]) {
    const config = defaultConfig({ tools: { sessions_history: { mask } } });
    const failed = { ...answer, status: 'error', error: `401 for ${TOKEN}` } as const;
    assert.equal(toldToAnother(config, { answer: failed }).error, `401 for ${MASK}`);
    const silent = { ...answer, status: 'error' } as const;
    assert.deepEqual(toldToAnother(config, { answer: silent }), silent);
  }
});

test('[MK7] the reply of another session is told without credentials, unless masking is off', () => {
  const said = { ...answer, status: 'ok', reply: `it is ${TOKEN}` } as const;
  const told = (mask: boolean) =>
    toldToAnother(defaultConfig({ tools: { sessions_history: { mask } } }), { answer: said });
  assert.equal(told(true).reply, `it is ${MASK}`);
  assert.equal(told(false).reply, said.reply);
});

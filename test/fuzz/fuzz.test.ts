/** A short run of each grammar, and proof that the harness tells of a fault. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from '../../src/protocol/errors.ts';
import { GRAMMAR_NAMES } from './grammar.ts';
import { assertErrorText, assertRefusal } from './oracles.ts';
import { runFuzz } from './run-fuzz.ts';

const SEED = 20_261_130;

for (const grammar of GRAMMAR_NAMES)
  test(`[FZ1, FZ2, FZ3, FZ5] generated ${grammar}: nothing breaks, and what is refused is refused well`, async () => {
    const { failure } = await runFuzz({ grammar, seed: SEED, inputs: 300 });
    assert.equal(
      failure && `${failure.command}\n${JSON.stringify(failure.input)}\n${String(failure.error)}`,
      undefined,
    );
  });

test('[FZ4] an input that breaks a rule is told shrunk, with the command that repeats it', async () => {
  const broken = {
    feed: (input: unknown) => assert.notEqual((input as { dice: number }).dice > 49, true),
  };
  const { failure, inputs } = await runFuzz({
    grammar: 'keys',
    seed: 5,
    inputs: 300,
    replace: broken,
  });
  assert.equal(inputs, 300);
  assert.equal((failure?.input as { dice: number } | undefined)?.dice, 50);
  assert.equal(failure?.command, 'npm run fuzz -- --grammar keys --seed 5 --inputs 300');
});

test('[FZ3] the judge sees an echo, a secret, a fault and an error of no code', () => {
  const given = 'abc'.repeat(100);
  const says = (text: string) => () =>
    assertErrorText(text, { input: { name: given }, secrets: ['s3cret'] });
  assert.doesNotThrow(says(`no "${given.slice(0, 80)}…"`));
  assert.throws(says(`no "${given.slice(0, 81)}…"`), /echoes/);
  assert.throws(says('it is s3cret'), /secret/);
  const judge = (error: unknown) => () => assertRefusal(error, { input: '', secrets: [] });
  assert.throws(judge(new GatewayError('internal', 'internal error')), /fault of ours/);
  assert.throws(judge(new TypeError('x is undefined')), TypeError);
  assert.doesNotThrow(judge(new GatewayError('not_found', 'no such thing')));
});

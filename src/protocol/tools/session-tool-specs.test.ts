import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { parseToolArgs } from './parse-tool-args.ts';
import { sessionToolSpec } from './session-tool-specs.ts';
import type { SpawnTargetIds } from './session-tool-specs.ts';
import { SESSION_TOOL_NAMES } from './session-tools.ts';
import type { SessionToolName } from './session-tools.ts';

const TOKEN_BUDGET = 1000;
const DEFAULT_NAMES = SESSION_TOOL_NAMES.slice(0, 5);
const specsOf = (names: readonly SessionToolName[], targets: SpawnTargetIds) =>
  names.map((name) => sessionToolSpec(name, targets));
const sessionToolSpecs = (targets: SpawnTargetIds) => specsOf(DEFAULT_NAMES, targets);
const tokensOf = (specs: readonly object[]): number =>
  encode(JSON.stringify(specs.map((spec) => ({ type: 'function', function: spec })))).length;
const twenty = Array.from({ length: 20 }, (_, index) => `agent-${index}`);

test('[TL3] the five tools cost at most 1,000 tokens in the form sent to an endpoint', () => {
  for (const targets of [
    { ids: ['main', 'scout'], allowAny: false },
    { ids: twenty, allowAny: true },
  ]) {
    const tokens = tokensOf(sessionToolSpecs(targets));
    assert.ok(tokens <= TOKEN_BUDGET, `${tokens} tokens`);
  }
});

test('[TL4, BR-096] the spec of sessions_spawn names the agents that may be spawned', () => {
  const agentId = (ids: string[], allowAny: boolean) => {
    const spawn = sessionToolSpecs({ ids, allowAny }).find(
      (spec) => spec.name === 'sessions_spawn',
    );
    return (spawn!.parameters['properties'] as Record<string, unknown>)['agentId'];
  };
  assert.deepEqual(agentId(['main', 'coder'], false), { type: 'string', enum: ['main', 'coder'] });
  assert.match(JSON.stringify(agentId(['main', 'coder'], true)), /main, coder/);
  assert.match(
    JSON.stringify(agentId([...twenty, 'last'], false)),
    /agents_list.*agent-19, \.\.\./,
  );
});

test('[TL4] what one agent may spawn is not told to the next, nor kept in what all share', () => {
  const spawnFor = (id: string) =>
    sessionToolSpec('sessions_spawn', { ids: [id], allowAny: false });
  const first = spawnFor('first');
  assert.match(JSON.stringify(spawnFor('second')), /"enum":\["second"\]/);
  assert.match(JSON.stringify(first), /"enum":\["first"\]/);
});

test('[SO10] the two further tools cost at most 220 tokens together', () => {
  const tokens = tokensOf(specsOf(['sessions_wait', 'sessions_stop'], { ids: [], allowAny: true }));
  assert.ok(tokens <= 220, `${tokens} tokens`);
});

test('[IB9] the inbox costs a client at most 140 tokens, with the form of a reply', () => {
  const [spec] = specsOf(['sessions_inbox'], { ids: [], allowAny: true });
  assert.ok(tokensOf([spec!]) <= 140, `${tokensOf([spec!])} tokens`);
  const { reply } = spec!.parameters['properties'] as Record<string, Record<string, unknown>>;
  assert.deepEqual(reply?.['properties'], {
    messageId: { type: 'string' },
    text: { type: 'string' },
  });
  assert.deepEqual(reply?.['required'], ['messageId', 'text']);
});

test('[TL3] the parser knows each parameter of the specs', () => {
  const specs = specsOf(SESSION_TOOL_NAMES, { ids: ['main'], allowAny: false });
  for (const spec of specs) {
    for (const parameter of Object.keys(spec.parameters['properties'] as object)) {
      const parsed = parseToolArgs(spec.name, { [parameter]: Symbol.iterator });
      assert.ok(!parsed.ok && !parsed.error.startsWith('unknown'), `${spec.name} ${parameter}`);
    }
  }
});

test('[TL5] the text of sessions_send says what a timeout means', () => {
  const send = sessionToolSpecs({ ids: ['main'], allowAny: false })[2];
  assert.match(send?.description ?? '', /timeout: .*still runs; do not resend/);
});

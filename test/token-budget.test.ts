/** What the gateway itself costs in each model request, counted on the bytes that a provider gets. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { SESSION_TOOL_NAMES } from '../src/protocol/tools/session-tools.ts';
import { startWorld, type TestWorld } from './helpers/test-world.ts';

const SESSION_TOOLS_MAX = 1000;
const BARE_TURN_MAX = 2200;
/** The further ones are offered where they are named. */
const DEFAULT_NAMES = SESSION_TOOL_NAMES.slice(0, 5);
const TOOL_NAMES = [...DEFAULT_NAMES, 'read', 'write', 'edit', 'exec'].toSorted();

const apis: { api: string; path: string; nameOf: (tool: Record<string, never>) => string }[] = [
  { api: 'openai-completions', path: '/v1', nameOf: (tool) => tool['function']?.['name'] ?? '' },
  { api: 'anthropic-messages', path: '', nameOf: (tool) => tool['name'] ?? '' },
];

/** The bytes of the first request of an agent that says hello, with nothing but defaults. */
async function bareRequest(
  world: TestWorld,
): Promise<{ raw: string; tools: Record<string, never>[] }> {
  await world.say('main', 'hi');
  const [request] = world.model.requests;
  const { raw, body } = request!;
  return { raw, tools: body['tools'] as Record<string, never>[] };
}

for (const { api, path, nameOf } of apis) {
  test(`[TB1] a bare turn costs at most ${BARE_TURN_MAX} tokens in the form of ${api}`, async (t) => {
    const world = await startWorld(t, { agents: false, provider: { api, path } });
    const { raw, tools } = await bareRequest(world);
    assert.equal(world.model.requests[0]?.api, api);
    assert.deepEqual(tools.map(nameOf).toSorted(), TOOL_NAMES);
    const tokens = countTokens(raw);
    assert.ok(tokens > 500 && tokens <= BARE_TURN_MAX, `${tokens} tokens`);
  });

  test(`[TB2] the five session tools cost at most ${SESSION_TOOLS_MAX} tokens in the form of ${api}`, async (t) => {
    const world = await startWorld(t, { agents: false, provider: { api, path } });
    const { raw, tools } = await bareRequest(world);
    const names: readonly string[] = DEFAULT_NAMES;
    const bytes = tools
      .filter((tool) => names.includes(nameOf(tool)))
      .map((tool) => JSON.stringify(tool));
    assert.equal(bytes.length, 5);
    for (const part of bytes) assert.ok(raw.includes(part), 'counted as it was sent');
    const tokens = countTokens(bytes.join(','));
    assert.ok(tokens > 300 && tokens <= SESSION_TOOLS_MAX, `${tokens} tokens`);
  });
}

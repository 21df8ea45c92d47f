/** Arguments of the session tools. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { parseToolArgs } from '../../../src/protocol/tools/parse-tool-args.ts';
import { SESSION_TOOL_ARGS } from '../../../src/protocol/tools/session-tool-arg-schemas.ts';
import { isToolFailure, SESSION_TOOL_NAMES } from '../../../src/protocol/tools/session-tools.ts';
import type { SessionToolName } from '../../../src/protocol/tools/session-tools.ts';
import type { Grammar } from '../grammar.ts';
import { CLIENT_KEY, type FuzzWorld, CURSOR_SECRET, SECRET } from '../fuzz-world.ts';
import { oddObject } from '../odd-values.ts';
import { assertErrorText, assertRefusal } from '../oracles.ts';
import { suitingValue } from '../suiting-values.ts';
import { withoutTimeout } from './methods.ts';

export interface ToolInput {
  tool: SessionToolName;
  args: Record<string, unknown>;
  sessionKey: string;
}

const parametersOf = (tool: SessionToolName): string[] => [
  ...Object.keys(SESSION_TOOL_ARGS[tool].shape),
  // known, and refused with words of its own
  ...(tool === 'sessions_spawn' ? ['target'] : []),
];

const inputs: fc.Arbitrary<ToolInput> = fc.constantFrom(...SESSION_TOOL_NAMES).chain((tool) =>
  fc.record({
    tool: fc.constant(tool),
    args: oddObject(parametersOf(tool), suitingValue),
    sessionKey: fc.constantFrom('main', 'agent:b:main', 'agent:a:one', CLIENT_KEY),
  }),
);

export function toolsGrammar(world: FuzzWorld): Grammar<ToolInput> {
  return { inputs, feed: (input) => feedTool(world, input) };
}

const secrets = [SECRET, CURSOR_SECRET];

/** Feeds the parser, and what it takes or refuses by hand the tool itself. */
async function feedTool(world: FuzzWorld, input: ToolInput): Promise<void> {
  const { tool, sessionKey } = input;
  const args =
    tool === 'sessions_send' || tool === 'sessions_wait' ? withoutTimeout(input.args) : input.args;
  const parsed = parseToolArgs(tool, args);
  const before = world.watch.version();
  try {
    const caller = await world.services.resolveCaller(sessionKey);
    const answer = (await world.invokeTool({ caller, tool, args })) as {
      status?: string;
      error?: string;
    };
    if (!parsed.ok) assert.deepEqual(answer, { status: 'error', error: parsed.error });
    if (isToolFailure(answer)) {
      assert.equal(typeof answer.error, 'string');
      assertErrorText(answer.error ?? '', { input: args, secrets });
      assert.doesNotMatch(answer.error ?? '', /internal error/);
      world.watch.assertUnchanged(before, tool);
    }
  } catch (error) {
    assertRefusal(error, { input: args, secrets });
    world.watch.assertUnchanged(before, tool);
  }
  assert.deepEqual(world.takeFaults(), [], `${tool} logged a fault`);
}

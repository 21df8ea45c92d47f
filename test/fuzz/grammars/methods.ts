/** Parameters of every method of the gateway, some of them nearly right. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { METHOD_NAMES, METHODS, type MethodName } from '../../../src/protocol/methods.ts';
import type { Grammar } from '../grammar.ts';
import { type FuzzWorld, CURSOR_SECRET, SECRET } from '../fuzz-world.ts';
import { nearName, oddObject } from '../odd-values.ts';
import { assertRefusal } from '../oracles.ts';
import { suitingValue } from '../suiting-values.ts';

type Call = readonly [method: string, params: Record<string, unknown>];

const known = fc
  .constantFrom(...METHOD_NAMES)
  .chain((method) =>
    fc.tuple(fc.constant(method as string), oddObject(namesOf(method), suitingValue)),
  );
const unknown = fc.tuple(nearName(METHOD_NAMES), oddObject(['key', 'limit'], suitingValue));
export const methodCalls: fc.Arbitrary<Call> = fc.oneof(
  { weight: 20, arbitrary: known },
  { weight: 1, arbitrary: unknown },
);

function namesOf(method: MethodName): string[] {
  return Object.keys(METHODS[method].params.shape);
}

export function methodsGrammar(world: FuzzWorld): Grammar<Call> {
  return { inputs: methodCalls, feed: ([method, params]) => feedCall(world, { method, params }) };
}

/** Calls a method; what it refuses is a documented refusal that has written nothing. */
export async function feedCall(
  world: FuzzWorld,
  { method, params }: { method: string; params: Record<string, unknown> },
): Promise<void> {
  const before = world.watch.version();
  try {
    const answer = await world.call(method, withoutWait(params));
    assertNoSecret(answer);
    if (isRefusal(answer)) world.watch.assertUnchanged(before, method);
  } catch (error) {
    assertRefusal(error, { input: [method, params], secrets: [SECRET, CURSOR_SECRET] });
    world.watch.assertUnchanged(before, method);
  }
  assert.deepEqual(world.takeFaults(), [], `${method} logged a fault`);
}

function isRefusal(answer: unknown): boolean {
  const result = (answer as { result?: { status?: unknown } } | undefined)?.result;
  return result?.status === 'error' || result?.status === 'forbidden';
}

/** A tool that is called through a door waits for nobody here. */
function withoutWait(params: Record<string, unknown>): Record<string, unknown> {
  const { args } = params;
  if (typeof args !== 'object' || args === null || Array.isArray(args)) return params;
  return { ...params, args: withoutTimeout(args as Record<string, unknown>) };
}

/** Only what would wait is taken away; a timeout that is refused stays. */
export function withoutTimeout(args: Record<string, unknown>): Record<string, unknown> {
  const { timeoutSeconds: timeout } = args;
  const waits =
    timeout === undefined || timeout === null || (typeof timeout === 'number' && timeout > 0);
  return waits ? { ...args, timeoutSeconds: 0 } : args;
}

function assertNoSecret(answer: unknown): void {
  const text = JSON.stringify(answer) ?? '';
  for (const secret of [SECRET, CURSOR_SECRET])
    assert.ok(!text.includes(secret), 'an answer holds a secret');
}

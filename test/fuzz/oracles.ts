/** What must hold of every answer, whatever was asked. */
import assert from 'node:assert/strict';
import { ERROR_CODES, GatewayError } from '../../src/protocol/errors.ts';

/** Longest echo of an input, UTF-16 units. */
const ECHO_MAX = 80;
/** Our own words, and a few echoes. */
const TEXT_MAX = 4000;

/** Throws unless this is a documented refusal that says little of the input and no secret. */
export function assertRefusal(
  thrown: unknown,
  { input, secrets }: { input: unknown; secrets: readonly string[] },
): void {
  if (!(thrown instanceof GatewayError)) throw thrown;
  assert.ok(Object.hasOwn(ERROR_CODES, thrown.code), `the code ${thrown.code} is documented`);
  assert.notEqual(thrown.code, 'internal', `a fault of ours: ${String(thrown.cause)}`);
  assertErrorText(thrown.message, { input, secrets });
  assertErrorText(JSON.stringify(thrown.details ?? {}), { input, secrets });
}

/** Throws when a text of ours echoes too much of the input, is too long, or holds a secret. */
export function assertErrorText(
  text: string,
  { input, secrets }: { input: unknown; secrets: readonly string[] },
): void {
  assert.ok(text.length <= TEXT_MAX, `an error text has ${text.length} characters`);
  for (const secret of secrets) assert.ok(!text.includes(secret), 'an error text holds a secret');
  for (const given of stringsOf(input)) {
    if (given.length <= ECHO_MAX) continue;
    // one more than may be shown, from the beginning and from the middle
    const middle = given.length >> 1;
    for (const at of [0, middle]) {
      const part = given.slice(at, at + ECHO_MAX + 1);
      if (part.length > ECHO_MAX)
        assert.ok(!text.includes(part), 'an error text echoes more than 80 characters');
    }
  }
}

/** Texts and names in a value of any depth. */
function stringsOf(value: unknown): string[] {
  const found: string[] = [];
  const open = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next === 'string') found.push(next);
    else if (typeof next === 'object' && next !== null)
      for (const [name, item] of Object.entries(next)) {
        found.push(name);
        open.push(item);
      }
  }
  return found;
}

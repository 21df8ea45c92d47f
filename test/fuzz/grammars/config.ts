/** Configurations near the option table. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import JSON5 from 'json5';
import { checkConfigValue } from '../../../src/config/check-config.ts';
import { formatIssue } from '../../../src/config/config-issue.ts';
import { optionTable } from '../../../src/protocol/options/option-table.ts';
import type { Grammar } from '../grammar.ts';
import { nearName, oddText, oddValue } from '../odd-values.ts';
import { assertErrorText } from '../oracles.ts';

type Setting = readonly [path: string, value: unknown];

const TABLE = optionTable();
const PATHS = TABLE.map(({ path }) => path);
const SECRET = 'sk-canary-1f4e8a90b7c6d5e4';

const setting: fc.Arbitrary<Setting> = fc
  .constantFrom(...TABLE)
  .chain(({ path, defaultValue, note }) => {
    const name = fc
      .tuple(nearName(path.split('.')), fc.boolean())
      .map(([near, isNear]) => (isNear ? path : [...path.split('.').slice(0, -1), near].join('.')));
    const usual = note.secret === true ? fc.constant<unknown>(SECRET) : fc.constant(defaultValue);
    return fc.tuple(name, fc.oneof(usual, oddValue));
  });

/** The inputs are texts of a file, so that names of prototypes are names. */
const inputs: fc.Arbitrary<string> = fc.oneof(
  { weight: 12, arbitrary: fc.array(setting, { maxLength: 6 }).map(toText) },
  { weight: 2, arbitrary: oddValue.map((value) => JSON.stringify(value)) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(nearName(PATHS), fc.nat({ max: 1500 }))
      .map(([name, depth]) => `{${JSON.stringify(name)}:${'['.repeat(depth)}${']'.repeat(depth)}}`),
  },
  { weight: 1, arbitrary: oddText },
);

function toText(settings: readonly Setting[]): string {
  const root: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const [path, value] of settings) put(root, path.split('.'), value);
  return JSON.stringify(root);
}

function put(at: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [head = '', ...rest] = path;
  const isList = head.endsWith('[]');
  const name = isList ? head.slice(0, -2) : head === '*' ? 'any' : head;
  if (rest.length === 0) return void (at[name] = isList ? [value] : value);
  const inside = Object.create(null) as Record<string, unknown>;
  put(inside, rest, value);
  at[name] = isList ? [inside] : { ...(at[name] as object | undefined), ...inside };
}

export function configGrammar(): Grammar<string> {
  return { inputs, feed };
}

function feed(text: string): void {
  let written: unknown;
  try {
    written = JSON5.parse(text);
  } catch (error) {
    // the reader of the file says where it is malformed
    if (error instanceof SyntaxError || error instanceof RangeError) return;
    throw error;
  }
  const { config, errors, warnings } = checkConfigValue(written, { HOME: '/root', KEY: SECRET });
  assert.equal(config === undefined, errors.length > 0, 'usable, or refused with a path');
  for (const issue of [...errors, ...warnings])
    assertErrorText(formatIssue(issue), { input: written, secrets: [SECRET] });
}

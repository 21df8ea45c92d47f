/** Values that break what was written with ordinary ones in mind. */
import fc from 'fast-check';

const TEXTS = [
  '',
  ' ',
  '\0',
  '\u202Enimda',
  '\u200B',
  '\ud800',
  '__proto__',
  'constructor',
  'toString',
  '${HOME}',
  '${',
  '../../etc/passwd',
  "' or 1=1 --",
  '"quoted" NEAR(',
  'agent:',
  'NaN',
  '1e999',
  '\u{1F468}\u200D\u{1F469}',
  'x'.repeat(81),
  'y'.repeat(5000),
];

export const oddText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...TEXTS),
  fc.string({ maxLength: 40 }),
  fc.string({ unit: 'binary', maxLength: 200 }),
);

const oddNumber = fc.oneof(
  fc.constantFrom(0, -0, -1, 1, 0.5, 1e21, 2 ** 31, 2 ** 53, -(2 ** 63), Number.MAX_VALUE),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);

const scalar = fc.oneof(fc.constantFrom(null, true, false), oddNumber, oddText);

/** Any value that JSON can say, also nested far and under the names of prototypes. */
export const oddValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 6, arbitrary: scalar },
  { weight: 1, arbitrary: fc.array(scalar, { maxLength: 5 }) },
  { weight: 1, arbitrary: fc.dictionary(oddText, scalar, { maxKeys: 4 }) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 200 }).map(nested) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('{"__proto__":{"x":1}}').map((text) => JSON.parse(text) as unknown),
  },
);

function nested(depth: number): unknown {
  let value: unknown = 'deep';
  for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}

/** Returns the name as it is, or nearly. */
export function nearName(names: readonly string[]): fc.Arbitrary<string> {
  const name = fc.constantFrom(...names);
  return fc.oneof(
    { weight: 12, arbitrary: name },
    { weight: 1, arbitrary: name.map((given) => given.toUpperCase()) },
    { weight: 1, arbitrary: name.map((given) => given.slice(1)) },
    { weight: 1, arbitrary: name.map((given) => `${given}x`) },
    { weight: 1, arbitrary: oddText },
  );
}

/** Returns an object with some of the names, each nearly right, and a value that may suit it. */
export function oddObject(
  names: readonly string[],
  valueOf: (name: string) => fc.Arbitrary<unknown>,
): fc.Arbitrary<Record<string, unknown>> {
  const usual = fc
    .subarray([...names], { minLength: 0 })
    .chain((chosen) =>
      fc.tuple(...chosen.map((name) => fc.tuple(fc.constant(name), valueOf(name)))),
    );
  const near = fc.array(fc.tuple(nearName(names.length === 0 ? ['x'] : names), oddValue), {
    maxLength: 1,
  });
  return fc
    .tuple(
      usual,
      fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: near }),
    )
    .map(([pairs, extra]) => Object.fromEntries([...pairs, ...extra] as [string, unknown][]));
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkSpec } from './check-spec.ts';

const GOOD = {
  spec: '# Rules\n- **SS7** A repeated send returns the first run.\n- **KY1** One form.\n',
  fieldCases: '| id | what |\n|---|---|\n| BR-017 | doubled |\n',
  security: '| class | what | held by |\n|---|---|---|\n| replay | bound | SS7, BR-017 |\n',
  errors: '| code | meaning |\n|---|---|\n| `not_found` | gone |\n',
  errorCodes: ['not_found'],
};
// Written in pieces: a whole title here would itself count as one.
const title = (ids: string): string => `test('${'['}${ids}] it holds', () => {});\n`;

test('nothing is found when every rule and case has its title', () => {
  const files = new Map([['src/a/b.test.ts', title('SS7, BR-017') + title('KY1')]]);
  assert.deepEqual(checkSpec(files, GOOD), []);
});

test('a rule without a test is found, with its line', () => {
  const files = new Map([['src/a/b.suite.ts', title('SS7, BR-017')]]);
  const [finding, ...rest] = checkSpec(files, GOOD);
  assert.deepEqual(rest, []);
  assert.equal(finding?.line, 3);
  assert.match(finding?.message ?? '', /rule KY1 stands in no test title/);
});

test('a title outside tests does not count, an unknown id is found', () => {
  const files = new Map([
    ['src/a/b.ts', title('KY1')],
    ['src/a/b.test.ts', title('SS7, BR-017') + title('BR-999') + title('KY1') + title('ZZ9')],
  ]);
  const messages = checkSpec(files, GOOD).map((one) => one.message);
  assert.equal(messages.length, 2);
  assert.match(messages[0] ?? '', /ZZ9/);
  assert.match(messages[1] ?? '', /BR-999/);
});

test('codes of docs/errors.md and of the program must be the same', () => {
  const files = new Map([['test/b.test.ts', title('SS7, BR-017, KY1')]]);
  const messages = checkSpec(files, { ...GOOD, errorCodes: ['loop'] }).map((one) => one.message);
  assert.match(messages[0] ?? '', /lacks the code `loop`/);
  assert.match(messages[1] ?? '', /`not_found` is no code/);
});

test('a missing page is one finding', () => {
  const findings = checkSpec(new Map(), { ...GOOD, spec: undefined, fieldCases: '', security: '' });
  assert.deepEqual(findings, [{ file: 'SPEC.md', message: 'is missing; write it' }]);
});

test('a class of attack that nothing holds, or a test that is not there, is found', () => {
  const files = new Map([['test/x.test.ts', title('SS7, KY1, BR-017')]]);
  const row = (holders: string) => GOOD.security.replace('SS7, BR-017', holders);
  const found = (security: string) =>
    checkSpec(files, { ...GOOD, security }).map(({ message }) => message);
  assert.deepEqual(found(GOOD.security), []);
  assert.deepEqual(found(row('SS7, GW99')), [
    '"replay" is held by GW99, which stands in no test title',
  ]);
  assert.deepEqual(found(row('')), ['"replay" is held by nothing, which stands in no test title']);
  assert.deepEqual(found(`${GOOD.security}\n## More\n| a | b | c |\n`), []);
});

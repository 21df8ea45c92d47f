import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkConfigValue } from './check-config.ts';
import { formatIssue } from './config-issue.ts';
import { secretValues } from './secret-values.ts';

type Json = Record<string, unknown>;

const check = (servers: Json, env: Record<string, string> = {}) =>
  checkConfigValue({ mcp: { servers } }, env);
const errorsOf = (servers: Json): string[] => check(servers).errors.map(formatIssue);

const GOOD: Json = {
  program: { command: 'npx', args: ['-y', 'x'], env: { N: 1, B: true, K: '${OTHER}' }, cwd: '/' },
  remote: {
    url: 'https://example.com/mcp',
    transport: 'streamable-http',
    headers: { Authorization: 'Bearer ${KEY}' },
    toolFilter: { include: ['a*'], exclude: ['b'] },
    agents: ['main'],
  },
};

const KEYS = { KEY: 'sesame-open', OTHER: 'another-one' };

const BAD: [name: string, servers: Json, error: RegExp][] = [
  ['neither a command nor a url', { a: {} }, /^mcp\.servers\.a: needs a command/],
  ['both of them', { a: { command: 'x', url: 'http://h/' } }, /^mcp\.servers\.a: has both/],
  ['a url of another kind', { a: { url: 'file:///x' } }, /^mcp\.servers\.a\.url: must be an http/],
  ['a password in the url', { a: { url: 'http://u:p@h/' } }, /^mcp\.servers\.a\.url: .*headers/],
  [
    'headers of a program',
    { a: { command: 'x', headers: { B: 'c' } } },
    /\.headers: has no effect/,
  ],
  ['arguments of a url', { a: { url: 'http://h/', args: ['x'] } }, /\.args: has no effect/],
  ['the other transport', { a: { command: 'x', transport: 'streamable-http' } }, /\.transport: /],
  ['an unknown transport', { a: { url: 'http://h/', transport: 'sse' } }, /\.transport: /],
  ['a header that is none', { a: { url: 'http://h/', headers: { 'a b': 'c' } } }, /cannot stand/],
  ['a header of two lines', { a: { url: 'http://h/', headers: { B: 'c\nd' } } }, /\.headers\.B: /],
  ['a variable that is none', { a: { command: 'x', env: { 'a=b': 'c' } } }, /cannot stand/],
  ['a name with a separator', { a__b: { command: 'x' } }, /^mcp\.servers\.a__b: must not hold/],
  ['a name of session tools', { sessions: { command: 'x' } }, /belongs to the session tools/],
  [
    'a name twice',
    { a: { command: 'x' }, A: { command: 'y' } },
    /^mcp\.servers\.A: is there twice/,
  ],
  ['OAuth', { a: { url: 'http://h/', auth: 'oauth' } }, /\.auth: .*not supported yet/],
  ['a misspelt key', { a: { command: 'x', argz: [] } }, /argz: unknown key; did you mean "args"/],
];

test('[MS14] servers of both kinds are taken, with environment references', () => {
  const { errors, warnings, config } = check(GOOD, KEYS);
  assert.deepEqual([errors, warnings], [[], []]);
  const { remote, program } = config?.mcp.servers ?? {};
  assert.deepEqual(remote?.headers, { Authorization: 'Bearer sesame-open' });
  assert.deepEqual([program?.connectionTimeoutMs, program?.requestTimeoutMs], [30_000, 60_000]);
});

for (const [name, servers, error] of BAD)
  test(`[MS14] ${name} is one error, which quotes no value`, () => {
    const errors = errorsOf(servers);
    assert.equal(errors.length, 1, errors.join('\n'));
    assert.match(errors[0] ?? '', error);
    assert.doesNotMatch(errors[0] ?? '', /u:p@/);
  });

test('[MS14] an agent that is not there is a warning', () => {
  const { errors, warnings } = check({ a: { command: 'x', agents: ['main', 'Nobody'] } });
  assert.deepEqual(errors, []);
  assert.deepEqual(
    warnings.map(({ path }) => path),
    ['mcp.servers.a.agents[1]'],
  );
});

test('[MS10] the secrets of a configuration hold what servers are given, with and without the scheme', () => {
  const { config } = check(GOOD, KEYS);
  assert.ok(config !== undefined);
  const secrets = secretValues(config);
  for (const secret of ['sesame-open', 'Bearer sesame-open', 'https://example.com/mcp'])
    assert.ok(secrets.includes(secret), secret);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkDependencies } from './check-dependencies.ts';

const GOOD = {
  manifest: { dependencies: { ws: '8.23.0' }, optionalDependencies: { 'node-x': '24.1.0' } },
  page: '| package | what for |\n|---|---|\n| `ws` | sockets |\n| `node-x` | Node |\n',
  lock: '{ "node_modules/ws": { "version": "8.23.0" } }',
  npmrc: 'save-exact=true\nomit-lockfile-registry-resolved=true\n',
};

test('nothing is found when all is explained, pinned and without a host', () => {
  assert.deepEqual(checkDependencies(GOOD), []);
});

const FAULTS: [title: string, change: Partial<Parameters<typeof checkDependencies>[0]>, RegExp][] =
  [
    [
      'a range is no pin',
      { manifest: { ...GOOD.manifest, dependencies: { ws: '^8.0.0' } } },
      /pin one exact version/,
    ],
    ['a dependency needs its row', { page: '| `ws` | sockets |\n' }, /lacks a row for node-x/],
    ['a row needs its dependency', { page: `${GOOD.page}| \`left\` | gone |\n` }, /explains left/],
    ['a download address is refused', { lock: '"resolved": "https://host/ws.tgz"' }, /download/],
    [
      'a host in .npmrc is refused',
      { npmrc: `${GOOD.npmrc}registry=https://host/\n` },
      /names a host/,
    ],
  ];
for (const [title, change, pattern] of FAULTS) {
  test(title, () => {
    const messages = checkDependencies({ ...GOOD, ...change }).map((one) => one.message);
    assert.equal(messages.length, 1, messages.join('\n'));
    assert.match(messages[0] ?? '', pattern);
  });
}

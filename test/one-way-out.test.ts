/** Nothing reaches a chat past the outbox: who may hand a text to a channel, and who may put one in. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const SOURCES = join(import.meta.dirname, '..', 'src');

/** Sources that hold `pattern`, tests left out. */
function sourcesWith(pattern: RegExp): string[] {
  return globSync('**/*.ts', { cwd: SOURCES })
    .filter((file) => !/\.(?:test|suite)\.ts$/.test(file))
    .filter((file) => pattern.test(readFileSync(join(SOURCES, file), 'utf8')))
    .toSorted();
}

test('[DL11] one file hands texts to channels, and one function puts them into the outbox', () => {
  assert.deepEqual(
    sourcesWith(/\b(?:channel|adapter|webchat)\??\.send\(|\.get\([^)]*\)\??\.send\(/),
    ['service/delivery/hand-over.ts'],
  );
  assert.deepEqual(
    sourcesWith(/deliveries\.insert\(|insertInto\('deliveries'\)|insert into deliveries/),
    ['service/delivery/outbox.ts'],
  );
  // What could hand one over has to know an adapter, so that a new such file shows up here.
  assert.deepEqual(
    sourcesWith(/\bChannelAdapter\b/).filter((file) => !file.startsWith('channels/')),
    [
      'app/build-services.ts',
      'app/start-gateway.ts',
      'service/context.ts',
      'service/delivery/channel-calls.ts',
      'service/delivery/hand-over.ts',
    ],
  );
  assert.match(
    readFileSync(join(SOURCES, 'service/delivery/outbox.ts'), 'utf8'),
    /const visible = visibleText\(outgoing\.text\);/,
  );
});

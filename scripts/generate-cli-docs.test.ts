import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { CLI_PAGE, cliPage } from './generate-cli-docs.ts';

test('docs/cli.md holds the help of every command; else run node scripts/generate-cli-docs.ts', async () => {
  assert.equal(readFileSync(CLI_PAGE, 'utf8'), await cliPage());
});

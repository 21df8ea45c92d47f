import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { optionTable } from '../src/protocol/options/option-table.ts';
import { CONFIG_PAGE, configurationPage } from './generate-config-docs.ts';

test('docs/configuration.md is what the option table says; else run node scripts/generate-config-docs.ts', () => {
  assert.equal(readFileSync(CONFIG_PAGE, 'utf8'), configurationPage());
});

test('every option has a sentence of documentation', () => {
  for (const { path, note } of optionTable())
    assert.match(note.description, /^[A-Z`].*\.$/su, path);
});

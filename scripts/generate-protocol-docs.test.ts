import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { METHOD_NAMES } from '../src/protocol/methods.ts';
import { PROTOCOL_PAGE, protocolPage } from './generate-protocol-docs.ts';

test('[GW31] docs/protocol.md is current', () => {
  assert.equal(readFileSync(PROTOCOL_PAGE, 'utf8'), protocolPage());
});

test('[GW31] docs/protocol.md says what each method takes and answers', () => {
  const page = protocolPage();
  for (const method of METHOD_NAMES) {
    const [, section = ''] = page.split(`\n### ${method}\n`);
    assert.match(section.split('\n### ')[0] ?? '', /parameter[^]*Answer: `[^`\s]/, method);
  }
  for (const [, name = ''] of page.matchAll(/^Answer: `(\w+)`$/gm))
    assert.ok(new RegExp(`^(interface|type) ${name}\\b`, 'm').test(page), name);
});

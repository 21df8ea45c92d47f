import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRepeatable } from '../client/repeatable.ts';
import { parseToolArgs } from '../protocol/tools/parse-tool-args.ts';
import { SESSION_TOOL_NAMES } from '../protocol/tools/session-tools.ts';
import { describeTool } from './describe-tool.ts';

test('[MD9, CL3] a tool shows a key where it takes one, and is sent again where that is the same job', () => {
  const idempotencyKey = 'job 1';
  for (const name of SESSION_TOOL_NAMES) {
    const parsed = parseToolArgs(name, { idempotencyKey });
    const takesKey = parsed.ok || !parsed.error.includes('idempotencyKey');
    const { properties } = describeTool({ name, description: '', parameters: {} }).inputSchema;
    assert.equal(Object.hasOwn(properties ?? {}, 'idempotencyKey'), takesKey, name);
    assert.equal(isRepeatable('tools.invoke', { tool: name }), !takesKey, name);
    assert.ok(isRepeatable('tools.invoke', { tool: name, idempotencyKey }), name);
  }
});

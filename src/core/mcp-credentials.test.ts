import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configSchema } from '../protocol/options/config.ts';
import { maskGiven } from './mask-secrets.ts';
import { credentialsOf } from './mcp-credentials.ts';
import { toMcpOutcome } from './mcp-result.ts';

test('[MS10] a credential is masked also where a result writes it as JSON does', () => {
  const secrets = ['ab"cd-secret', 'back\\slash-secret', 'plain-secret'];
  const [API_TOKEN, DB_PASSWORD, MY_API_KEY] = secrets;
  const env = { API_TOKEN, DB_PASSWORD, MY_API_KEY };
  const { mcp } = configSchema.parse({ mcp: { servers: { s: { command: 'x', env } } } });
  const credentials = credentialsOf(mcp.servers['s']!);
  const mask = (text: string): string => maskGiven(text, credentials);
  const told = [
    { structuredContent: secrets },
    { content: [{ type: 'text', text: secrets.join() }] },
  ];
  for (const answer of told) assert.doesNotMatch(toMcpOutcome(answer, mask).text, /secret/);
});

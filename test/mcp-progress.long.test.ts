/** Signs of life of a call that waits, in each revision of MCP that is served, over both transports. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { startWorld, type TestWorld } from './helpers/test-world.ts';
import { slowly } from './mcp-tasks.suite.ts';

const PROGRAM = join(import.meta.dirname, '..', 'bin', 'trunkline.js');

const REVISIONS: [string, Partial<ConstructorParameters<typeof Client>[1]>][] = [
  ['2025-06-18', { supportedProtocolVersions: ['2025-06-18'] }],
  ['2025-11-25', { supportedProtocolVersions: ['2025-11-25'] }],
  ['2026-07-28', { versionNegotiation: { mode: 'auto' } }],
];

const TRANSPORTS: [string, (world: TestWorld) => Parameters<Client['connect']>[0]][] = [
  [
    'HTTP',
    ({ gateway }) =>
      new StreamableHTTPClientTransport(new URL('/mcp', gateway.url), {
        requestInit: { headers: { authorization: `Bearer ${gateway.token}` } },
      }),
  ],
  [
    'stdio',
    ({ gateway }) =>
      new StdioClientTransport({
        command: process.execPath,
        args: [PROGRAM, 'mcp', '--url', gateway.url],
        env: { ...process.env, TRUNKLINE_GATEWAY_TOKEN: gateway.token ?? '' } as Record<
          string,
          string
        >,
      }),
  ],
];

for (const [name, transportTo] of TRANSPORTS)
  test(`[MD8] over ${name} a call that waits gives signs of life in each revision`, async (t) => {
    const world = await startWorld(t);
    const held = world.model.hold('slow');
    const waiting = REVISIONS.map(async ([revision, options]) => {
      const client = new Client({ name: `client ${revision}`, version: '1' }, options);
      t.after(() => client.close());
      await client.connect(transportTo(world));
      assert.equal(client.getNegotiatedProtocolVersion(), revision);
      const heard = Promise.withResolvers<number>();
      const called = client.callTool(
        { name: 'sessions_send', arguments: slowly(revision) },
        { onprogress: ({ progress }) => heard.resolve(progress) },
      );
      // an answer that comes first is a call without a sign of life
      const first = await Promise.race([heard.promise, called.then(() => 0)]);
      return { revision, first, called };
    });
    const going = await Promise.all(waiting);
    held.release();
    for (const { revision, first, called } of going) {
      assert.ok(first > 0, revision);
      const { reply } = (await called).structuredContent as { reply: string };
      assert.equal(reply, revision);
    }
  });

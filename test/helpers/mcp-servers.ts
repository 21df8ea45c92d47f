/** MCP servers of tests, as the configuration of a gateway has them. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { serve } from '@hono/node-server';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { createToolServer } from './mcp-tool-server.ts';

type Json = Record<string, unknown>;

/** Returns the settings of the test server as a program, with these arguments of it. */
export function stdioServer(more: Json = {}, args: readonly string[] = []): Json {
  return { command: process.execPath, args: [program('mcp-stdio-program.ts'), ...args], ...more };
}

/** Returns the settings of a program that behaves badly in this way. */
export function badServer(way: string, more: Json = {}): Json {
  return { command: process.execPath, args: [program('mcp-raw-program.ts'), way], ...more };
}

function program(name: string): string {
  return join(import.meta.dirname, name);
}

export interface HttpServer {
  url: string;
  /** what it was sent, oldest first */
  requests: Request[];
  close(): Promise<void>;
}

/** Starts the test server on loopback; `before` may answer a request in its place. */
export async function startHttpServer(
  t: TestContext,
  before: (request: Request) => Response | undefined | Promise<Response | undefined> = () =>
    undefined,
): Promise<HttpServer> {
  const handler = createMcpHandler(() => createToolServer());
  const requests: Request[] = [];
  const server = serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async (request) => {
      requests.push(request);
      return (await before(request)) ?? handler.fetch(request);
    },
  });
  if (!server.listening) await once(server, 'listening');
  const close = async (): Promise<void> => {
    if ('closeAllConnections' in server) server.closeAllConnections();
    await new Promise((done) => server.close(done));
  };
  t.after(close);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, requests, close };
}

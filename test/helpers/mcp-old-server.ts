/** An MCP server of the protocol line before, over HTTP, with sessions: what most servers of today are. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';

export interface OldServer {
  url: string;
  /** ids of the sessions that are open */
  sessions: ReadonlySet<string>;
  /** Forgets all of them, as a restart does. */
  forget(): void;
}

/** Starts it on loopback; its one tool says in which session it was called. */
export async function startOldServer(t: TestContext): Promise<OldServer> {
  const transports = new Map<string, StreamableHTTPServerTransport>();
  const sessions = new Set<string>();
  const open = async (): Promise<StreamableHTTPServerTransport> => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => {
        transports.set(id, transport);
        sessions.add(id);
      },
      onsessionclosed: (id) => void sessions.delete(id),
    });
    const server = new McpServer({ name: 'old', version: '1' });
    server.registerTool('where', {}, ({ sessionId = '' }) => ({
      content: [{ type: 'text', text: sessionId }],
    }));
    await server.connect(transport as Parameters<typeof server.connect>[0]);
    return transport;
  };
  const server = createServer((request, response) => {
    const answer = async (): Promise<void> => {
      const id = request.headers['mcp-session-id'];
      const known = transports.get(String(id));
      if (id !== undefined && known === undefined) {
        response.writeHead(404).end();
        return;
      }
      const body = request.method === 'POST' ? await json(request) : undefined;
      await (known ?? (await open())).handleRequest(request, response, body);
    };
    void answer();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    sessions,
    forget: () => {
      transports.clear();
      sessions.clear();
    },
  };
}

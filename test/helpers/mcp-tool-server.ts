/** An MCP server with tools to try a client on, made with the published library: for stdio and HTTP alike. */
import { appendFileSync } from 'node:fs';
import { once } from 'node:events';
import { type CallToolResult, Server } from '@modelcontextprotocol/server';

type Json = Record<string, unknown>;
type Call = (args: Json, signal: AbortSignal) => Json | Promise<Json>;

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const text = (said: string): Json => ({ content: [{ type: 'text', text: said }] });

export interface ToolServerOptions {
  /** lines of it say which calls were begun and ended; absent = kept nowhere */
  effects?: string | undefined;
}

/** Returns a server; each connection has one of its own. */
export function createToolServer({ effects }: ToolServerOptions = {}): Server {
  const note = (line: string): void => {
    if (effects !== undefined) appendFileSync(effects, `${line}\n`);
  };
  const tools = new Map<string, Call>([
    ['echo', ({ text: said }) => text(String(said))],
    ['sum', ({ a, b }) => ({ content: [], structuredContent: { sum: Number(a) + Number(b) } })],
    ['picture', () => ({ content: [{ type: 'image', data: PIXEL, mimeType: 'image/png' }] })],
    ['refuse', () => ({ ...text('this is not to be had'), isError: true })],
    ['environment', () => text(JSON.stringify(process.env))],
    ['pid', () => text(String(process.pid))],
    ['get.odd/name', () => text('odd')],
    ['die', () => process.exit(3)],
    [
      'hang',
      async (_args, signal) => {
        note('hang begun');
        if (!signal.aborted) await once(signal, 'abort');
        note('hang ended');
        return text('too late');
      },
    ],
    ['long', ({ letters }) => text('x'.repeat(Number(letters)))],
    [
      'grow',
      async () => {
        tools.set('grown', () => text('grown up'));
        await server.sendToolListChanged();
        return text('there is one more');
      },
    ],
  ]);
  const server = new Server(
    { name: 'tools', version: '1.0.0' },
    { capabilities: { tools: { listChanged: true } } },
  );
  server.setRequestHandler('tools/list', () => ({
    tools: [...tools.keys()].map((name) => ({
      name,
      description: `The tool ${name}.`,
      inputSchema: { type: 'object' as const, properties: { text: { type: 'string' } } },
    })),
  }));
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    note(`${params.name} called`);
    const call = tools.get(params.name);
    const answer = (await call?.(params.arguments ?? {}, mcpReq.signal)) ?? text('no such tool');
    return answer as CallToolResult;
  });
  return server;
}

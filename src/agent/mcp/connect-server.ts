/** One connection to an MCP server, over the published client. Loaded when the first server is needed. */
import type { Readable } from 'node:stream';
import { Client, type ClientOptions, ProtocolError, type Tool } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { McpAnswer } from '../../core/mcp-result.ts';
import type { McpServerSettings } from '../../protocol/options/mcp-options.ts';
import { MAX_ANSWER_BYTES } from './bounded-fetch.ts';
import { HttpTransport } from './http-transport.ts';
import { keepTail } from './keep-tail.ts';

export interface McpConnection {
  /** Resolves with all of them; `signal` bounds the time, however many pages there are. */
  listTools(signal: AbortSignal): Promise<Tool[]>;
  callTool(call: McpCall): Promise<McpAnswer>;
  /** Ends the connection, and the program behind it. Never rejects. */
  close(): Promise<void>;
}

export interface McpCall {
  tool: Tool;
  args: Record<string, unknown>;
  signal: AbortSignal;
  timeoutMs: number;
}

export interface ConnectOptions {
  settings: McpServerSettings;
  version: string;
  /** sees what its program says on standard error */
  mask: (text: string) => string;
  /** ends an attempt that is going */
  signal: AbortSignal;
  onToolsChanged: () => void;
  /** it has ended, whoever ended it */
  onClosed: () => void;
  /** told before the attempt begins: how to get the last lines that the program wrote on standard error */
  onProgram: (lastLines: () => string[]) => void;
  /** told of the end of an attempt that failed: resolves when nothing is left of it */
  onClosing: (closing: Promise<void>) => void;
}

/** Pages of a list of tools. */
const MAX_PAGES = 20;
/** The first revision that has no `initialize`; a server may speak it alone. */
const STATELESS_REVISION = '2026-07-28';

/** Connects to a server. Rejects when it cannot be started or reached, or does not answer in time. */
export async function connectServer(options: ConnectOptions): Promise<McpConnection> {
  if (options.settings.url !== undefined) return open(options, 'auto');
  try {
    return await open(options, 'legacy');
  } catch (error) {
    // it runs, and refuses what the protocol began with before
    if (!(error instanceof ProtocolError) || options.signal.aborted) throw error;
    return open(options, { pin: STATELESS_REVISION });
  }
}

type Negotiation = NonNullable<NonNullable<ClientOptions['versionNegotiation']>['mode']>;

async function open(options: ConnectOptions, mode: Negotiation): Promise<McpConnection> {
  const { settings, signal } = options;
  const client = new Client(
    { name: 'trunkline', version: options.version },
    {
      versionNegotiation: { mode },
      listMaxPages: MAX_PAGES,
      listChanged: { tools: { autoRefresh: false, onChanged: options.onToolsChanged } },
    },
  );
  const transport = toTransport(options);
  const close = async (): Promise<void> => {
    if (transport instanceof HttpTransport) await transport.leave();
    await client.close().catch(() => {});
    // while it connects, the client does not know it yet
    await transport.close().catch(() => {});
  };
  const { promise: givenUp, reject } = Promise.withResolvers<never>();
  const giveUp = (): void => reject(signal.reason);
  signal.throwIfAborted();
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    const { connectionTimeoutMs: timeout } = settings;
    await Promise.race([client.connect(transport, { timeout, signal }), givenUp]);
  } catch (error) {
    // giving up is not kept waiting by a program that does not end
    const closing = close();
    options.onClosing(closing);
    if (!signal.aborted) await closing;
    throw error;
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
  client.onclose = options.onClosed;
  return toConnection(client, close);
}

function toConnection(client: Client, close: () => Promise<void>): McpConnection {
  return {
    close,
    listTools: async (signal) => {
      if (client.getServerCapabilities()?.tools === undefined) return [];
      const { tools } = await client.listTools(undefined, { signal, cacheMode: 'refresh' });
      return tools;
    },
    callTool: ({ tool, args, signal, timeoutMs }) => {
      // without its schema of results: what does not fit it is shown to the model all the same
      const { outputSchema: _outputSchema, ...toolDefinition } = tool;
      return client.callTool(
        { name: tool.name, arguments: args },
        { signal, timeout: timeoutMs, maxTotalTimeout: timeoutMs, toolDefinition },
      );
    },
  };
}

function toTransport({
  settings,
  mask,
  onProgram,
}: ConnectOptions): StdioClientTransport | HttpTransport {
  const { command = '', args, env, cwd, url } = settings;
  if (url !== undefined) return new HttpTransport({ url, headers: asTexts(settings.headers) });
  const transport = new StdioClientTransport({
    command,
    args,
    // on top of the few variables that the library lets a program have
    env: asTexts(env),
    ...(cwd === undefined ? {} : { cwd }),
    stderr: 'pipe',
    maxBufferSize: MAX_ANSWER_BYTES,
  });
  onProgram(keepTail(transport.stderr as Readable, mask));
  return transport;
}

function asTexts(values: Readonly<Record<string, string | number | boolean>>) {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]));
}

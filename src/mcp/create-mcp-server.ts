/** One MCP server for one client: the session tools, and the sessions as resources. */
import { Server } from '@modelcontextprotocol/server';
import type { ServerContext } from '@modelcontextprotocol/server';
import type { CallRead } from '../protocol/answers/call-answers.ts';
import { clientNameIn } from './client-identity.ts';
import { TRUNKLINE_INSTRUCTIONS } from './instructions.ts';
import type { McpGateway } from './mcp-gateway.ts';
import { serveResources } from './serve-resources.ts';
import type { ResourceSet } from './serve-resources.ts';
import { gatewayTools, taskDoor } from './gateway-tools.ts';
import { createTaskFollower } from './follow-tasks.ts';
import { serveTasks, taskStatus } from './serve-tasks.ts';
import { TASK_CAPABILITIES } from './task-words.ts';
import { serveTools } from './serve-tools.ts';
import type { ToolSet } from './serve-tools.ts';
import { sessionResources } from './session-resources.ts';

/** What one client is offered. */
export interface McpOffer {
  tools: ToolSet;
  resources: ResourceSet;
}
export interface McpServerOptions {
  gateway: McpGateway;
  /** of the gateway, shown to clients */
  version: string;
  /** longest wait of one call, seconds */
  maxWaitSeconds: number;
  /** Returns the session that the client acts as, given the name it says it has. */
  sessionOf: (clientName: string | undefined) => Promise<string>;
  /** Returns the offer with more in it, for a server that has more than the gateway. */
  extend?: ((offer: McpOffer) => McpOffer) | undefined;
  /** the connection lasts, so that the client can be told things unasked */
  isLasting?: boolean;
}

/** Returns the server of one connection, or of one request where the protocol knows no connection. */
export function createMcpServer(options: McpServerOptions): Server {
  const server = new Server(
    { name: 'trunkline', title: 'Trunkline', version: options.version },
    {
      capabilities: { tools: {}, resources: {}, ...TASK_CAPABILITIES },
      instructions: TRUNKLINE_INSTRUCTIONS,
    },
  );
  // the same for every request of a client
  let session: Promise<string> | undefined;
  const sessionKey = (context: ServerContext): Promise<string> => {
    session ??= options
      .sessionOf(nameOf(context) ?? server.getClientVersion()?.name)
      .catch((error: unknown) => {
        session = undefined;
        throw error;
      });
    return session;
  };
  const { gateway, isLasting = false, extend = (offer) => offer } = options;
  const tell = (call: CallRead) => server.notification(taskStatus(call));
  const followTask = isLasting ? createTaskFollower(gateway, tell) : undefined;
  const { tools, resources } = extend({
    tools: gatewayTools({ ...options, followTask }, sessionKey),
    resources: sessionResources(gateway, sessionKey),
  });
  serveTools(server, tools);
  serveTasks(server, taskDoor({ gateway, followTask }, sessionKey));
  serveResources(server, resources);
  return server;
}

/** Newer clients say who they are with every request, older ones once, at the start. */
function nameOf({ mcpReq }: ServerContext): string | undefined {
  return clientNameIn(mcpReq.envelope);
}

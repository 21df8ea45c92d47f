/** Sessions as MCP resources: `trunkline://sessions/<key>`, the text of which is the newest messages. */
import { ResourceNotFoundError } from '@modelcontextprotocol/server';
import type { Resource, Server, ServerContext } from '@modelcontextprotocol/server';
import { GatewayError } from '../protocol/errors.ts';
import { isToolFailure } from '../protocol/tools/session-tools.ts';
import type { SessionRowView, SessionsListPage } from '../protocol/tools/session-tool-answers.ts';
import type { McpGateway } from './mcp-gateway.ts';

const PREFIX = 'trunkline://sessions/';
const PAGE = 100;
const JSON_TYPE = 'application/json';

interface Door {
  gateway: McpGateway;
  sessionKey: (context: ServerContext) => Promise<string>;
}

/** Lets the client list and read the sessions that the session it acts as may see. */
export function serveResources(server: Server, door: Door): void {
  server.setRequestHandler('resources/list', ({ params }, context) =>
    listSessions(door, { cursor: params?.cursor, context }),
  );
  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: [
      {
        uriTemplate: `${PREFIX}{sessionKey}`,
        name: 'session',
        title: 'Messages of a session',
        mimeType: JSON_TYPE,
      },
    ],
  }));
  server.setRequestHandler('resources/read', async ({ params: { uri } }, context) => ({
    contents: [{ uri, mimeType: JSON_TYPE, text: await readSession(door, { uri, context }) }],
  }));
}

async function listSessions(
  { gateway, sessionKey }: Door,
  { cursor, context }: { cursor: string | undefined; context: ServerContext },
) {
  const args = { limit: PAGE, ...(cursor === undefined ? {} : { cursor }) };
  const answer = await gateway.invoke({
    sessionKey: await sessionKey(context),
    tool: 'sessions_list',
    args,
  });
  if (isToolFailure(answer)) throw new GatewayError('invalid_request', errorOf(answer));
  const { sessions, nextCursor } = answer as SessionsListPage;
  return {
    resources: sessions.map(toResource),
    ...(nextCursor === undefined ? {} : { nextCursor }),
  };
}

function toResource(row: SessionRowView): Resource {
  return {
    uri: `${PREFIX}${encodeURIComponent(row.key)}`,
    name: row.key,
    title: row.label ?? row.displayName ?? row.key,
    description: `${row.kind} session of agent ${row.agentId}, ${row.state}`,
    mimeType: JSON_TYPE,
    annotations: { lastModified: new Date(row.updatedAt).toISOString() },
  };
}

async function readSession(
  { gateway, sessionKey }: Door,
  { uri, context }: { uri: string; context: ServerContext },
): Promise<string> {
  const key = keyOf(uri);
  if (key === undefined) throw new ResourceNotFoundError(uri);
  const answer = await gateway.invoke({
    sessionKey: await sessionKey(context),
    tool: 'sessions_history',
    args: { sessionKey: key },
  });
  if (isToolFailure(answer)) throw new ResourceNotFoundError(uri, errorOf(answer));
  return JSON.stringify(answer);
}

function keyOf(uri: string): string | undefined {
  if (!uri.startsWith(PREFIX)) return undefined;
  try {
    return decodeURIComponent(uri.slice(PREFIX.length));
  } catch {
    return undefined;
  }
}

function errorOf(answer: object): string {
  return String(Reflect.get(answer, 'error'));
}

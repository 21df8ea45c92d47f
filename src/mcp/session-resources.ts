/** Sessions as MCP resources: `trunkline://sessions/<key>`, the text of which is the newest messages. */
import { ResourceNotFoundError } from '@modelcontextprotocol/server';
import type { ListResourcesResult, Resource, ServerContext } from '@modelcontextprotocol/server';
import { GatewayError } from '../protocol/errors.ts';
import { isToolFailure } from '../protocol/tools/session-tools.ts';
import type { SessionRowView, SessionsListPage } from '../protocol/tools/session-tool-answers.ts';
import type { McpGateway } from './mcp-gateway.ts';
import type { ResourceSet } from './serve-resources.ts';

const PREFIX = 'trunkline://sessions/';
const PAGE = 100;
const JSON_TYPE = 'application/json';

interface Caller {
  gateway: McpGateway;
  /** of the session that the client acts as */
  sessionKey: string;
}

/** Returns the sessions that the session may see which the client acts as. */
export function sessionResources(
  gateway: McpGateway,
  sessionKey: (context: ServerContext) => Promise<string>,
): ResourceSet {
  const callerOf = async (context: ServerContext): Promise<Caller> => ({
    gateway,
    sessionKey: await sessionKey(context),
  });
  return {
    templates: [
      {
        uriTemplate: `${PREFIX}{sessionKey}`,
        name: 'session',
        title: 'Messages of a session',
        mimeType: JSON_TYPE,
      },
    ],
    list: async (cursor, context) => listSessions(await callerOf(context), cursor),
    read: async (uri, context) => {
      const key = keyOf(uri);
      if (key === undefined) return undefined;
      const text = await readSession(await callerOf(context), { key, uri });
      return [{ uri, mimeType: JSON_TYPE, text }];
    },
  };
}

async function listSessions(
  { gateway, sessionKey }: Caller,
  cursor: string | undefined,
): Promise<ListResourcesResult> {
  const args = { limit: PAGE, ...(cursor === undefined ? {} : { cursor }) };
  const answer = await gateway.invoke({ sessionKey, tool: 'sessions_list', args });
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
  { gateway, sessionKey }: Caller,
  { key, uri }: { key: string; uri: string },
): Promise<string> {
  const args = { sessionKey: key };
  const answer = await gateway.invoke({ sessionKey, tool: 'sessions_history', args });
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

/** Who an MCP request is from, where the protocol knows no connection. */
import { CLIENT_INFO_META_KEY } from '@modelcontextprotocol/server';
import type { ClientIdentity } from './mcp-gateway.ts';

/** Header by which a client says which session it acts as. */
const SESSION_HEADER = 'x-trunkline-session-key';
/** Header of the protocol that a client sends back with every request after `initialize`. */
export const CONNECTION_HEADER = 'mcp-session-id';

const NAME_OF_NOBODY = 'client';

/**
 * Returns what a request over HTTP says of its sender: the header of ours, else what it was given at
 * `initialize`, else the name in the request itself.
 */
export function identityOf(headers: Headers, body: unknown): ClientIdentity {
  const sessionKey = headers.get(SESSION_HEADER)?.trim() ?? given(headers.get(CONNECTION_HEADER));
  const name = nameIn(body) ?? NAME_OF_NOBODY;
  return sessionKey === undefined || sessionKey === '' ? { name } : { name, sessionKey };
}

/** Returns the connection's name for a session: it holds the key, so that no gateway has to remember it. */
export function connectionIdOf(sessionKey: string): string {
  return Buffer.from(sessionKey, 'utf8').toString('base64url');
}

function given(connectionId: string | null): string | undefined {
  return connectionId === null
    ? undefined
    : Buffer.from(connectionId, 'base64url').toString('utf8');
}

/** `clientInfo.name` of `initialize`, or of the envelope that newer requests carry. */
function nameIn(body: unknown): string | undefined {
  const params = field(body, 'params');
  return filled(field(field(params, 'clientInfo'), 'name')) ?? clientNameIn(field(params, '_meta'));
}

/** Returns the name in the envelope of a request, as newer clients say it every time. */
export function clientNameIn(envelope: unknown): string | undefined {
  return filled(field(field(envelope, CLIENT_INFO_META_KEY), 'name'));
}

function filled(name: unknown): string | undefined {
  return typeof name === 'string' && name.trim() !== '' ? name.trim() : undefined;
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

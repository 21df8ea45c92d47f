import { GatewayError } from '../protocol/errors.ts';
import type { ConnectParams } from '../protocol/frames.ts';
import { PROTOCOL_MAX, PROTOCOL_MIN } from '../protocol/versions.ts';

export interface ConnectOptions {
  /** `http://` and `ws://` addresses are the same here */
  url: string;
  token?: string | undefined;
  password?: string | undefined;
  clientName?: string | undefined;
  clientVersion?: string | undefined;
  mode?: ConnectParams['client']['mode'] | undefined;
  /** all that the credential grants when absent */
  scopes?: string[] | undefined;
  caps?: string[] | undefined;
  /** only this version; the newest common one when absent */
  protocol?: number | undefined;
  /** until connected; default 10000 */
  timeoutMs?: number | undefined;
  /** gives the connection up while it is being made */
  signal?: AbortSignal | undefined;
}

/** Returns the parameters of the `connect` frame. */
export function toConnectParams(options: ConnectOptions): Record<string, unknown> {
  const { token, password } = options;
  return {
    minProtocol: options.protocol ?? PROTOCOL_MIN,
    maxProtocol: options.protocol ?? PROTOCOL_MAX,
    client: {
      id: options.clientName ?? 'trunkline-client',
      version: options.clientVersion ?? '0',
      platform: 'process' in globalThis ? 'node' : 'browser',
      mode: options.mode ?? 'cli',
    },
    role: 'operator',
    ...(options.scopes === undefined ? {} : { scopes: options.scopes }),
    caps: options.caps ?? [],
    auth: {
      ...(token === undefined ? {} : { token }),
      ...(password === undefined ? {} : { password }),
    },
  };
}

/** Returns the WebSocket address of a gateway, or throws `invalid_request`. */
export function toSocketUrl(url: string): string {
  if (!URL.canParse(url)) throw badUrl(url);
  const parsed = new URL(url);
  const protocol = { 'http:': 'ws:', 'https:': 'wss:', 'ws:': 'ws:', 'wss:': 'wss:' }[
    parsed.protocol
  ];
  if (protocol === undefined) throw badUrl(url);
  return `${protocol}//${parsed.host}/`;
}

function badUrl(url: string): GatewayError {
  return new GatewayError(
    'invalid_request',
    `"${url}" is not the address of a gateway, such as ws://127.0.0.1:18789`,
  );
}

import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { GatewayError } from '../protocol/errors.ts';
import { gatewayOptions } from '../protocol/options/gateway-options.ts';
import { readConfigFile } from './check-config.ts';
import { isSettings } from './config-issue.ts';
import { resolveEnvReferences } from './env-references.ts';
import type { Environment } from './env-references.ts';
import { readTokenFile } from './gateway-token.ts';
import { bindAddress } from './load-config.ts';
import { given, stateFiles } from './state-files.ts';
import type { PlaceOptions, StateFiles } from './state-files.ts';

/** How a client command is told which gateway it means. */
export interface FindOptions extends PlaceOptions {
  /** `--url` */
  url?: string | undefined;
  /** `--token` */
  token?: string | undefined;
  env?: Environment | undefined;
}

/** Where a gateway is expected, and the token for it. */
export interface GatewayPlace {
  /** `http://127.0.0.1:18789`, without a slash at the end */
  url: string;
  /** undefined = none is known */
  token: string | undefined;
  /** of mode `password`; undefined = none is known, or none is wanted */
  password: string | undefined;
  source: 'url' | 'environment' | 'state' | 'config';
}

const fileSchema = z.object({ gateway: gatewayOptions });
type GatewaySettings = z.output<typeof gatewayOptions>;

/**
 * Returns where a client finds its gateway: `--url`; a running gateway of `--state-dir`;
 * `TRUNKLINE_GATEWAY_URL`; a running gateway of the usual state directory; else the configured port.
 * The token of the state directory is given to this machine only.
 */
export function findGateway(options: FindOptions = {}): GatewayPlace {
  const env = options.env ?? process.env;
  const files = stateFiles(options, env);
  const { url, source } = findUrl(options, { env, files });
  if (options.token !== undefined)
    return { url, source, token: options.token, password: undefined };
  const token = given(env, 'TRUNKLINE_GATEWAY_TOKEN');
  const password = given(env, 'TRUNKLINE_GATEWAY_PASSWORD');
  const isGiven = token !== undefined || password !== undefined;
  // Someone who points a command at another machine has not agreed to send it this one's secrets.
  const isNamed = source === 'url' || source === 'environment';
  if (isNamed && (isGiven || !isLoopback(new URL(url).hostname)))
    return { url, source, token, password };
  return { url, source, ...ownSecrets({ env, files }) };
}

function findUrl(
  options: FindOptions,
  { env, files }: { env: Environment; files: StateFiles },
): { url: string; source: GatewayPlace['source'] } {
  if (options.url !== undefined) return { url: toBaseUrl(options.url, '--url'), source: 'url' };
  const fromEnvironment = given(env, 'TRUNKLINE_GATEWAY_URL');
  if (fromEnvironment !== undefined && options.stateDir === undefined)
    return { url: toBaseUrl(fromEnvironment, 'TRUNKLINE_GATEWAY_URL'), source: 'environment' };
  if (existsSync(files.urlPath)) {
    const url = toBaseUrl(readFileSync(files.urlPath, 'utf8'), files.urlPath);
    return { url, source: 'state' };
  }
  const gateway = readGatewaySettings(files, env);
  const port = Number(given(env, 'TRUNKLINE_GATEWAY_PORT') ?? gateway.port);
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw new GatewayError(
      'config',
      'no gateway is running on this state; start one, or pass --url',
    );
  return { url: `http://${clientHost(gateway.bind)}:${port}`, source: 'config' };
}

function ownSecrets(state: {
  env: Environment;
  files: StateFiles;
}): Pick<GatewayPlace, 'token' | 'password'> {
  const { env, files } = state;
  const { auth } = readGatewaySettings(files, env);
  if (auth.mode === 'none') return { token: undefined, password: undefined };
  if (auth.mode === 'password') {
    const password = auth.password ?? given(env, 'TRUNKLINE_GATEWAY_PASSWORD');
    return { token: undefined, password };
  }
  const token =
    auth.token ?? given(env, 'TRUNKLINE_GATEWAY_TOKEN') ?? readTokenFile(files.tokenPath);
  return { token, password: undefined };
}

/** Reads only what a client needs: a fault elsewhere in the file must not keep it from a running gateway. */
function readGatewaySettings(files: StateFiles, env: Environment): GatewaySettings {
  if (!existsSync(files.configPath) && !files.isConfigNamed) return fileSchema.parse({}).gateway;
  const file = readConfigFile(files.configPath);
  if (!file.ok) throw new GatewayError('config', file.error.message);
  const gateway = isSettings(file.written) ? file.written['gateway'] : undefined;
  const { value, errors } = resolveEnvReferences({ gateway }, env);
  const parsed = fileSchema.safeParse(value);
  if (parsed.success && errors.length === 0) return parsed.data.gateway;
  const place = errors[0]?.path ?? 'gateway';
  const message = `${files.configPath}: ${place} cannot be used; see "trunkline config check"`;
  throw new GatewayError('config', message);
}

function toBaseUrl(text: string, from: string): string {
  const url = URL.canParse(text.trim()) ? new URL(text.trim()) : undefined;
  const scheme = url?.protocol.replace(/^ws/, 'http');
  if (url === undefined || (scheme !== 'http:' && scheme !== 'https:'))
    throw new GatewayError('config', `${from} must be an address such as http://127.0.0.1:18789`);
  if (url.username !== '' || url.password !== '' || url.search !== '')
    throw new GatewayError(
      'config',
      `${from} must hold no credentials; use TRUNKLINE_GATEWAY_TOKEN`,
    );
  return `${scheme}//${url.host}${url.pathname.replace(/\/+$/, '')}`;
}

function clientHost(bind: string): string {
  if (bind === '0.0.0.0') return '127.0.0.1';
  if (bind === '::') return '[::1]';
  const address = bindAddress(bind);
  return address.includes(':') ? `[${address}]` : address;
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}

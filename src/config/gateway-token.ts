import { randomBytes } from 'node:crypto';
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { GatewayError } from '../protocol/errors.ts';
import { makeFolder } from '../util/make-folder.ts';
import type { Environment } from './env-references.ts';
import type { LoadedConfig } from './load-config.ts';
import { given } from './state-files.ts';

/** The token that callers must show, and where it comes from. */
export interface GatewayToken {
  token: string;
  source: 'config' | 'environment' | 'file' | 'made';
}

/**
 * Returns the gateway's token: from the configuration, else `TRUNKLINE_GATEWAY_TOKEN`, else from
 * `<state>/gateway.token`, which is made (mode 0600) when it is not there.
 */
export function ensureGatewayToken(
  loaded: Pick<LoadedConfig, 'config' | 'tokenPath'>,
  { env = process.env }: { env?: Environment } = {},
): GatewayToken {
  const configured = loaded.config.gateway.auth.token;
  if (configured !== undefined) return { token: configured, source: 'config' };
  const fromEnvironment = given(env, 'TRUNKLINE_GATEWAY_TOKEN');
  if (fromEnvironment !== undefined) return { token: fromEnvironment, source: 'environment' };
  const stored = readTokenFile(loaded.tokenPath);
  if (stored !== undefined) return { token: stored, source: 'file' };
  return makeTokenFile(loaded.tokenPath);
}

/** Returns the stored token, or undefined when there is no such file. An empty or unreadable one is an error. */
export function readTokenFile(path: string): string | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8').trim();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw new GatewayError('config', `${path} cannot be read`, { cause: error });
  }
  if (text === '')
    throw new GatewayError('config', `${path} is empty; delete it and start the gateway again`);
  return text;
}

function makeTokenFile(path: string): GatewayToken {
  const token = randomBytes(32).toString('hex');
  const draft = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`;
  makeStateDir(dirname(path));
  writeFileSync(draft, `${token}\n`, { mode: 0o600, flag: 'wx' });
  try {
    // A link appears whole or not at all, and never replaces the token of another start.
    linkSync(draft, path);
    return { token, source: 'made' };
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    const other = readTokenFile(path);
    if (other === undefined) throw error;
    return { token: other, source: 'file' };
  } finally {
    rmSync(draft, { force: true });
  }
}

function makeStateDir(dir: string): void {
  try {
    makeFolder(dir, { mode: 0o700 });
  } catch (cause) {
    throw new GatewayError(
      'config',
      `the state directory ${dir} cannot be made; give another --state-dir`,
      { cause },
    );
  }
}

import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Environment } from './env-references.ts';

/** What a person chose on the command line. */
export interface PlaceOptions {
  /** `--state-dir` */
  stateDir?: string | undefined;
  /** `--config` */
  configPath?: string | undefined;
}

/** Where a gateway keeps its things. */
export interface StateFiles {
  stateDir: string;
  configPath: string;
  /** somebody named this configuration file, so it must be there */
  isConfigNamed: boolean;
  /** holds the token that was made at first start */
  tokenPath: string;
  /** holds the address while the gateway runs */
  urlPath: string;
}

/** Returns the places of a state directory: by flag, else by environment, else `~/.trunkline`. */
export function stateFiles(options: PlaceOptions, env: Environment): StateFiles {
  const stateDir = expandPath(
    options.stateDir ?? given(env, 'TRUNKLINE_STATE_DIR') ?? '~/.trunkline',
  );
  const named = options.configPath ?? given(env, 'TRUNKLINE_CONFIG');
  return {
    stateDir,
    configPath: named === undefined ? join(stateDir, 'trunkline.json') : expandPath(named),
    isConfigNamed: named !== undefined,
    tokenPath: join(stateDir, 'gateway.token'),
    urlPath: join(stateDir, 'gateway.url'),
  };
}

/** Returns an absolute path; `~` is the home directory, a relative one starts at `base`. */
export function expandPath(path: string, base = '.'): string {
  if (path === '~') return homedir();
  if (path.startsWith('~/')) return join(homedir(), path.slice(2));
  return resolve(base, path);
}

/** Returns a variable of the environment; an empty one counts as not set. */
export function given(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim();
  return value === undefined || value === '' ? undefined : value;
}

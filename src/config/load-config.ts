import { existsSync } from 'node:fs';
import type { Config } from '../protocol/options/config.ts';
import { gatewayOptions } from '../protocol/options/gateway-options.ts';
import { GatewayError } from '../protocol/errors.ts';
import { checkConfigValue, readConfigFile } from './check-config.ts';
import { checkGateway, withSecrets } from './check-gateway.ts';
import { formatIssue } from './config-issue.ts';
import type { ConfigIssue } from './config-issue.ts';
import { type DatabasePlace, databasePlaceOf } from './database-place.ts';
import type { Environment } from './env-references.ts';
import { shapeErrors } from './shape-errors.ts';
import { expandPath, given, stateFiles } from './state-files.ts';
import type { PlaceOptions, StateFiles } from './state-files.ts';

/** Everything that decides a gateway's configuration beside its file. */
export interface LoadOptions extends PlaceOptions {
  /** `--port` */
  port?: number | undefined;
  /** `--bind` */
  bind?: string | undefined;
  /** default: the environment of the process */
  env?: Environment | undefined;
  /** `${NAME}` of an unset variable stays as written, for commands that call no model */
  mayLackSecrets?: boolean | undefined;
}

/** A configuration that can be used, and where it comes from. */
export interface LoadedConfig extends StateFiles {
  config: Config;
  warnings: ConfigIssue[];
  /** false = there is no file, and the defaults hold */
  isConfigFound: boolean;
  /** usual providers whose key is in the environment */
  environmentProviders: string[];
  /** Postgres in place of the file in the state directory; undefined = SQLite */
  database: DatabasePlace | undefined;
}

/**
 * Loads the configuration: flags over environment over file over defaults. Rejects with a `config`
 * error that lists every fault with its path; secrets are in none of its texts. Writes nothing.
 */
export function loadConfig(options: LoadOptions = {}): LoadedConfig {
  const env = options.env ?? process.env;
  const files = stateFiles(options, env);
  const isConfigFound = existsSync(files.configPath);
  const written = isConfigFound || files.isConfigNamed ? readOrThrow(files.configPath) : {};
  const checked = checkConfigValue(written, env, {
    mayLackSecrets: options.mayLackSecrets ?? false,
  });
  const place = overridesOf(options, env);
  const database = databasePlaceOf(env);
  const gateway = checked.config && { ...withSecrets(checked.config, env), ...place.gateway };
  const unsafe = gateway === undefined ? [] : checkGateway(gateway);
  const errors = [...checked.errors, ...place.errors, ...unsafe, ...database.errors];
  if (checked.config === undefined || gateway === undefined || errors.length > 0)
    throw configError(files.configPath, errors);
  return {
    ...files,
    isConfigFound,
    config: withAbsolutePaths({ ...checked.config, gateway }, files.stateDir),
    warnings: checked.warnings,
    environmentProviders: checked.addedProviders,
    database: database.database,
  };
}

/** Returns the address to listen on for `gateway.bind`. */
export function bindAddress(bind: string): string {
  return bind === 'loopback' ? '127.0.0.1' : bind;
}

function readOrThrow(path: string): unknown {
  const file = readConfigFile(path);
  if (file.ok) return file.written;
  throw new GatewayError('config', file.error.message, { details: { errors: [file.error] } });
}

function configError(path: string, errors: ConfigIssue[]): GatewayError {
  const lines = errors.map((issue) => `  ${formatIssue(issue)}`).join('\n');
  return new GatewayError('config', `the configuration ${path} cannot be used:\n${lines}`, {
    details: { errors },
  });
}

interface Overrides {
  gateway: { port?: number; bind?: string };
  errors: ConfigIssue[];
}

/** Port: `--port` over `TRUNKLINE_GATEWAY_PORT` over `gateway.port` (B10.1). */
function overridesOf(options: LoadOptions, env: Environment): Overrides {
  const found: Overrides = { gateway: {}, errors: [] };
  const envPort = given(env, 'TRUNKLINE_GATEWAY_PORT');
  const shape = gatewayOptions.unwrap().shape;
  const port = options.port ?? (envPort === undefined ? undefined : Number(envPort));
  if (port !== undefined) {
    const parsed = shape.port.safeParse(port);
    const path = options.port === undefined ? 'TRUNKLINE_GATEWAY_PORT' : '--port';
    if (parsed.success) found.gateway.port = parsed.data;
    else found.errors.push({ path, message: 'expected a whole number from 0 to 65535' });
  }
  if (options.bind !== undefined) {
    const parsed = shape.bind.safeParse(options.bind);
    if (parsed.success) found.gateway.bind = parsed.data;
    else
      found.errors.push(
        ...shapeErrors(parsed.error).map((fault) => ({ ...fault, path: '--bind' })),
      );
  }
  return found;
}

/** Relative folders of the file start at the state directory, wherever the gateway is started from. */
function withAbsolutePaths(config: Config, stateDir: string): Config {
  const withWorkspace = <T extends { workspace?: string | undefined }>(settings: T): T =>
    settings.workspace === undefined
      ? settings
      : { ...settings, workspace: expandPath(settings.workspace, stateDir) };
  const { defaults, list, entries } = config.agents;
  return {
    ...config,
    agents: {
      defaults: withWorkspace(defaults),
      list: list.map((agent) => withWorkspace(agent)),
      entries: Object.fromEntries(
        Object.entries(entries).map(([id, agent]) => [id, withWorkspace(agent)]),
      ),
    },
  };
}

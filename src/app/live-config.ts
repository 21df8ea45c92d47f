/** The configuration in force: loaded and checked whole, taken over whole or not at all. */
import { compareConfigs } from '../config/compare-configs.ts';
import type { Environment } from '../config/env-references.ts';
import { ensureGatewayToken } from '../config/gateway-token.ts';
import { loadConfig } from '../config/load-config.ts';
import type { LoadedConfig, LoadOptions } from '../config/load-config.ts';
import { secretValues } from '../config/secret-values.ts';
import type { GatewayAuth } from '../gateway/authenticate.ts';
import type { GatewaySettings } from '../gateway/door-settings.ts';
import type { ReloadReport } from '../protocol/answers/method-answers.ts';
import type { Config } from '../protocol/options/config.ts';
import { GatewayError } from '../protocol/errors.ts';
import type { Logger } from '../util/logger.ts';

export interface LiveConfig {
  /** Returns the configuration in force. */
  current(): Config;
  /** Returns the secrets that the gateway was told since its start, by value. */
  secrets(): readonly string[];
  /** Returns how the door is set up by it. */
  gatewaySettings(): GatewaySettings;
  /**
   * Loads the file and the token anew. Throws `config` when something is wrong; then everything stays
   * as it was. `apply` is told the settings of the door before this returns.
   */
  reload(apply: (settings: GatewaySettings) => void): ReloadReport;
}

/** Returns the configuration that a gateway was started with, and the way to another one. */
export function createLiveConfig(
  first: LoadedConfig,
  { options, env, logger }: { options: LoadOptions; env: Environment; logger: Logger },
): LiveConfig {
  let config = first.config;
  let auth = authOf(first, env);
  const settings = () => toSettings(config, auth);
  // an old one may stand in what is still going
  const secrets = new Set(secretsOf(config, auth));
  return {
    current: () => config,
    secrets: () => [...secrets],
    gatewaySettings: settings,
    reload: (apply) => {
      try {
        const loaded = loadConfig(options);
        const nextAuth = authOf(loaded, env);
        const { config: next, ...report } = compareConfigs(config, loaded.config);
        const path = 'gateway.auth.token';
        // one that comes from its file stands nowhere in the configuration
        if (nextAuth.token !== auth.token && !report.applied.includes(path))
          report.applied.push(path);
        config = next;
        auth = nextAuth;
        for (const secret of secretsOf(config, auth)) secrets.add(secret);
        apply(settings());
        tell(logger, { ...report, warnings: loaded.warnings });
        return report;
      } catch (thrown) {
        const why = thrown instanceof GatewayError ? { reason: thrown.message } : { err: thrown };
        logger.error(why, 'the configuration was not reloaded and stays as it was');
        throw thrown;
      }
    },
  };
}

function authOf(loaded: LoadedConfig, env: Environment): GatewayAuth {
  const { mode, password } = loaded.config.gateway.auth;
  if (mode === 'trusted-proxy')
    throw new GatewayError('unsupported', 'gateway.auth.mode: trusted-proxy is not supported yet');
  if (mode === 'token') return { mode, token: ensureGatewayToken(loaded, { env }).token };
  return mode === 'password' ? { mode, password } : { mode };
}

function secretsOf(config: Config, { token, password }: GatewayAuth): string[] {
  return [...secretValues(config), token ?? '', password ?? ''];
}

function toSettings({ gateway }: Config, auth: GatewayAuth): GatewaySettings {
  const { allowedOrigins, tools: toolPolicy } = gateway;
  const isCompletionsOpen = gateway.http.endpoints.chatCompletions.enabled;
  const { rateLimit } = gateway.auth;
  return { auth, allowedOrigins, toolPolicy, isCompletionsOpen, rateLimit };
}

function tell(
  logger: Logger,
  { warnings, ...report }: ReloadReport & Pick<LoadedConfig, 'warnings'>,
): void {
  for (const { path, message } of warnings) logger.warn({ path }, message);
  if (report.needsRestart.length > 0)
    logger.warn({ needsRestart: report.needsRestart }, 'changed, but only a restart applies it');
  logger.info({ ...report }, 'configuration reloaded');
}

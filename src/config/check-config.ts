import { readFileSync } from 'node:fs';
import JSON5 from 'json5';
import { configSchema } from '../protocol/options/config.ts';
import type { Config } from '../protocol/options/config.ts';
import { codeOf } from '../util/error-code.ts';
import { checkGateway, withSecrets } from './check-gateway.ts';
import { policyWarnings } from './check-policies.ts';
import { checkReferences } from './check-references.ts';
import { isSettings } from './config-issue.ts';
import type { ConfigIssue } from './config-issue.ts';
import { resolveEnvReferences } from './env-references.ts';
import type { Environment } from './env-references.ts';
import { addEnvironmentProviders } from './environment-providers.ts';
import { inspectOptions } from './inspect-options.ts';
import { shapeErrors } from './shape-errors.ts';

/** The outcome of checking a configuration. */
export interface ConfigCheck {
  /** there when there are no errors */
  config?: Config;
  /** usual providers that were added from the environment */
  addedProviders: string[];
  errors: ConfigIssue[];
  warnings: ConfigIssue[];
}

export type ParsedFile = { ok: true; written: unknown } | { ok: false; error: ConfigIssue };

/** Checks a configuration file without using it. Reports everything that is wrong at once. */
export function checkConfig(
  path: string,
  { env = process.env }: { env?: Environment } = {},
): { ok: boolean; errors: ConfigIssue[]; warnings: ConfigIssue[] } {
  const file = readConfigFile(path);
  if (!file.ok) return { ok: false, errors: [file.error], warnings: [] };
  const { config, errors, warnings } = checkConfigValue(file.written, env);
  if (config !== undefined) errors.push(...checkGateway(withSecrets(config, env)));
  return { ok: errors.length === 0, errors, warnings };
}

/** Checks what a configuration file holds, and returns the configuration in effect. */
export function checkConfigValue(
  written: unknown,
  env: Environment,
  { mayLackSecrets = false }: { mayLackSecrets?: boolean } = {},
): ConfigCheck {
  if (!isSettings(written)) {
    const error = { path: '', message: 'the configuration must be an object' };
    return { addedProviders: [], errors: [error], warnings: [] };
  }
  const { value, errors: unset } = resolveEnvReferences(written, env);
  const missing = mayLackSecrets ? [] : unset;
  const { errors: refused, warnings } = inspectOptions({ value, written });
  const parsed = configSchema.safeParse(value);
  const shape = parsed.success ? [] : shapeErrors(parsed.error);
  const errors = onePerPath([...missing, ...shape, ...refused]);
  if (!parsed.success) return { addedProviders: [], errors, warnings };
  const { config, added } = addEnvironmentProviders(parsed.data, env);
  const references = checkReferences(config);
  errors.push(...references.errors);
  warnings.push(...references.warnings, ...policyWarnings(config));
  return {
    ...(errors.length === 0 ? { config } : {}),
    addedProviders: added,
    errors,
    warnings,
  };
}

/** Reads a JSON5 file. The error says where it is malformed, and quotes nothing of it. */
export function readConfigFile(path: string): ParsedFile {
  try {
    return { ok: true, written: JSON5.parse<unknown>(readFileSync(path, 'utf8')) };
  } catch (error) {
    return { ok: false, error: { path: '', message: fileErrorText(path, error) } };
  }
}

function fileErrorText(path: string, error: unknown): string {
  if (error instanceof SyntaxError && 'lineNumber' in error && 'columnNumber' in error)
    return `${path} is not valid JSON5: see line ${String(error.lineNumber)}, column ${String(error.columnNumber)}`;
  const code = codeOf(error) ?? 'unknown error';
  return `${path} cannot be read (${code})`;
}

/** The first error of a place says enough: a missing variable also fails the check of its value. */
function onePerPath(issues: ConfigIssue[]): ConfigIssue[] {
  const seen = new Set<string>();
  return issues.filter(({ path }) => !seen.has(path) && seen.add(path));
}

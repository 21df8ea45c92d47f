import { formatPath, isSettings } from './config-issue.ts';
import type { ConfigIssue, PathSegment } from './config-issue.ts';

/** The environment as plain values; read from the process by the caller. */
export type Environment = Readonly<Record<string, string | undefined>>;

const REFERENCE = /(\$?)\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g;
/** Deeper files are refused before anything recurses into them. */
const MAX_DEPTH = 64;

/**
 * Returns the written configuration with every `${NAME}` in a text replaced from the environment
 * (`$${NAME}` stays as `${NAME}`), and an error with path and name for each that is not set.
 */
export function resolveEnvReferences(
  written: unknown,
  env: Environment,
): { value: unknown; errors: ConfigIssue[] } {
  const errors: ConfigIssue[] = [];
  const value = resolveAt(written, [], { env, errors });
  return { value, errors };
}

interface Walk {
  env: Environment;
  errors: ConfigIssue[];
}

function resolveAt(value: unknown, path: PathSegment[], walk: Walk): unknown {
  if (typeof value === 'string') return resolveText(value, path, walk);
  if (path.length > MAX_DEPTH) {
    const message = `is nested deeper than ${MAX_DEPTH} levels`;
    walk.errors.push({ path: formatPath(path.slice(0, 3)), message });
    return undefined;
  }
  if (Array.isArray(value))
    return value.map((element, index) => resolveAt(element, [...path, index], walk));
  if (!isSettings(value)) return value;
  const entries = Object.entries(value).map(([key, below]): [string, unknown] => [
    key,
    resolveAt(below, [...path, key], walk),
  ]);
  return Object.fromEntries(entries);
}

function resolveText(text: string, path: PathSegment[], { env, errors }: Walk): string {
  return text.replace(REFERENCE, (written, escape: string, name: string) => {
    if (escape === '$') return written.slice(1);
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    if (value !== undefined && value !== '') return value;
    const message = `environment variable ${name} is not set; set it, or write the value here`;
    errors.push({ path: formatPath(path), message });
    return written;
  });
}

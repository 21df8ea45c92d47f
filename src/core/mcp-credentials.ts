/** Which values of a server's settings are credentials: what must not come back in what the server says. */
import type { McpServerSettings } from '../protocol/options/mcp-options.ts';
import { maskSecrets } from './mask-secrets.ts';
import { SECRET_NAME } from './secret-formats.ts';

/** Returns a value of a header, and what follows its scheme: a server may repeat either. */
export function credentialsIn(value: string): string[] {
  const [, bare] = /^(?:bearer|basic|token)\s+(\S.*)$/i.exec(value.trim()) ?? [];
  return bare === undefined ? [value] : [value, bare];
}

/**
 * Returns the credentials of a server by value: its headers, and of its environment what is named or looks like
 * one. The rest of an environment is addresses and folders, which its results are about.
 */
export function credentialsOf({ env, headers }: McpServerSettings): string[] {
  const named = Object.entries(env).filter(
    ([name, value]) => SECRET_NAME.test(name) || maskSecrets(String(value)) !== String(value),
  );
  return [...Object.values(headers), ...named.map(([, value]) => value)]
    .flatMap((value) => credentialsIn(String(value)))
    .flatMap(asWritten);
}

/** Results are JSON more often than not, which writes quotes and backslashes in another way. */
function asWritten(value: string): string[] {
  return [...new Set([value, JSON.stringify(value).slice(1, -1)])];
}

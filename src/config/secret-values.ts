/** The secrets that a configuration holds, by value: what must stand in no text of ours. */
import { credentialsIn } from '../core/mcp-credentials.ts';
import type { Config } from '../protocol/options/config.ts';
import { optionTable } from '../protocol/options/option-table.ts';

/** Returns the values of all options that are declared secret. */
export function secretValues(config: Config): string[] {
  secretPaths ??= optionTable()
    .filter(({ note }) => note.secret === true)
    .map(({ path }) => path.replaceAll('[]', '.*').split('.'));
  return secretPaths
    .flatMap((path) => valuesAt(config, path))
    .filter((value) => typeof value === 'string')
    .flatMap(credentialsIn);
}

/** Read from the option table by the first configuration. */
let secretPaths: string[][] | undefined;

/** `*` stands for every name of a map and every place of a list. */
function valuesAt(value: unknown, [name, ...rest]: readonly string[]): unknown[] {
  if (name === undefined) return [value];
  if (typeof value !== 'object' || value === null) return [];
  const inside = name === '*' ? Object.values(value) : [(value as Record<string, unknown>)[name]];
  return inside.flatMap((item) => valuesAt(item, rest));
}

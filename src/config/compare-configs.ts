/** What differs between two configurations, and which of it a running gateway can take over. */
import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../protocol/options/config.ts';
import { optionTable } from '../protocol/options/option-table.ts';
import { formatPath, isSettings } from './config-issue.ts';
import type { PathSegment } from './config-issue.ts';

/** Paths of options, never their values. */
export interface ConfigChange {
  /** `after`, with what needs a restart as it was before */
  config: Config;
  applied: string[];
  needsRestart: string[];
  /** sections in which nothing changed */
  unchanged: string[];
}

/** Returns the configuration that is in force from now on, and what changed. */
export function compareConfigs(before: Config, after: Config): ConfigChange {
  const changed = differences(before, after, []);
  const kept = changed.filter(isFixedAtStart);
  const config = structuredClone(after);
  for (const path of kept) put(config, path, valueAt(before, path));
  return {
    config,
    applied: changed.filter((path) => !isFixedAtStart(path)).map(formatPath),
    needsRestart: kept.map(formatPath),
    unchanged: Object.keys(after).filter((section) => changed.every(([name]) => name !== section)),
  };
}

/** Lists are compared as wholes: what is first or last in them matters. */
function differences(before: unknown, after: unknown, path: PathSegment[]): PathSegment[][] {
  if (isDeepStrictEqual(before, after)) return [];
  if (!isSettings(before) || !isSettings(after)) return [path];
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].flatMap((key) => differences(own(before, key), own(after, key), [...path, key]));
}

let fixedPaths: ReadonlySet<string> | undefined;

function isFixedAtStart(path: PathSegment[]): boolean {
  fixedPaths ??= new Set(
    optionTable()
      .filter(({ note }) => note.needsRestart === true)
      .map((row) => row.path),
  );
  return fixedPaths.has(formatPath(path));
}

function own(value: unknown, key: PathSegment): unknown {
  return isSettings(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

function valueAt(config: unknown, path: PathSegment[]): unknown {
  return path.reduce(own, config);
}

function put(config: unknown, path: PathSegment[], value: unknown): void {
  const parent = valueAt(config, path.slice(0, -1));
  if (isSettings(parent)) parent[String(path.at(-1))] = value;
}

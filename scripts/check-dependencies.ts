/**
 * Dependencies are explained, pinned and come from whatever registry the reader uses:
 * docs/dependencies.md has a row for each, package.json holds exact versions, and neither the lock
 * file nor .npmrc names a host.
 */
import type { Finding } from './source-files.ts';

interface Manifest {
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

export interface DependencyTexts {
  manifest: Manifest;
  /** docs/dependencies.md: one row per package, its name in backticks in the first column */
  page: string | undefined;
  lock: string | undefined;
  npmrc: string | undefined;
}

/** Returns what is not explained, not pinned, or names a host. */
export function checkDependencies({ manifest, page, lock, npmrc }: DependencyTexts): Finding[] {
  const versions = {
    ...manifest.dependencies,
    ...manifest.devDependencies,
    ...manifest.optionalDependencies,
  };
  return [
    ...checkPins(versions),
    ...checkPage(Object.keys(versions), page),
    ...checkLock(lock),
    ...checkNpmrc(npmrc),
  ];
}

function checkPins(versions: Record<string, string>): Finding[] {
  return Object.entries(versions)
    .filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))
    .map(([name, version]) => ({
      file: 'package.json',
      message: `${name} is "${version}"; pin one exact version`,
    }));
}

function checkPage(names: readonly string[], page: string | undefined): Finding[] {
  const file = 'docs/dependencies.md';
  if (page === undefined) return [{ file, message: 'is missing; explain every dependency' }];
  const explained = new Set<string>();
  for (const row of page.matchAll(/^\|([^|]*)\|/gm)) {
    for (const name of (row[1] ?? '').matchAll(/`([^`]+)`/g)) explained.add(name[1] ?? '');
  }
  return [
    ...names
      .filter((name) => !explained.has(name))
      .map((name) => ({ file, message: `lacks a row for ${name}: what for, why this one, cost` })),
    ...[...explained]
      .filter((name) => !names.includes(name))
      .map((name) => ({ file, message: `explains ${name}, which package.json does not have` })),
  ];
}

function checkLock(lock: string | undefined): Finding[] {
  const file = 'package-lock.json';
  if (lock === undefined) return [{ file, message: 'is missing; run npm install' }];
  const index = lock.split('\n').findIndex((line) => /"resolved":\s*"\w+:\/\//.test(line));
  if (index < 0) return [];
  const message = 'holds a download address; keep .npmrc and run npm install again';
  return [{ file, line: index + 1, message }];
}

function checkNpmrc(npmrc: string | undefined): Finding[] {
  const file = '.npmrc';
  const text = npmrc ?? '';
  const missing = ['save-exact=true', 'omit-lockfile-registry-resolved=true']
    .filter((setting) => !text.includes(setting))
    .map((setting) => ({ file, message: `lacks ${setting}` }));
  if (!/:\/\/|registry\s*=|_auth/.test(text)) return missing;
  return [...missing, { file, message: 'names a host or a credential; take it out' }];
}

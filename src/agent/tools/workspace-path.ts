import { lstat, realpath } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { makeFolder } from '../../util/make-folder.ts';
import { PathRefusal } from './path-refusal.ts';

/** What `exec` calls the workspace; the file tools take the same spelling. */
export const WORKSPACE_ALIAS = '/workspace';

const MAX_PATH_CHARACTERS = 4096;

export interface WorkspacePath {
  /** real path of the target, or where a new file would really be; free of symlinks */
  real: string;
  /** relative to the workspace, for texts */
  shown: string;
  exists: boolean;
}

/**
 * Returns where a path given by a model really is, or throws a `PathRefusal` when that is outside the
 * workspace. Decided by real paths: a symlink may lead to another place inside, never out.
 */
export async function resolveInWorkspace(workspace: string, given: string): Promise<WorkspacePath> {
  if (given.trim() === '')
    throw new PathRefusal('path is empty; give a path relative to the workspace');
  if (given.includes('\0')) throw new PathRefusal('path holds a NUL character');
  if (given.length > MAX_PATH_CHARACTERS) {
    throw new PathRefusal(`path is longer than ${MAX_PATH_CHARACTERS} characters`);
  }
  makeFolder(workspace);
  const root = await realpath(workspace);
  const wanted = resolve(root, withoutAlias(root, given));
  const real = await realTarget(wanted);
  if (!isInside(root, real.path)) throw outside(given);
  return { real: real.path, shown: relative(root, real.path) || '.', exists: real.exists };
}

function withoutAlias(root: string, given: string): string {
  if (!isAbsolute(given) || isInside(root, resolve(given))) return given;
  return given === WORKSPACE_ALIAS || given.startsWith(`${WORKSPACE_ALIAS}/`)
    ? `.${given.slice(WORKSPACE_ALIAS.length)}`
    : given;
}

function isInside(root: string, path: string): boolean {
  const way = relative(root, path);
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

function outside(given: string): PathRefusal {
  return new PathRefusal(
    `${JSON.stringify(given)} is outside the workspace; use a path relative to it`,
  );
}

/** The real path of the nearest existing ancestor, with the part that does not exist yet put back on. */
async function realTarget(path: string): Promise<{ path: string; exists: boolean }> {
  const missing: string[] = [];
  for (let current = path; ; current = dirname(current)) {
    const real = await realpath(current).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (real !== undefined) return { path: join(real, ...missing), exists: missing.length === 0 };
    // A link to nowhere would send a new file to wherever it points.
    const isLink = await lstat(current).then(
      (stat) => stat.isSymbolicLink(),
      () => false,
    );
    if (isLink) throw new PathRefusal('the path holds a symlink that leads nowhere');
    missing.unshift(relative(dirname(current), current));
  }
}

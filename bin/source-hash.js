import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Returns one hash over the names and bytes of everything in `src/` that the build turns into
 * `dist/`, or undefined when there is no `src/` (an installed package). Tests do not count.
 */
export function sourceHash(root) {
  return hashSources(root, (path) => readFileSync(path));
}

/**
 * Returns one hash over the names, sizes and times of the same files. As long as it is what it was
 * at the build, nobody has touched them and none need be read.
 */
export function sourceTimes(root) {
  return hashSources(root, (path) => {
    const { size, mtimeMs } = statSync(path);
    return `${size} ${mtimeMs}`;
  });
}

/** Returns true when `dist/` was built from the `src/` that is there now, or when it is all there is. */
export function isDistFresh(root) {
  if (!existsSync(join(root, 'dist/cli/main.js'))) return false;
  const times = sourceTimes(root);
  if (times === undefined || times === readStamp(root, '.source-times')) return true;
  return sourceHash(root) === readStamp(root, '.source-hash');
}

function hashSources(root, contentOf) {
  const source = join(root, 'src');
  if (!existsSync(source)) return undefined;
  const hash = createHash('sha256');
  const names = listFiles(source, '')
    .filter((name) => name.endsWith('.ts') && !/\.(test|suite)\.ts$/.test(name))
    .sort();
  for (const name of names) {
    const content = contentOf(join(source, name));
    hash.update(`${name}\0${content.length}\0`).update(content);
  }
  return hash.digest('hex');
}

/** By hand: the `recursive` of `readdir` asks for each entry on its own, and takes ten times as long. */
function listFiles(root, folder) {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const name = folder === '' ? entry.name : `${folder}/${entry.name}`;
    return entry.isDirectory() ? listFiles(root, name) : [name];
  });
}

function readStamp(root, name) {
  const stamp = join(root, 'dist', name);
  return existsSync(stamp) ? readFileSync(stamp, 'utf8').trim() : undefined;
}

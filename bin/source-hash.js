import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Returns one hash over the names and bytes of everything in `src/` that the build turns into
 * `dist/`, or undefined when there is no `src/` (an installed package). Tests do not count.
 */
export function sourceHash(root) {
  const source = join(root, 'src');
  if (!existsSync(source)) return undefined;
  const hash = createHash('sha256');
  const names = readdirSync(source, { recursive: true })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => name.endsWith('.ts') && !/\.(test|suite)\.ts$/.test(name))
    .sort();
  for (const name of names) {
    const bytes = readFileSync(join(source, name));
    hash.update(`${name}\0${bytes.length}\0`).update(bytes);
  }
  return hash.digest('hex');
}

/** Returns true when `dist/` was built from the `src/` that is there now, or when it is all there is. */
export function isDistFresh(root) {
  if (!existsSync(join(root, 'dist/cli/main.js'))) return false;
  const current = sourceHash(root);
  if (current === undefined) return true;
  const stamp = join(root, 'dist/.source-hash');
  return existsSync(stamp) && readFileSync(stamp, 'utf8').trim() === current;
}

/**
 * Makes `dist/` from `src/` and stores the hash of the source in it. Plain JavaScript: it runs
 * from `npm ci`, whichever Node that uses.
 *
 * With `--if-possible` (from `prepare`) a missing compiler or source is no error: an install
 * without dev packages has nothing to build.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDistFresh, sourceHash, sourceTimes } from '../bin/source-hash.js';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const isOptional = process.argv.includes('--if-possible');

const compiler = findCompiler();
const hash = sourceHash(root);
const times = sourceTimes(root);
if (compiler === undefined || hash === undefined) {
  if (isOptional) process.exit(0);
  console.error('build: needs src/ and the dev packages; run `npm ci` first');
  process.exit(1);
}
if (isOptional && isDistFresh(root)) process.exit(0);

rmSync(join(root, 'dist'), { recursive: true, force: true });
const result = spawnSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], {
  cwd: root,
  stdio: 'inherit',
});
if (result.status !== 0) {
  console.error('build: the types do not check (above); dist/ is left without its source hash');
  process.exit(result.status ?? 1);
}
writeFileSync(join(root, 'dist/.source-hash'), `${hash}\n`);
writeFileSync(join(root, 'dist/.source-times'), `${times}\n`);

function findCompiler() {
  try {
    const require = createRequire(import.meta.url);
    const path = join(dirname(require.resolve('typescript/package.json')), 'bin/tsc');
    return existsSync(path) ? path : undefined;
  } catch {
    return undefined;
  }
}

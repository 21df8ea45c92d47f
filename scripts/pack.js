/**
 * `prepack` and `postpack`: the published package brings no Node of its own, so its package.json
 * has no optionalDependencies. The repository's file is put back afterwards.
 */
import { copyFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const manifest = join(root, 'package.json');
const saved = join(root, '.package.json.before-pack');

if (process.argv[2] === 'before') {
  // A pack that was interrupted left the full file here.
  if (existsSync(saved)) copyFileSync(saved, manifest);
  else copyFileSync(manifest, saved);
  const {
    optionalDependencies: _,
    devDependencies: __,
    scripts: ___,
    ...kept
  } = JSON.parse(readFileSync(manifest, 'utf8'));
  writeFileSync(manifest, `${JSON.stringify(kept, null, 2)}\n`);
} else if (existsSync(saved)) {
  renameSync(saved, manifest);
}

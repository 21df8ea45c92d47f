/** `npm run fix [-- PATH…]`: formats the files and applies the linter's safe corrections. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from './source-files.ts';

const paths = process.argv.slice(2);
const run = (bin: string, args: readonly string[]): number => {
  const path = join(ROOT, 'node_modules', bin);
  const { status } = spawnSync(process.execPath, [path, ...args, ...paths], {
    cwd: ROOT,
    stdio: 'inherit',
  });
  return status ?? 1;
};
const linted = run('oxlint/bin/oxlint', ['--fix']);
const formatted = run('oxfmt/bin/oxfmt', ['--write']);
process.exitCode = Math.max(linted, formatted);

/**
 * `npm test [-- PATH…]`: all checks, then every test file that is named neither `*.long.test.ts` nor
 * `*.clients.test.ts`, two at a time. With paths (a file, or the start of some) only these tests and no
 * checks; with `--long` the long ones, with `--clients` those with programs that others wrote, once
 * `test/clients` is installed: continuous integration runs both as well. Ends with the plain line `N passed, N failed`; each
 * check counts as one.
 */
import { globSync } from 'node:fs';
import { runChecks } from './run-checks.ts';
import { runTestFile } from './run-test-file.ts';
import type { FileResult } from './run-test-file.ts';
import { ROOT } from './source-files.ts';

const TEST_GLOBS = ['test/**/*.test.ts', 'src/**/*.test.ts', 'scripts/**/*.test.ts'];
const AT_ONCE = 2;

const args = process.argv.slice(2);
const kind = args.includes('--long') ? 'long' : args.includes('--clients') ? 'clients' : undefined;
const wanted = args.filter((arg) => !arg.startsWith('--')).map((path) => path.replace(/^\.\//, ''));
const files = globSync(TEST_GLOBS, { cwd: ROOT })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => !file.includes('/node_modules/'))
  .filter(isWanted);

const checks =
  wanted.length === 0 && kind === undefined ? await runChecks() : { passed: 0, failed: 0 };
const results = await runAll(files);
report(results);

function isWanted(file: string): boolean {
  if (wanted.length > 0) return wanted.some((start) => file.startsWith(start));
  return /\.(long|clients)\.test\.ts$/.exec(file)?.[1] === kind;
}

async function runAll(names: readonly string[]): Promise<FileResult[]> {
  const waiting = [...names];
  const done: FileResult[] = [];
  const work = async (): Promise<void> => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      const result = await runTestFile(file, { root: ROOT });
      printFile(result);
      done.push(result);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return done;
}

function printFile({ file, passed, failed, skipped, ms, failures, output }: FileResult): void {
  const counts = [
    `${passed} passed`,
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(skipped > 0 ? [`${skipped} skipped`] : []),
  ].join(', ');
  console.log(`${failed === 0 ? '✔' : '✖'} ${file}: ${counts} (${(ms / 1000).toFixed(1)} s)`);
  for (const { title, error } of failures) console.log(`\n  ✖ ${title}\n${indent(error)}\n`);
  if (failed > 0 && output !== '') console.log(`  output of the file:\n${indent(output)}`);
}

function report(done: readonly FileResult[]): void {
  const sum = (of: (result: FileResult) => number): number =>
    done.reduce((total, result) => total + of(result), 0);
  const passed = checks.passed + sum((result) => result.passed);
  let failed = checks.failed + sum((result) => result.failed);
  const bad = done.filter((result) => result.failed > 0);
  if (bad.length > 0) {
    console.log('\nfailed:');
    for (const { file, failures } of bad) {
      for (const { title } of failures) console.log(`  ${file}: ${title}`);
    }
  }
  if (done.every((result) => result.passed + result.failed === 0)) {
    console.log('\nno test ran');
    failed += 1;
  }
  const skipped = sum((result) => result.skipped);
  if (skipped > 0) console.log(`\n${skipped} skipped`);
  console.log(`\n${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}

function indent(text: string): string {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => `    ${line}`)
    .join('\n');
}

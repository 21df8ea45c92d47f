/** All checks of the repository. Each is one line when it holds, and says what to do when not. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { ERROR_CODES } from '../src/protocol/errors.ts';
import { checkDependencies } from './check-dependencies.ts';
import { checkLayers, findLongFiles } from './check-layers.ts';
import { checkSpec } from './check-spec.ts';
import { ROOT, readSourceFiles, readText } from './source-files.ts';
import type { Finding } from './source-files.ts';

const SOURCE_FOLDERS = ['src', 'test', 'bench', 'scripts', 'web'];
const MAX_OUTPUT_LINES = 80;
const AT_ONCE = 2;

interface Outcome {
  isOk: boolean;
  output: string;
}
interface Check {
  name: string;
  run(): Promise<Outcome>;
}

/** Runs every check, or those named, prints what each says, and returns how many held. */
export async function runChecks(
  names: readonly string[] = [],
): Promise<{ passed: number; failed: number }> {
  const known = createChecks();
  const unknown = names.filter((name) => !known.some((check) => check.name === name));
  if (unknown.length > 0) {
    const list = known.map((check) => check.name).join(', ');
    throw new Error(`no such check: ${unknown.join(', ')}; there are ${list}`);
  }
  const checks = known.filter((check) => names.length === 0 || names.includes(check.name));
  let failed = 0;
  const waiting = [...checks];
  const work = async (): Promise<void> => {
    for (let check = waiting.shift(); check !== undefined; check = waiting.shift()) {
      const startedAt = performance.now();
      const { isOk, output } = await check.run();
      if (!isOk) failed += 1;
      print({ name: check.name, isOk, output, ms: performance.now() - startedAt });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return { passed: checks.length - failed, failed };
}

function createChecks(): Check[] {
  const files = readSourceFiles(SOURCE_FOLDERS);
  const manifest = JSON.parse(readText('package.json') ?? '{}');
  return [
    command('lint', 'oxlint/bin/oxlint', ['--format=unix']),
    command('types', 'typescript/bin/tsc', ['-p', '.', '--pretty', 'false']),
    command('format', 'oxfmt/bin/oxfmt', ['--list-different'], 'run `npm run fix`'),
    command('unused', 'knip/bin/knip.js', ['--no-progress']),
    findings('layers', () => checkLayers(files), findLongFiles(files)),
    findings('spec', () =>
      checkSpec(files, {
        spec: readText('SPEC.md'),
        fieldCases: readText('docs/field-cases.md'),
        security: readText('docs/security.md'),
        errors: readText('docs/errors.md'),
        errorCodes: Object.keys(ERROR_CODES),
      }),
    ),
    findings('dependencies', () =>
      checkDependencies({
        manifest,
        page: readText('docs/dependencies.md'),
        lock: readText('package-lock.json'),
        npmrc: readText('.npmrc'),
      }),
    ),
  ];
}

function findings(name: string, find: () => Finding[], notes: readonly Finding[] = []): Check {
  const show = ({ file, line, message }: Finding): string =>
    `${file}${line === undefined ? '' : `:${line}`}  ${message}`;
  return {
    name,
    run: async () => {
      const found = find();
      const output = [...found.map(show), ...notes.map((note) => `note: ${show(note)}`)].join('\n');
      return { isOk: found.length === 0, output };
    },
  };
}

/** A check that is a program of a package; it fails when the program's exit code is not 0. */
function command(name: string, bin: string, args: readonly string[], advice = ''): Check {
  return {
    name,
    run: () =>
      new Promise((resolve) => {
        const path = join(ROOT, 'node_modules', bin);
        const child = spawn(process.execPath, [path, ...args], { cwd: ROOT });
        const chunks: Buffer[] = [];
        child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
        child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk));
        child.on('error', (error) => resolve({ isOk: false, output: error.message }));
        child.on('close', (code) => {
          const text = Buffer.concat(chunks).toString().trim();
          if (code === 0) resolve({ isOk: true, output: '' });
          else resolve({ isOk: false, output: advice === '' ? text : `${text}\n${advice}` });
        });
      }),
  };
}

function print({ name, isOk, output, ms }: Outcome & { name: string; ms: number }): void {
  const lines = output === '' ? [] : output.split('\n');
  const shown = lines.slice(0, MAX_OUTPUT_LINES).map((line) => `    ${line}`);
  const more = lines.length - shown.length;
  if (more > 0) shown.push(`    … and ${more} more lines; run \`npm run check -- ${name}\` alone`);
  const head = `${isOk ? '✔' : '✖'} ${name} (${(ms / 1000).toFixed(1)} s)`;
  console.log([head, ...shown].join('\n'));
}

import { run } from 'node:test';
import { inspect } from 'node:util';

/** How one test file went. */
export interface FileResult {
  file: string;
  passed: number;
  failed: number;
  skipped: number;
  ms: number;
  /** what failed, each with its error; empty when all held */
  failures: { title: string; error: string }[];
  /** what the file wrote on its streams */
  output: string;
}

/** A file that is not done by then is ended: the test waits for nothing, or left something open. */
export const FILE_TIMEOUT_MS = 300_000;

/** Runs one test file in a process of its own, and returns the test runner's own figures. */
export async function runTestFile(
  file: string,
  options: { root: string; timeoutMs?: number },
): Promise<FileResult> {
  const timeoutMs = options.timeoutMs ?? FILE_TIMEOUT_MS;
  const startedAt = performance.now();
  const result: FileResult = {
    file,
    passed: 0,
    failed: 0,
    skipped: 0,
    ms: 0,
    failures: [],
    output: '',
  };
  const events = run({
    files: [`${options.root}/${file}`],
    cwd: options.root,
    signal: AbortSignal.timeout(timeoutMs),
    env: testEnvironment(process.env),
  });
  let isEmpty = false;
  for await (const event of events) {
    if (event.type === 'test:stdout' || event.type === 'test:stderr') {
      result.output += event.data.message;
    } else if (event.type === 'test:pass') {
      // A file without a test is reported as one test that has the file's name.
      if (event.data.name === event.data.file) isEmpty = true;
    } else if (event.type === 'test:fail') {
      const { name, details } = event.data;
      const { failureType, cause } = details.error as Error & { failureType?: string };
      if (failureType === 'subtestsFailed') continue;
      const error =
        failureType === 'testAborted'
          ? `not done after ${timeoutMs / 1000} s: a test waits, or something is still open`
          : inspect(cause ?? details.error, { depth: 4 });
      result.failures.push({ title: name, error });
    } else if (event.type === 'test:summary' && event.data.file === undefined) {
      const { counts } = event.data;
      result.passed = counts.passed;
      result.failed = counts.tests - counts.passed - counts.skipped - counts.todo;
      result.skipped = counts.skipped + counts.todo;
    }
  }
  if (isEmpty) {
    result.passed = 0;
    result.failed = 1;
    result.failures.push({ title: file, error: 'holds no test' });
  }
  result.ms = performance.now() - startedAt;
  return result;
}

/** Tests reach neither the person's gateway nor a model that costs money. */
function testEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(env).filter(
      ([name]) => !/^TRUNKLINE_|_API_KEY$|^(OPENAI|ANTHROPIC)_/.test(name),
    ),
  );
}

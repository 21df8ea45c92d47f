/** A program of the campaign as a process of its own: told from outside, ended by its pid, gone with its parent. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export interface ChildProgram<Ready> {
  pid: number;
  /** resolves once its code is loaded, for programs that then wait for `begin` */
  loaded: Promise<void>;
  begin(): void;
  /** where it is; rejects with its log when it ends before it says so */
  ready: Promise<Ready>;
  /** Ends it with this signal, SIGKILL by default, and resolves with its exit code when it is gone. */
  end(signal?: NodeJS.Signals): Promise<number | null>;
}

const LOADED = 'loaded';
/** Lines of a log beyond this are not kept. */
const MAX_LOG_CHARACTERS = 20_000;

/** Starts `test/chaos/<program>.ts`. */
export function startChildProgram<Ready>(
  program: string,
  { args, compileCache }: { args: Record<string, string>; compileCache: string },
): ChildProgram<Ready> {
  const flags = Object.entries(args).flatMap(([name, value]) => [`--${name}`, value]);
  const child = spawn(process.execPath, [join(import.meta.dirname, `${program}.ts`), ...flags], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: compileCache },
  });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log = (log + text).slice(-MAX_LOG_CHARACTERS);
  });
  // A process that was killed with bytes under way breaks the pipe; that is no news.
  child.stdin.on('error', () => {});
  const exited = once(child, 'close').then(() => child.exitCode);
  const [loaded, told] = [Promise.withResolvers<void>(), Promise.withResolvers<Ready>()];
  createInterface(child.stdout).on('line', (line) => {
    if (line === LOADED) loaded.resolve();
    else told.resolve(JSON.parse(line) as Ready);
  });
  void exited.then(() => {
    const end = `${program} ended before it was ready (${child.exitCode ?? child.signalCode})`;
    for (const { reject } of [loaded, told]) reject(new Error(`${end}: ${log}`));
  });
  for (const promise of [loaded.promise, told.promise]) promise.catch(() => {});
  return {
    pid: child.pid ?? 0,
    loaded: loaded.promise,
    begin: () => void child.stdin.write('begin\n'),
    ready: told.promise,
    end: (signal = 'SIGKILL') => {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      return exited;
    },
  };
}

/** For the program itself: ends it when its parent is gone, however that ended. */
export function dieWithParent(): void {
  // The parent holds the other end of this pipe; the kernel closes it.
  process.stdin.on('end', () => process.kill(process.pid, 'SIGKILL')).resume();
  if ('unref' in process.stdin) process.stdin.unref();
}

/** For the program itself: says that all code is loaded, and resolves when the work shall begin. */
export async function waitForBegin(): Promise<void> {
  const begun = once(process.stdin, 'data');
  process.stdout.write(`${LOADED}\n`);
  // Nothing else holds the process meanwhile.
  const waiting = setInterval(() => {}, 60_000);
  await begun;
  clearInterval(waiting);
}

/** For the program itself: tells the parent where it is. */
export function tellReady(ready: object): void {
  process.stdout.write(`${JSON.stringify(ready)}\n`);
}

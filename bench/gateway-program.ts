/** The program as it is installed: `bin/trunkline.js gateway` on `dist/`, in a process of its own. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { connectGateway, type GatewayClient } from '../src/client/gateway-client.ts';

export interface GatewayProgram {
  pid: number;
  /** ms from the start of the process to its ready line */
  readyMs: number;
  connect(): Promise<GatewayClient>;
  stop(): Promise<void>;
}

const ROOT = join(import.meta.dirname, '..');
const LAUNCHER = join(ROOT, 'bin/trunkline.js');
const READY_LIMIT_MS = 20_000;

/** Builds `dist/` when the source has changed since. */
export function ensureBuilt(): void {
  const build = spawnSync(process.execPath, [join(ROOT, 'scripts/build.js'), '--if-possible'], {
    stdio: 'inherit',
  });
  if (build.status !== 0) throw new Error('bench: dist/ could not be built; run npm run build');
}

/** Starts a gateway on a free loopback port and resolves at its ready line. */
export async function startProgram(stateDir: string): Promise<GatewayProgram> {
  return startProcess([LAUNCHER, 'gateway', '--port', '0', '--state-dir', stateDir, '--json'], {
    token: () => readFileSync(join(stateDir, 'gateway.token'), 'utf8').trim(),
  });
}

/** Starts a program that prints one JSON line with its `url` once it answers. */
export async function startProcess(
  args: readonly string[],
  { token }: { token: () => string },
): Promise<GatewayProgram> {
  const before = performance.now();
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], TRUNKLINE_LOG_LEVEL: 'warn' },
  });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
  const exited = once(child, 'exit');
  const end = (): void => void child.kill('SIGKILL');
  // a bench that gives up in the middle leaves nothing behind
  process.once('exit', end);
  void exited.then(() => process.off('exit', end));
  const watchdog = setTimeout(end, READY_LIMIT_MS);
  const line = await Promise.race([
    once(createInterface(child.stdout), 'line').then(([text]) => String(text)),
    exited.then((): never => {
      throw new Error(`bench: the gateway ended before it was ready: ${log}`);
    }),
  ]);
  const readyMs = performance.now() - before;
  clearTimeout(watchdog);
  const { url } = JSON.parse(line) as { url: string };
  return {
    pid: child.pid ?? 0,
    readyMs,
    connect: () => connectGateway({ url, token: token(), clientName: 'bench' }),
    stop: async () => {
      child.kill('SIGTERM');
      await exited;
    },
  };
}

/** Returns the resident set of a process, in millions of bytes. */
export function residentMb(pid: number): number {
  return (residentKb(pid) * 1024) / 1e6;
}

function residentKb(pid: number): number {
  if (process.platform !== 'linux')
    return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' }));
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]);
}

/** Real gateway processes on state directories of their own, and the means to kill them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface GatewayAddress {
  url: string;
  port: number;
  token: string;
}

export interface GatewayProcess {
  pid: number;
  /** resolves when it answers; rejects with its log when it ends first */
  ready: Promise<GatewayAddress>;
  /** resolves when it has ended, whoever ended it; rejects with its log when it lives too long */
  exited: Promise<Exit>;
  /** Ends it with SIGKILL, resolves when it is gone. */
  kill(): Promise<Exit>;
  /** Asks it to stop with SIGTERM, resolves when it is gone. */
  terminate(): Promise<Exit>;
}

export interface GatewayProcessOptions {
  stateDir: string;
  port?: number;
  /** `unit:before|after:n` */
  crash?: string;
  /** `call of the file system:before|after:n` of what is done to attachments */
  fileCrash?: string;
  /** unit whose first try is refused */
  fail?: string;
  /** address of a Postgres database; absent = SQLite in the state directory */
  database?: string;
  /** address of a test chat */
  chat?: string;
  /** default: a minute */
  longestLifeMs?: number;
}

/** A process that is not gone by then is killed, and the test fails. */
const LONGEST_LIFE_MS = 60_000;
const PROGRAM = join(import.meta.dirname, 'crash-gateway.ts');
/** compiled code of earlier processes of this test file: a start costs a third less */
const compileCache = mkdtempSync(join(tmpdir(), 'crash-cache-'));
process.once('exit', () => rmSync(compileCache, { recursive: true, force: true }));

/** Starts a gateway that ends with the test at the latest. */
export function startGatewayProcess(
  t: TestContext,
  options: GatewayProcessOptions,
): GatewayProcess {
  const { crash, fail } = options;
  const args = ['--state-dir', options.stateDir, '--port', String(options.port ?? 0)];
  if (crash !== undefined) args.push('--crash', crash);
  if (options.fileCrash !== undefined) args.push('--file-crash', options.fileCrash);
  if (fail !== undefined) args.push('--fail', fail);
  if (options.database !== undefined) args.push('--database', options.database);
  if (options.chat !== undefined) args.push('--chat', options.chat);
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: compileCache },
  });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
  const end = (signal: NodeJS.Signals): void => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
  };
  let isTooOld = false;
  const watchdog = setTimeout(() => {
    isTooOld = true;
    end('SIGKILL');
  }, options.longestLifeMs ?? LONGEST_LIFE_MS);
  const exited = once(child, 'close').then((): Exit => {
    clearTimeout(watchdog);
    if (isTooOld) throw new Error(`the gateway process was not gone in time; its log: ${log}`);
    return { code: child.exitCode, signal: child.signalCode };
  });
  exited.catch(() => {});
  const ready = Promise.race([
    once(createInterface(child.stdout), 'line').then(
      ([line]) => JSON.parse(String(line)) as GatewayAddress,
    ),
    exited.then(({ code, signal }): never => {
      throw new Error(`the gateway process ended before it was ready (${code ?? signal}): ${log}`);
    }),
  ]);
  ready.catch(() => {});
  const endWith = (signal: NodeJS.Signals) => (): Promise<Exit> => {
    end(signal);
    return exited;
  };
  const kill = endWith('SIGKILL');
  t.after(() => kill().catch(() => {}));
  return { pid: child.pid ?? 0, ready, exited, kill, terminate: endWith('SIGTERM') };
}

/** Makes a state directory that goes with the test: with this configuration, or as a copy of another. */
export function makeStateDir(
  t: Pick<TestContext, 'after'>,
  content: { config: Record<string, unknown> } | { copyOf: string },
): string {
  const stateDir = mkdtempSync(join(tmpdir(), 'crash-'));
  t.after(() => rmSync(stateDir, { recursive: true, force: true, maxRetries: 3 }));
  if ('copyOf' in content) cpSync(content.copyOf, stateDir, { recursive: true });
  else writeFileSync(join(stateDir, 'trunkline.json'), JSON.stringify(content.config));
  return stateDir;
}

/** Agents main and scout that may reach each other. */
export const CRASH_CONFIG = {
  agents: { list: [{ id: 'main', default: true }, { id: 'scout' }] },
  tools: {
    allow: ['*', 'sessions_wait'],
    sessions: { visibility: 'all' },
    agentToAgent: { enabled: true },
  },
  // each message has a turn of its own, unless a test asks for another mode
  messages: { queue: { mode: 'followup', debounceMs: 0, cap: 500 } },
};

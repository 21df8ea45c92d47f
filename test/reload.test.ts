/** Loading the configuration anew: a running gateway, its sockets and its runs go on. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { connectGateway } from '../src/client/gateway-client.ts';
import type { Logger } from '../src/util/logger.ts';
import { deviceConnect, makeDevice, openDevice } from './helpers/test-device.ts';
import { call, startWorld } from './helpers/test-world.ts';
import type { TestWorld } from './helpers/test-world.ts';

type Json = Record<string, unknown>;
type Report = { applied: string[]; needsRestart: string[]; unchanged: string[] };

const fileOf = (world: TestWorld) => join(world.gateway.stateDir, 'trunkline.json');
const configOf = (world: TestWorld) => JSON.parse(readFileSync(fileOf(world), 'utf8')) as Json;
/** Writes the configuration with other sections. */
function rewrite(world: TestWorld, sections: Json): void {
  writeFileSync(fileOf(world), JSON.stringify({ ...configOf(world), ...sections }));
}
const reload = (world: TestWorld) => world.client.request<Report>('config.reload');
const agentsOf = async (world: TestWorld) =>
  (await world.client.request<{ agents: { id: string }[] }>('agents.list')).agents.map(
    ({ id }) => id,
  );
/** Keeps what was logged, and resolves at the next line with this text. */
function listenTo(lines: string[]): { logger: Logger; logged(text: string): Promise<void> } {
  const waiting = new Set<() => void>();
  const add = (fields: object, message?: string) => {
    lines.push(`${message ?? ''} ${JSON.stringify(fields)}`);
    for (const look of waiting) look();
  };
  const logged = (text: string) =>
    new Promise<void>((resolve) => {
      const look = () => {
        if (lines.some((line) => line.includes(text))) resolve();
      };
      waiting.add(look);
      look();
    });
  return { logger: { debug() {}, info: add, warn: add, error: add }, logged };
}

test('[CR1] what can be is applied at once, what needs a restart is named and kept, and the sockets stay', async (t) => {
  const world = await startWorld(t);
  assert.deepEqual(await agentsOf(world), ['a', 'b', 'c']);
  const nothing = await reload(world);
  assert.deepEqual([nothing.applied, nothing.needsRestart], [[], []]);
  assert.ok(nothing.unchanged.includes('agents') && nothing.unchanged.includes('gateway'));
  rewrite(world, {
    agents: { list: [{ id: 'a', default: true }, { id: 'fresh' }] },
    tools: { sessions: { visibility: 'self' } },
    gateway: { bind: '127.0.0.2', tools: { allow: ['sessions_send'] } },
  });
  const report = await reload(world);
  assert.deepEqual(report.applied, [
    'tools.sessions.visibility',
    'tools.agentToAgent.enabled',
    'agents.list',
    'gateway.tools.allow',
  ]);
  assert.deepEqual(report.needsRestart, ['gateway.bind']);
  assert.ok(!report.unchanged.includes('agents') && report.unchanged.includes('session'));
  assert.deepEqual(await agentsOf(world), ['a', 'fresh']);
  const list = await world.tool('sessions_list', {}, 'main');
  assert.deepEqual(list['visibility'], { mode: 'self', restricted: true });
  const sent = await fetch(`${world.gateway.url}/tools/invoke`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${world.gateway.token}` },
    body: JSON.stringify({ tool: 'sessions_send', args: { sessionKey: 'main', message: 'x' } }),
  });
  assert.equal(sent.status, 200);
  // kept, so it is still said
  assert.deepEqual((await reload(world)).needsRestart, ['gateway.bind']);
  const { outcome } = await world.say('agent:fresh:main', 'SAY: here');
  assert.equal(outcome, 'ok');
});

test('[CR2] with a fault anywhere nothing is applied; it is named, logged, and holds no secret', async (t) => {
  const lines: string[] = [];
  const { logger } = listenTo(lines);
  const world = await startWorld(t, { logger });
  const good = readFileSync(fileOf(world), 'utf8');
  const before = await agentsOf(world);
  const bad: [string, RegExp][] = [
    ['{ not json', /not valid JSON5/],
    ['[]', /must be an object/],
    [
      '{agents: {list: [{id: "other"}]}, gateway: {auth: {token: "hunter2", mode: "trusted-proxy"}}}',
      /gateway\.auth\.mode: "trusted-proxy" is not supported yet/,
    ],
    [
      '{agents: {list: [{id: "other"}]}, gateway: {auth: {token: "hunter2"}, prot: 1}}',
      /gateway\.prot/,
    ],
    ['{gateway: {auth: {mode: "password"}}}', /gateway\.auth\.password: is missing/],
    ['{gateway: {bind: "0.0.0.0", auth: {mode: "none"}}}', /gateway\.bind: reaches beyond/],
    ['{gateway: {auth: {token: "${NOT_SET_HERE}"}}}', /NOT_SET_HERE is not set/],
  ];
  for (const [text, says] of bad) {
    writeFileSync(fileOf(world), text);
    await assert.rejects(reload(world), (error: Error) => {
      assert.match(error.message, says, text);
      assert.doesNotMatch(error.message, /hunter2/);
      return true;
    });
    assert.deepEqual(await agentsOf(world), before, text);
  }
  assert.doesNotMatch(lines.join('\n'), /hunter2/);
  assert.equal(lines.filter((line) => /was not reloaded/.test(line)).length, bad.length);
  writeFileSync(fileOf(world), good);
  assert.deepEqual((await reload(world)).applied, []);
});

test('[CR1, CR2] a changed file is taken over by itself, a bad one is logged', async (t) => {
  const lines: string[] = [];
  const { logger, logged } = listenTo(lines);
  const world = await startWorld(t, { logger, watchIntervalMs: 10 });
  // a write before the first look is the state that the watch begins with, so it is written again
  const keepWriting = (list: Json[]) => {
    let n = 0;
    const write = () => rewrite(world, { agents: { list }, [`note-${n++}`]: 1 });
    write();
    const timer = setInterval(write, 50);
    return () => clearInterval(timer);
  };
  const stop = keepWriting([{ id: 'a', default: true }, { id: 'watched' }]);
  await logged('"applied":["agents.list"]');
  stop();
  assert.deepEqual(await agentsOf(world), ['a', 'watched']);
  const stopBad = keepWriting([{ id: 'no agent id' }]);
  await logged('was not reloaded and stays as it was');
  stopBad();
  assert.deepEqual(await agentsOf(world), ['a', 'watched']);
});

test('[CR3] a changed token closes the sockets of the old one, and only those', async (t) => {
  const world = await startWorld(t);
  const { url, token } = world.gateway;
  const device = makeDevice();
  const open = (auth: Json) =>
    openDevice(url, (challenge) => deviceConnect(device, challenge, { auth }));
  const bySecret = await open({ token });
  const { deviceToken } = bySecret.auth;
  const byToken = await open({ deviceToken });
  writeFileSync(join(world.gateway.stateDir, 'gateway.token'), 'another-token\n');
  // the one that asks is still answered
  const report = await reload(world);
  assert.deepEqual(report.applied, ['gateway.auth.token']);
  const closed = { code: 1008, reason: 'AUTH_CREDENTIAL_ROTATED' };
  assert.deepEqual(await bySecret.closed, closed);
  assert.deepEqual(await world.client.closed, closed);
  assert.ok((await byToken.request('health')).ok);
  await assert.rejects(connectGateway({ url, token }), { code: 'unauthorized' });
  const invoke = (secret: string | undefined) =>
    fetch(`${url}/tools/invoke`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${secret}` },
      body: '{"tool":"sessions_list"}',
    });
  assert.deepEqual(
    [(await invoke(token)).status, (await invoke('another-token')).status],
    [401, 200],
  );
  const next = await connectGateway({ url, token: 'another-token' });
  assert.ok((await open({ deviceToken })).answer.ok);
  // the same secret again closes nothing
  await next.request('config.reload');
  assert.ok(next.isOpen);
  rewrite(world, { gateway: { auth: { mode: 'password', password: 'open sesame' } } });
  await world.gateway.reload();
  assert.deepEqual(await next.closed, closed);
  await (await connectGateway({ url, password: 'open sesame' })).close();
});

test('[CR4] a turn that runs keeps what it started with, the next one has the new settings', async (t) => {
  const world = await startWorld(t, { config: { agents: { defaults: { model: 'fake/fake-1' } } } });
  const held = world.model.hold('agents_list {}');
  const running = world.say('main', `${call('agents_list', {})}\nSAY: done`);
  await held.arrived();
  const { agents } = configOf(world) as { agents: Json };
  rewrite(world, { agents: { ...agents, defaults: { model: 'fake/fake-2', timeoutSeconds: 1 } } });
  const { applied } = await reload(world);
  assert.deepEqual(applied, ['agents.defaults.model', 'agents.defaults.timeoutSeconds']);
  held.release();
  assert.equal((await running)['outcome'], 'ok');
  const models = () => world.model.requests.map(({ body }) => body['model']);
  assert.deepEqual(new Set(models()), new Set(['fake-1']));
  await world.say('main', 'SAY: again');
  assert.equal(models().at(-1), 'fake-2');
});

test('[CR3, BR-086] after a reload and a rotation the calls of agents need no credential of the gateway', async (t) => {
  const world = await startWorld(t);
  writeFileSync(join(world.gateway.stateDir, 'gateway.token'), 'another-token\n');
  await world.gateway.reload();
  await world.client.closed;
  const { url } = world.gateway;
  const client = await connectGateway({ url, token: 'another-token' });
  t.after(() => client.close());
  const script = [
    call('sessions_send', { sessionKey: 'agent:b:main', message: 'SAY: from b' }),
    call('sessions_spawn', { task: 'SAY: from the child' }),
    'SAY: done',
  ].join('\n');
  const sent = await client.request('chat.send', {
    sessionKey: 'main',
    message: script,
    idempotencyKey: 'k',
  });
  const run = await client.request('agent.wait', { runId: sent['runId'], timeoutMs: 30_000 });
  assert.equal(run['outcome'], 'ok');
  await world.quiet();
  const page = await client.request<{ messages: Json[]; pending: Json[] }>('chat.history', {
    sessionKey: 'main',
  });
  const told = JSON.stringify([page.messages, page.pending]);
  assert.match(told, /from b/);
  assert.match(told, /from the child/);
  assert.doesNotMatch(told, /unauthorized|PAIRING|another-token/i);
});

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { runCli } from '../../test/helpers/captured-io.ts';
import { deviceConnect, makeDevice, openDevice } from '../../test/helpers/test-device.ts';
import { startGateway } from '../app/start-gateway.ts';
import type { RunningGateway } from '../app/start-gateway.ts';
import { silentLogger } from '../util/logger.ts';

const stateDir = mkdtempSync(join(tmpdir(), 'trunkline-cli-'));
const env = { TRUNKLINE_STATE_DIR: stateDir };
const cli = (...argv: string[]) => runCli(argv, env);
let gateway: RunningGateway;

before(async () => {
  gateway = await startGateway({
    stateDir,
    port: 0,
    env: {},
    logger: silentLogger,
    // the tests write the file themselves and say when it is read
    watchIntervalMs: 3_600_000,
  });
});
after(async () => {
  await gateway.stop();
  rmSync(stateDir, { recursive: true, force: true });
});

test('agent prints the answer, and a failed run is exit code 1', async () => {
  assert.deepEqual(await cli('agent', '--message', 'SAY: hello'), {
    exitCode: 0,
    out: 'hello',
    notes: '',
  });
  const failed = await cli('agent', '--agent', 'main', '--message', 'FAIL: no luck');
  assert.equal(failed.exitCode, 1);
  assert.match(failed.notes, /ended with error: .*no luck/);
  const json = await cli('agent', '--message', 'SAY: hello', '--json');
  assert.equal(JSON.parse(json.out).result.payloads[0].text, 'hello');
  const accepted = await cli('agent', '--message', 'SAY: later', '--no-wait');
  assert.match(accepted.out, /^accepted: \S+$/);
});

test('the same idempotency key runs once', async () => {
  const argv = ['agent', '--message', 'SAY: once', '--idempotency-key', 'k1', '--json'];
  const [first, second] = [await cli(...argv), await cli(...argv)];
  assert.equal(JSON.parse(first.out).runId, JSON.parse(second.out).runId);
});

test('sessions list shows aligned rows to the operator and the tool answer with --as', async () => {
  await cli('agent', '--message', 'SAY: hello');
  const list = await cli('sessions', 'list');
  const [titles, row] = list.out.split('\n');
  assert.match(titles ?? '', /^KEY +KIND +CHANNEL +STATE/);
  assert.match(row ?? '', /^agent:main:main +main +unknown +idle/);
  const asMain = await cli('sessions', 'list', '--as', 'main', '--json');
  const page = JSON.parse(asMain.out);
  assert.equal(page.sessions[0].key, 'main');
  assert.equal(page.visibility.mode, 'tree');
});

test('sessions history prints who said what, and control characters stay visible', async () => {
  await cli('agent', '--message', 'SAY: \u001b[2Jgone');
  const history = await cli('sessions', 'history', 'main', '--limit', '1');
  assert.match(history.out, /assistant\n {2}\\u001b\[2Jgone$/);
  const unknown = await cli('sessions', 'history', 'agent:main:nobody');
  assert.equal(unknown.exitCode, 1);
});

test('sessions send waits, gives up waiting with exit code 3, and reports a refusal', async () => {
  const sent = await cli('sessions', 'send', 'main', 'SAY: back', '--json');
  assert.equal(sent.exitCode, 0);
  assert.equal(JSON.parse(sent.out).reply, 'back');
  const late = await cli('sessions', 'send', 'main', 'SLEEP: 1000\nSAY: x', '--timeout', '0.05');
  assert.equal(late.exitCode, 3);
  assert.match(late.notes, /no answer yet/);
  const accepted = await cli('sessions', 'send', 'main', 'SAY: x', '--timeout', '0');
  assert.match(accepted.out, /^accepted: /);
  const self = await cli('sessions', 'send', 'main', 'x', '--as', 'main');
  assert.equal(self.exitCode, 1);
  assert.match(self.notes, /^trunkline: error: /);
});

test('sessions spawn acts as main when no session is named', async () => {
  const spawned = await cli('sessions', 'spawn', 'SAY: done', '--label', 'kid', '--json');
  assert.equal(spawned.exitCode, 0);
  const { childSessionKey } = JSON.parse(spawned.out);
  const list = await cli('sessions', 'list', '--spawned-by', 'agent:main:main', '--json');
  assert.equal(JSON.parse(list.out).sessions[0].key, childSessionKey);
});

test('tool prints the JSON of the tool; a refusal is exit code 1, an unknown tool an error', async () => {
  const agents = await cli('tool', 'agents_list', '--as', 'main');
  assert.equal(agents.exitCode, 0);
  assert.equal(JSON.parse(agents.out).requester, 'main');
  const refused = await cli(
    'tool',
    'sessions_history',
    '{"sessionKey":"agent:x:main"}',
    '--as',
    'main',
  );
  assert.equal(refused.exitCode, 1);
  assert.equal(JSON.parse(refused.out).status, 'forbidden');
  const unknown = await cli('tool', 'sessions_lisst', '--as', 'main');
  assert.equal(unknown.exitCode, 1);
  assert.match(unknown.notes, /sessions_list/);
});

test('[PX1] policy explain prints the rule, what it says and the setting with its value', async () => {
  const refused = await cli(
    'policy',
    'explain',
    '--as',
    'main',
    '--verb',
    'send',
    '--to',
    'current',
  );
  assert.equal(refused.exitCode, 0);
  assert.match(
    refused.out,
    /^refused\nas +agent:main:main\ntool +sessions_send\nrule +self_send\nsays /,
  );
  assert.match(refused.out, /\nerror +cannot send to self/);
  const spawn = ['policy', 'explain', '--verb', 'spawn', '--args', '{"model":"nobody/nothing"}'];
  assert.match((await cli(...spawn)).out, /\nrule +model\n/);
  const closed = JSON.parse((await cli(...spawn, '--agent', 'x', '--json')).out);
  assert.deepEqual(closed.settings[0], {
    name: 'agents.list[].subagents.allowAgents',
    value: null,
  });
  const fine = await cli('policy', 'explain', '--verb', 'message', '--to', 'agent:main:new');
  assert.match(fine.out, /^allowed\nas +operator\nto +agent:main:new\nrule +operator\n/);
  const wrong = await cli('policy', 'explain', '--verb', 'eat');
  assert.equal(wrong.exitCode, 2);
  assert.match(wrong.notes, /Allowed choices are list, read/);
});

test('call prints the answer of a method; a wrong token and an unknown method are refused', async () => {
  const health = await cli('call', 'health');
  assert.equal(JSON.parse(health.out).ok, true);
  const unknown = await cli('call', 'sesions.list');
  assert.equal(unknown.exitCode, 1);
  assert.match(unknown.notes, /nearest: "sessions.list"/);
  const denied = await cli('call', 'health', '--token', 'wrong');
  assert.equal(denied.exitCode, 1);
  assert.match(denied.notes, /^trunkline: /);
});

test('[DV3, DV5] devices are listed, approved, rotated and revoked from the command line', async () => {
  const { url, token } = gateway;
  const device = makeDevice();
  const ask = () =>
    openDevice(
      url,
      (challenge) =>
        deviceConnect(device, challenge, { auth: { token }, scopes: ['operator.write'] }),
      { 'X-Forwarded-For': '203.0.113.9' },
    );
  assert.match((await cli('devices', 'list')).notes, /no devices/);
  await ask();
  const listed = await cli('devices', 'list');
  const requestId = /^(\S+) +console +\S+ +read write/m.exec(listed.out)?.[1] ?? '';
  assert.equal((await cli('devices', 'approve', 'nothing')).exitCode, 1);
  const approved = await cli('devices', 'approve', requestId, '--scope', 'operator.read');
  assert.equal(approved.out, `approved: console ${device.id} (operator.read)`);
  assert.deepEqual((await ask()).auth.scopes, ['operator.read']);
  const rotated = await cli('devices', 'rotate', device.id);
  assert.match(rotated.out, /^[\w-]{43}$/);
  assert.match((await cli('devices', 'revoke', device.id)).out, /^revoked: console /);
  const devices = JSON.parse((await cli('devices', 'list', '--json')).out).devices;
  assert.equal(devices[0].hasToken, false);
  await ask();
  const pending = JSON.parse((await cli('devices', 'list', '--json')).out).pending;
  assert.match((await cli('devices', 'reject', pending[0].requestId)).out, /^rejected: console /);
});

test('[CR1, CR2] config reload says what was applied, and what is wrong', async () => {
  const file = join(stateDir, 'trunkline.json');
  assert.match((await cli('config', 'reload')).notes, /nothing has changed/);
  writeFileSync(file, '{messages: {queue: {cap: 7}}, gateway: {bind: "127.0.0.2"}}');
  const report = await cli('config', 'reload');
  assert.equal(report.out, 'applied        messages.queue.cap\nneeds restart  gateway.bind');
  writeFileSync(file, '{messages: {queue: {cap: "many"}}}');
  const refused = await cli('config', 'reload');
  assert.deepEqual([refused.exitCode, refused.out], [1, '']);
  assert.match(refused.notes, /messages\.queue\.cap/);
  rmSync(file);
});

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import type { TestContext } from 'node:test';
import { GatewayError } from '../protocol/errors.ts';
import { findGateway } from './find-gateway.ts';
import { ensureGatewayToken } from './gateway-token.ts';
import { bindAddress, loadConfig } from './load-config.ts';
import { stateFiles } from './state-files.ts';

function makeState(t: TestContext, files: Record<string, unknown> = {}): string {
  const dir = mkdtempSync(join(tmpdir(), 'trunkline-config-'));
  t.after(() => rmSync(dir, { recursive: true }));
  for (const [name, content] of Object.entries(files)) {
    const text = typeof content === 'string' ? content : JSON.stringify(content);
    writeFileSync(join(dir, name), text);
  }
  return dir;
}

const isConfigError = (pattern: RegExp) => (error: unknown) => {
  assert.ok(error instanceof GatewayError);
  assert.equal(error.code, 'config');
  assert.match(error.message, pattern);
  return true;
};

test('places come from flags, then the environment, then the home directory', () => {
  const env = { TRUNKLINE_STATE_DIR: '/env/state', TRUNKLINE_CONFIG: '/env/config.json' };
  assert.equal(stateFiles({}, {}).stateDir, join(homedir(), '.trunkline'));
  assert.equal(stateFiles({}, { TRUNKLINE_STATE_DIR: '' }).stateDir, join(homedir(), '.trunkline'));
  assert.deepEqual(stateFiles({ stateDir: '/flag' }, {}), {
    stateDir: '/flag',
    configPath: '/flag/trunkline.json',
    isConfigNamed: false,
    tokenPath: '/flag/gateway.token',
    urlPath: '/flag/gateway.url',
  });
  assert.equal(stateFiles({}, env).stateDir, '/env/state');
  assert.equal(stateFiles({}, env).configPath, '/env/config.json');
  assert.equal(stateFiles({ configPath: '/flag.json' }, env).configPath, '/flag.json');
  assert.equal(stateFiles({ stateDir: '~/x' }, {}).stateDir, join(homedir(), 'x'));
});

test('without a file the defaults hold; a file that somebody named must be there', (t) => {
  const stateDir = makeState(t);
  const loaded = loadConfig({ stateDir, env: {} });
  assert.equal(loaded.isConfigFound, false);
  assert.equal(loaded.config.gateway.port, 18_789);
  assert.deepEqual(readdirSync(stateDir), []);
  const configPath = join(stateDir, 'none.json');
  assert.throws(
    () => loadConfig({ configPath, env: {} }),
    isConfigError(/none\.json cannot be read/),
  );
});

test('the port is the one of the flag, the environment, the file, else 18789', (t) => {
  const stateDir = makeState(t, { 'trunkline.json': '{gateway: {port: 3}}' });
  const portOf = (port: number | undefined, envPort?: string) =>
    loadConfig({ stateDir, port, env: { TRUNKLINE_GATEWAY_PORT: envPort } }).config.gateway.port;
  assert.equal(portOf(1, '2'), 1);
  assert.equal(portOf(undefined, '2'), 2);
  assert.equal(portOf(undefined), 3);
  assert.equal(portOf(0), 0);
  assert.throws(() => portOf(70_000), isConfigError(/--port: expected a whole number/));
  assert.throws(() => portOf(undefined, 'x'), isConfigError(/TRUNKLINE_GATEWAY_PORT: expected/));
});

test('gateway.bind is loopback or an IP address; what is not there yet is refused by name', (t) => {
  const stateDir = makeState(t);
  const bindOf = (bind: string) =>
    bindAddress(loadConfig({ stateDir, bind, env: {} }).config.gateway.bind);
  assert.equal(bindOf('loopback'), '127.0.0.1');
  assert.equal(bindOf('0.0.0.0'), '0.0.0.0');
  assert.equal(bindOf('::1'), '::1');
  assert.throws(() => bindOf('lan'), isConfigError(/--bind: "lan" is not supported yet/));
  assert.throws(() => bindOf('example.org'), isConfigError(/--bind: use "loopback" or an IP/));
});

test('[GW28] mode none beyond loopback, and mode password without one, are refused by name', (t) => {
  const start = (gateway: object, env: Record<string, string> = {}, bind?: string) =>
    loadConfig({ stateDir: makeState(t, { 'trunkline.json': { gateway } }), env, bind }).config;
  const none = { auth: { mode: 'none' } };
  assert.equal(start(none).gateway.auth.mode, 'none');
  assert.equal(start({ ...none, bind: '127.0.0.2' }).gateway.bind, '127.0.0.2');
  for (const bind of ['0.0.0.0', '::', '192.168.1.2']) {
    assert.throws(() => start({ ...none, bind }), isConfigError(/gateway\.bind: reaches beyond/));
    assert.throws(() => start(none, {}, bind), isConfigError(/gateway\.bind: reaches beyond/));
    assert.equal(start({ bind }).gateway.bind, bind);
  }
  const byPassword = { auth: { mode: 'password' } };
  assert.throws(() => start(byPassword), isConfigError(/gateway\.auth\.password: is missing/));
  const env = { TRUNKLINE_GATEWAY_PASSWORD: 'hunter5' };
  assert.equal(start(byPassword, env).gateway.auth.password, 'hunter5');
  const proxied = { auth: { mode: 'trusted-proxy' } };
  assert.throws(() => start(proxied), isConfigError(/"trusted-proxy" is not supported yet/));
});

test('every fault is reported at once, and no secret is in the text', (t) => {
  const stateDir = makeState(t, {
    'trunkline.json': {
      gateway: { auth: { token: 'hunter2', mode: 'trusted-proxy' }, prot: 1 },
      models: { providers: { p: { baseUrl: 'x', apiKey: '${GONE}' } } },
    },
  });
  const env = { TRUNKLINE_DATABASE_URL: 'mysql://u:hunter4@h/d' };
  const faults =
    /models\.providers\.p\.apiKey: environment variable GONE[^]*baseUrl[^]*auth\.mode[^]*gateway\.prot[^]*TRUNKLINE_DATABASE_URL: expected postgres:\/\//;
  assert.throws(
    () => loadConfig({ stateDir, env }),
    (error: unknown) => {
      assert.doesNotMatch(String(error), /hunter/);
      return isConfigError(faults)(error);
    },
  );
});

test('the environment names a Postgres database, and a way past a pooler', (t) => {
  const stateDir = makeState(t);
  const of = (url?: string, directUrl?: string) =>
    loadConfig({
      stateDir,
      env: { TRUNKLINE_DATABASE_URL: url, TRUNKLINE_DATABASE_DIRECT_URL: directUrl },
    }).database;
  const url = 'postgres://u:hunter2@pooler:6432/d';
  assert.equal(of(), undefined);
  assert.equal(of(''), undefined);
  assert.deepEqual(of(url), { url, directUrl: undefined });
  assert.deepEqual(of(url, 'postgresql://h/d'), { url, directUrl: 'postgresql://h/d' });
  assert.throws(() => of(undefined, url), isConfigError(/DIRECT_URL: set TRUNKLINE_DATABASE_URL/));
  for (const bad of ['h:5432/d', 'postgres://h', 'http://h/d', 'hunter2']) {
    assert.throws(() => of(bad), isConfigError(/TRUNKLINE_DATABASE_URL: expected postgres:/));
    assert.throws(() => of(url, bad), isConfigError(/DIRECT_URL: expected postgres:/));
    assert.throws(
      () => of(bad),
      (error: unknown) => !String(error).includes('hunter2'),
    );
  }
});

test('relative folders of agents start at the state directory', (t) => {
  const stateDir = makeState(t, {
    'trunkline.json': {
      agents: {
        defaults: { workspace: '~/ws' },
        list: [{ id: 'a', workspace: 'a' }],
        entries: { b: { workspace: '/b' }, c: {} },
      },
    },
  });
  const { agents } = loadConfig({ stateDir, env: {} }).config;
  assert.equal(agents.defaults.workspace, join(homedir(), 'ws'));
  assert.equal(agents.list[0]?.workspace, join(stateDir, 'a'));
  assert.equal(agents.entries['b']?.workspace, '/b');
  assert.equal(agents.entries['c']?.workspace, undefined);
});

test('the token is configured, from the environment, or made once for its owner only', (t) => {
  const stateDir = join(makeState(t), 'new');
  const loaded = loadConfig({ stateDir, env: {} });
  const made = ensureGatewayToken(loaded, { env: {} });
  assert.equal(made.source, 'made');
  assert.match(made.token, /^[0-9a-f]{64}$/);
  assert.equal(statSync(loaded.tokenPath).mode & 0o777, 0o600);
  assert.equal(statSync(stateDir).mode & 0o777, 0o700);
  assert.deepEqual(readdirSync(stateDir), ['gateway.token']);
  assert.deepEqual(ensureGatewayToken(loaded, { env: {} }), { token: made.token, source: 'file' });
  const env = { TRUNKLINE_GATEWAY_TOKEN: 'env' };
  assert.deepEqual(ensureGatewayToken(loaded, { env }), { token: 'env', source: 'environment' });
  const { config } = loaded;
  const gateway = { ...config.gateway, auth: { ...config.gateway.auth, token: 'own' } };
  const configured = { ...loaded, config: { ...config, gateway } };
  assert.deepEqual(ensureGatewayToken(configured, { env }), { token: 'own', source: 'config' });
});

test('an empty token file is an error, never an empty token', (t) => {
  const stateDir = makeState(t, { 'gateway.token': '\n' });
  const loaded = loadConfig({ stateDir, env: {} });
  assert.throws(
    () => ensureGatewayToken(loaded, { env: {} }),
    isConfigError(/is empty; delete it/),
  );
});

test('a client finds the gateway by flag, state directory, environment, running gateway, port', (t) => {
  const running = makeState(t, {
    'gateway.url': 'http://127.0.0.1:7001\n',
    'gateway.token': 'of-state\n',
  });
  const stopped = makeState(t, {
    'trunkline.json': '{gateway: {port: 7002, auth: {token: "own"}}}',
  });
  const usual = { TRUNKLINE_STATE_DIR: running };
  const elsewhere = { ...usual, TRUNKLINE_GATEWAY_URL: 'ws://127.0.0.1:7003/' };
  const find = (options: Parameters<typeof findGateway>[0]) => {
    const { url, token, source } = findGateway(options);
    return [url, token, source];
  };
  assert.deepEqual(find({ url: 'wss://h:1/x/', token: 't', env: usual }), [
    'https://h:1/x',
    't',
    'url',
  ]);
  assert.deepEqual(find({ stateDir: stopped, env: elsewhere }), [
    'http://127.0.0.1:7002',
    'own',
    'config',
  ]);
  assert.deepEqual(find({ env: elsewhere }), ['http://127.0.0.1:7003', 'of-state', 'environment']);
  assert.deepEqual(find({ env: usual }), ['http://127.0.0.1:7001', 'of-state', 'state']);
  const port = { TRUNKLINE_STATE_DIR: stopped, TRUNKLINE_GATEWAY_PORT: '7004' };
  assert.deepEqual(find({ env: port }), ['http://127.0.0.1:7004', 'own', 'config']);
  assert.deepEqual(find({ stateDir: makeState(t), env: {} }), [
    'http://127.0.0.1:18789',
    undefined,
    'config',
  ]);
});

test('another machine is never sent the token of this one', (t) => {
  const stateDir = makeState(t, { 'gateway.token': 'of-state' });
  const env = { TRUNKLINE_STATE_DIR: stateDir };
  assert.equal(findGateway({ url: 'http://other:1', env }).token, undefined);
  assert.equal(
    findGateway({ env: { ...env, TRUNKLINE_GATEWAY_URL: 'http://other:1' } }).token,
    undefined,
  );
  assert.equal(findGateway({ url: 'http://127.0.0.1.evil.example:1', env }).token, undefined);
  assert.equal(findGateway({ url: 'http://localhost:1', env }).token, 'of-state');
  const withToken = { ...env, TRUNKLINE_GATEWAY_TOKEN: 'env' };
  assert.equal(findGateway({ url: 'http://other:1', env: withToken }).token, 'env');
});

test('a fault elsewhere in the file does not keep a client from its gateway', (t) => {
  const stateDir = makeState(t, {
    'trunkline.json':
      '{gateway: {port: 7005}, session: 5, models: {providers: {p: {apiKey: "${GONE}"}}}}',
  });
  assert.equal(findGateway({ stateDir, env: {} }).url, 'http://127.0.0.1:7005');
});

test('an address that cannot be used is refused, credentials in it too', (t) => {
  const stateDir = makeState(t);
  const find = (url: string) => () => findGateway({ url, stateDir, env: {} });
  assert.throws(find('127.0.0.1:1'), isConfigError(/--url must be an address/));
  assert.throws(find('ftp://h'), isConfigError(/--url must be an address/));
  assert.throws(
    find('http://h/?token=hunter2'),
    isConfigError(/^--url must hold no credentials[^?]*$/),
  );
  assert.throws(find('http://u:p@h/'), isConfigError(/--url must hold no credentials/));
  mkdirSync(join(stateDir, 'x'));
  writeFileSync(join(stateDir, 'x', 'trunkline.json'), '{gateway: {port: 0}}');
  const free = () => findGateway({ stateDir: join(stateDir, 'x'), env: {} });
  assert.throws(free, isConfigError(/no gateway is running on this state/));
});

test('[CF5] a command that calls no model may load a file whose secrets are not set', (t) => {
  const providers = {
    p: { baseUrl: 'http://127.0.0.1:1/v1', apiKey: '${NOT_SET}', models: [{ id: 'm' }] },
  };
  const stateDir = makeState(t, { 'trunkline.json': { models: { providers } } });
  assert.throws(() => loadConfig({ stateDir, env: {} }), isConfigError(/NOT_SET is not set/));
  const loaded = loadConfig({ stateDir, env: {}, mayLackSecrets: true });
  assert.equal(loaded.config.models.providers['p']?.apiKey, '${NOT_SET}');
});

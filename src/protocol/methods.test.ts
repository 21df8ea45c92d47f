import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GatewayError } from './errors.ts';
import {
  LATER_METHODS,
  METHODS,
  METHOD_NAMES,
  parseConnectParams,
  parseMethodName,
  parseMethodParams,
} from './methods.ts';
import type { MethodName } from './methods.ts';

function refusalOf(act: () => unknown): GatewayError {
  try {
    act();
  } catch (error) {
    assert.ok(error instanceof GatewayError, String(error));
    return error;
  }
  return assert.fail('nothing was refused');
}

test('[GW8] the table of methods and scopes is the documented one', () => {
  const table = Object.fromEntries(METHOD_NAMES.map((name) => [name, METHODS[name].scope]));
  assert.deepEqual(table, {
    health: 'operator.read',
    status: 'operator.read',
    'sessions.list': 'operator.read',
    'sessions.search': 'operator.read',
    'sessions.create': 'operator.write',
    'sessions.patch': 'operator.admin',
    'sessions.reset': 'operator.admin',
    'sessions.delete': 'operator.admin',
    'sessions.windows': 'operator.read',
    'sessions.get': 'operator.read',
    'sessions.preview': 'operator.read',
    'sessions.resolve': 'operator.read',
    'sessions.send': 'operator.write',
    'sessions.abort': 'operator.write',
    'sessions.subscribe': 'operator.read',
    'sessions.unsubscribe': 'operator.read',
    'sessions.messages.subscribe': 'operator.read',
    'sessions.messages.unsubscribe': 'operator.read',
    'chat.send': 'operator.write',
    'chat.history': 'operator.read',
    agent: 'operator.write',
    'agent.wait': 'operator.read',
    'runs.get': 'operator.read',
    'runs.list': 'operator.read',
    'runs.wait': 'operator.read',
    'runs.stop': 'operator.write',
    'exchanges.get': 'operator.read',
    'exchanges.list': 'operator.read',
    'policy.explain': 'operator.read',
    usage: 'operator.read',
    send: 'operator.write',
    'deliveries.list': 'operator.read',
    'deliveries.retry': 'operator.admin',
    'deliveries.drop': 'operator.admin',
    'audit.list': 'operator.admin',
    'chat.abort': 'operator.write',
    'chat.inject': 'operator.write',
    'models.list': 'operator.read',
    'system-presence': 'operator.read',
    'agents.list': 'operator.read',
    'tools.catalog': 'operator.read',
    'tools.invoke': 'operator.write',
    'calls.start': 'operator.write',
    'calls.get': 'operator.read',
    'calls.list': 'operator.read',
    'calls.cancel': 'operator.write',
    'device.pair.list': 'operator.pairing',
    'device.pair.approve': 'operator.pairing',
    'device.pair.reject': 'operator.pairing',
    'device.list': 'operator.pairing',
    'device.revoke': 'operator.pairing',
    'device.token.rotate': 'operator.pairing',
    'config.reload': 'operator.admin',
  });
});

test('[GW7] an unknown method is refused with the nearest known one', () => {
  const error = refusalOf(() => parseMethodName('session.list'));
  assert.equal(error.code, 'unknown_name');
  assert.match(error.message, /"session\.list".*nearest: "sessions\.list"/);
  assert.equal(refusalOf(() => parseMethodName('constructor')).code, 'unknown_name');
});

test('[GW7] every documented method without support is refused by name', () => {
  for (const method of [...LATER_METHODS, 'device.pair.remove', 'node.pending.pull']) {
    const error = refusalOf(() => parseMethodName(method));
    assert.equal(error.code, 'unsupported', method);
    assert.ok(error.message.includes(`${method} is not supported yet`));
  }
});

const key = { idempotencyKey: 'k' };
const refused: { method: MethodName; raw: Record<string, unknown>; says: RegExp; code?: string }[] =
  [
    {
      method: 'agent',
      raw: { mesage: 'hi', ...key },
      says: /unknown parameter "mesage".*nearest: "message"/,
    },
    { method: 'agent', raw: { message: 'hi' }, says: /agent needs idempotencyKey/ },
    {
      method: 'agent',
      raw: { message: 'hi', idempotencyKey: ' ' },
      says: /idempotencyKey: must not be blank/,
    },
    { method: 'agent', raw: { message: ' \n', ...key }, says: /message: must not be blank/ },
    {
      method: 'agent',
      raw: { message: 'm'.repeat(1_000_001), ...key },
      says: /message: must have at most 1000000 characters$/,
    },
    {
      method: 'agent',
      raw: { message: 'hi', label: 'x'.repeat(257), ...key },
      says: /label: must have at most 256 characters$/,
    },
    {
      method: 'agent',
      raw: { message: 'hi', extraSystemPrompt: 'x'.repeat(100_001), ...key },
      says: /extraSystemPrompt: must have at most 100000 characters$/,
    },
    {
      method: 'agent',
      raw: { message: 'hi', ['x'.repeat(3_000)]: 1, ...key },
      says: /unknown parameter "x{80}…", nearest/,
    },
    {
      method: 'agent',
      raw: { message: 'hi', thinking: 'huge', ...key },
      says: /thinking: .*minimal/,
    },
    {
      method: 'agent',
      raw: { message: 'hi', lane: 'x', ...key },
      says: /lane: not supported yet/,
      code: 'unsupported',
    },
    {
      method: 'agent',
      raw: { message: 'hi', inputProvenance: { kind: 'x' }, ...key },
      says: /set by the gateway alone/,
      code: 'unsupported',
    },
    { method: 'agent', raw: { message: 'hi', timeout: -1, ...key }, says: /timeout: / },
    { method: 'chat.send', raw: { message: 'hi', ...key }, says: /chat\.send needs sessionKey/ },
    {
      method: 'chat.send',
      raw: { sessionKey: 'main', message: 'hi' },
      says: /chat\.send needs idempotencyKey/,
    },
    {
      method: 'chat.send',
      raw: { sessionKey: 'main', message: 'hi', attachments: [{}], ...key },
      says: /attachments: not supported yet/,
      code: 'unsupported',
    },
    {
      method: 'sessions.patch',
      raw: { key: 'main', spawnedBy: 'x' },
      says: /written once/,
      code: 'unsupported',
    },
    {
      method: 'sessions.patch',
      raw: { key: 'main', sendPolicy: 'maybe' },
      says: /sendPolicy: .*allow.*deny/,
    },
    { method: 'sessions.list', raw: { limit: 0 }, says: /limit: / },
    { method: 'sessions.list', raw: { limit: 1.5 }, says: /limit: / },
    { method: 'sessions.list', raw: { kinds: ['mian'] }, says: /kinds\.0: .*main/ },
    { method: 'sessions.list', raw: { offset: 3 }, says: /use cursor/, code: 'unsupported' },
    { method: 'agent.wait', raw: { timeoutMs: 5 }, says: /agent\.wait needs runId/ },
    { method: 'agent.wait', raw: { runId: 'r', timeoutMs: '5' }, says: /timeoutMs: .*number/ },
    { method: 'agents.list', raw: { all: true }, says: /unknown parameter "all", it takes none/ },
    { method: 'tools.invoke', raw: { tool: 'x', args: [] }, says: /args: / },
    {
      method: 'tools.invoke',
      raw: { tool: 'x', dryRun: true },
      says: /dryRun: not supported yet/,
      code: 'unsupported',
    },
  ];
for (const { method, raw, says, code = 'invalid_request' } of refused)
  test(`[GW7] ${method} refuses ${JSON.stringify(raw)}`, () => {
    const error = refusalOf(() => parseMethodParams(method, raw));
    assert.equal(error.code, code);
    assert.match(error.message, says);
  });

test('[GW7] an empty list for a parameter of later is taken: it asks for nothing', () => {
  const raw = { sessionKey: 'main', message: 'hi', attachments: [], ...key };
  assert.deepEqual(parseMethodParams('chat.send', raw), {
    sessionKey: 'main',
    message: 'hi',
    ...key,
  });
});

test('defaults of the documents are filled in', () => {
  assert.equal(parseMethodParams('agent.wait', { runId: 'r' }).timeoutMs, 30_000);
  assert.equal(parseMethodParams('tools.invoke', { tool: 'sessions_list' }).sessionKey, 'main');
});

test('null clears a setting of a session', () => {
  const patch = { key: 'main', label: null, thinkingLevel: null, sendPolicy: null };
  assert.deepEqual(parseMethodParams('sessions.patch', patch), patch);
});

test('[GW7] the handshake refuses what is not supported yet by name', () => {
  const base = {
    minProtocol: 3,
    maxProtocol: 4,
    client: { id: 'a', version: '1', platform: 'p', mode: 'cli' },
  };
  for (const [extra, says] of [
    [{ role: 'node' }, /role "node" is not supported yet/],
    [{ device: { id: 'd' } }, /device\.publicKey: /],
    [{ auth: { deviceToken: 1 } }, /auth\.deviceToken: /],
    [{ permissions: { camera: true } }, /permissions: not supported yet/],
    [{ token: 'x' }, /unknown parameter "token"/],
    [{ client: { ...base.client, mode: 'robot' } }, /client\.mode: /],
  ] as const)
    assert.match(refusalOf(() => parseConnectParams({ ...base, ...extra })).message, says);
  assert.equal(parseConnectParams({ ...base, commands: [], permissions: {} }).client.id, 'a');
});

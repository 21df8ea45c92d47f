/** Does everything that a gateway can be asked for, with a credential in everything that is said. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { deviceConnect, makeDevice, openDevice } from '../helpers/test-device.ts';
import { CANARIES } from './canary-config.ts';
import { type CanaryWorld, filesBelow } from './canary-world.ts';
import {
  announce,
  askAsClient,
  askAsOther,
  CLIENT,
  exchange,
  failRun,
  fillSession,
  ONE,
  OTHER,
} from './sessions-at-work.ts';

type Json = Record<string, unknown>;

/** Returns the secrets that the gateway has made on the way. */
export async function openEveryDoor(world: CanaryWorld): Promise<Record<string, string>> {
  await world.ask('sessions.unsubscribe');
  await world.ask('sessions.subscribe');
  await fillSession(world);
  await world.ask('sessions.messages.subscribe', { key: ONE, afterSeq: 0 });
  const runId = await failRun(world);
  await askAsOther(world, runId);
  await askAsClient(world);
  await exchange(world);
  for (const mode of ['post', 'relay', 'template', 'silent']) await announce(world, mode);
  const device = await useDevices(world);
  await askAsOperator(world, runId);
  await knock(world);
  await runCommands(world);
  world.keep('request to the model', world.model.requests.map(({ raw }) => raw).join('\n'));
  world.keep('transcript file', filesBelow(join(world.stateDir, 'agents'), '.jsonl'));
  const code = await world.crash();
  if (code !== 1) throw new Error(`the gateway ended with ${code}`);
  await runAfterwards(world);
  return device;
}

async function useDevices({ url, keep, ask }: CanaryWorld): Promise<Record<string, string>> {
  const auth = { token: CANARIES.gatewayToken };
  const [own, stranger, unwanted] = [makeDevice(), makeDevice(), makeDevice()];
  const socket = await openDevice(url, (challenge) => deviceConnect(own, challenge, { auth }));
  keep('hello of a device', socket.answer);
  const from = { 'X-Forwarded-For': '203.0.113.9' };
  for (const device of [stranger, unwanted]) {
    const refused = await openDevice(
      url,
      (challenge) => deviceConnect(device, challenge, { auth }),
      from,
    );
    keep('socket refusal', refused.answer);
  }
  const { pending } = (await ask('device.pair.list')) as { pending: Json[] };
  const [first, second] = pending.map(({ requestId }) => requestId);
  await ask('device.pair.approve', { requestId: first });
  await ask('device.pair.reject', { requestId: second });
  await ask('device.list');
  const rotated = await ask('device.token.rotate', { deviceId: own.id });
  await ask('device.revoke', { deviceId: own.id });
  return {
    deviceToken: String(socket.auth.deviceToken),
    rotatedToken: String(rotated['deviceToken']),
  };
}

/** What is left of the methods. */
async function askAsOperator({ ask }: CanaryWorld, runId: string): Promise<void> {
  await ask('health', { probe: true });
  await ask('status');
  await ask('sessions.list', { messageLimit: 20 });
  await ask('sessions.search', { query: 'key' });
  await ask('sessions.search', { query: 'token' });
  await ask('chat.history', { sessionKey: ONE });
  await ask('sessions.get', { key: ONE });
  await ask('sessions.preview', { keys: [ONE, OTHER], limit: 50 });
  await ask('sessions.resolve', { key: ONE, spawnedBy: CANARIES.message }, 'socket refusal');
  await ask('sessions.resolve', { key: ONE });
  await ask('models.list');
  await ask('system-presence');
  await ask('sessions.windows', { key: ONE });
  await ask('sessions.patch', { key: ONE, displayName: 'one' });
  await ask('agents.list');
  await ask('runs.list');
  await ask('runs.get', { runId });
  await ask('runs.wait', { runIds: [runId], timeoutMs: 1 });
  await ask('runs.stop', { sessionKey: ONE });
  await ask('chat.abort', { sessionKey: ONE });
  await ask('sessions.abort', { key: ONE });
  const note = { sessionKey: 'agent:a:failing', message: `noted ${CANARIES.message}` };
  await ask('chat.inject', { ...note, label: CANARIES.message });
  const last = { message: `SAY: last ${CANARIES.message}`, idempotencyKey: randomUUID() };
  const { runId: sentRun } = await ask('sessions.send', { key: 'agent:a:failing', ...last });
  await ask('agent.wait', { runId: sentRun, timeoutMs: 60_000 });
  const { exchanges } = (await ask('exchanges.list', { sessionKey: ONE })) as { exchanges: Json[] };
  await ask('exchanges.get', { exchangeId: exchanges[0]?.['exchangeId'] });
  await ask('usage', { by: 'session' });
  const key = randomUUID();
  await ask('send', { to: ONE, message: `here is ${CANARIES.message}`, idempotencyKey: key });
  await ask('deliveries.list', { states: ['sent', 'suppressed'] });
  await ask('deliveries.retry', { deliveryId: CANARIES.message });
  await ask('deliveries.drop', { deliveryId: CANARIES.message });
  await ask('sessions.reset', { key: 'agent:a:failing' });
  await ask('sessions.delete', { key: 'agent:a:failing' });
  await ask('sessions.messages.unsubscribe', { key: ONE });
  await ask('policy.explain', { as: OTHER, verb: 'send', to: ONE });
  await ask('policy.explain', { as: OTHER, verb: 'send', to: CANARIES.message }, 'socket refusal');
  await ask('tools.catalog', { sessionKey: CLIENT });
  await deferCall(ask);
  await ask('audit.list');
  await ask(CANARIES.message, {}, 'socket refusal');
}

/** A call whose answer, with a credential of another session in it, is fetched later. */
async function deferCall(ask: CanaryWorld['ask']): Promise<void> {
  const args = { sessionKey: ONE, message: `SAY: it is ${CANARIES.message}` };
  const call = { tool: 'sessions_send', args, sessionKey: OTHER };
  const { call: made } = (await ask('calls.start', call)) as { call: Json };
  const { callId } = made;
  await ask('calls.get', { callId, sessionKey: OTHER, timeoutMs: 20_000 });
  await ask('calls.list', { sessionKey: OTHER });
  await ask('calls.cancel', { callId, sessionKey: OTHER });
}

/** Calls over HTTP, with and without the credential, well and badly. */
async function knock({ url, keep }: CanaryWorld): Promise<void> {
  const get = async (door: string, path: string, init: RequestInit = {}): Promise<void> => {
    const response = await fetch(`${url}${path}`, init);
    keep(door, [response.status, [...response.headers], await response.text()]);
  };
  await get('http health', '/healthz');
  await get('http health', '/readyz');
  await get('http refusal', `/?token=${encodeURIComponent(CANARIES.gatewayToken)}`);
  await get('http refusal', `/${CANARIES.message}`);
  await get('http refusal', '/tools/invoke', { method: 'POST', body: '{}' });
  const headers = { Authorization: `Bearer ${CANARIES.gatewayToken}` };
  const invoke = (door: string, body: object): Promise<void> =>
    get(door, '/tools/invoke', { method: 'POST', headers, body: JSON.stringify(body) });
  await invoke('http refusal', { tool: CANARIES.message });
  await invoke('http refusal', { tool: 'sessions_list', [CANARIES.message]: 1 });
  const args = { sessionKey: ONE, includeTools: true };
  await invoke('http tool', { tool: 'sessions_history', args, sessionKey: OTHER });
  const call = { name: 'sessions_history', arguments: args };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: call });
  const asOther = {
    ...headers,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'x-trunkline-session-key': OTHER,
  };
  const asked = { role: 'user', content: `SAY: you want ${CANARIES.message}` };
  const completion = JSON.stringify({ model: 'agent:a', messages: [asked] });
  const post = { method: 'POST', headers, body: completion };
  await get('http completions', '/v1/chat/completions', post);
  await get('http completions', '/v1/models', { headers });
  await get('http completions', '/v1/models/openclaw', { headers });
  await get('http mcp', '/mcp', { method: 'POST', headers: asOther, body });
  await get('http refusal', '/mcp', { method: 'POST', headers: asOther, body: '{' });
}

/** Each command that talks to a gateway, or can while one runs. */
async function runCommands({ run, stateDir }: CanaryWorld): Promise<void> {
  await run('agent', '--message', `SAY: ${CANARIES.message}`, '--session', ONE);
  await run('sessions', 'history', ONE);
  await run('runs', 'list');
  await run('exchanges', 'list', ONE);
  await run('usage');
  await run('deliveries', 'list');
  await run('audit');
  await run('tool', 'sessions_history', JSON.stringify({ sessionKey: ONE }), '--as', OTHER);
  await run('call', 'chat.history', JSON.stringify({ sessionKey: ONE }));
  await run('policy', 'explain', '--as', OTHER, '--verb', 'send', '--to', ONE);
  await run('devices', 'list');
  await run('config', 'check');
  await run('config', 'mcp');
  await run('backup', join(stateDir, 'copy.backup'));
}

async function runAfterwards({ run, keep, stateDir }: CanaryWorld): Promise<void> {
  await run('doctor');
  const copy = join(stateDir, 'copy.backup');
  keep('backup file', readFileSync(copy, 'latin1'));
  await run('restore', copy);
  await run('import', 'openclaw', join(stateDir, 'agents'));
  await run('tour', '--bad', CANARIES.message);
  await run('mcp', '--bad', CANARIES.message);
}

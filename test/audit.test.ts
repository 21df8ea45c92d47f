/** `audit.list` and `trunkline audit`: who changed what by hand. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectGateway } from '../src/client/gateway-client.ts';
import { runCli } from './helpers/captured-io.ts';
import { type ChatWorld, startChatWorld } from './helpers/chat-world.ts';
import { deviceConnect, makeDevice, openDevice } from './helpers/test-device.ts';

type Json = Record<string, unknown>;
interface Page {
  lines: Json[];
  hasMore: boolean;
  nextCursor?: string;
}
const A = 'agent:a:main';
const GROUP = 'agent:a:telegram:group:g1';

const list = (world: ChatWorld, query: Json = {}): Promise<Page> =>
  world.client.request('audit.list', query) as Promise<unknown> as Promise<Page>;
const actionsOf = ({ lines }: Page): unknown[] => lines.map(({ action }) => action);

/** Resets, retries, drops and deletes, in this order. */
async function changed(world: ChatWorld): Promise<void> {
  const { client, chat } = world;
  await world.say(GROUP, 'SAY: SECRET');
  await client.request('sessions.reset', { key: GROUP });
  chat.fail('SECRET one', 'refuse for good');
  await world.tell('plain', 'c1', 'SECRET one', { idempotencyKey: 'k1' });
  const { deliveries } = await client.request<{ deliveries: Json[] }>('deliveries.list', {});
  const [deliveryId] = deliveries.map((row) => String(row['deliveryId']));
  await client.request('deliveries.retry', { deliveryId });
  await world.quiet();
  await world.tell('plain', 'c1', 'SECRET two', { idempotencyKey: 'k2' });
  chat.fail('SECRET three', 'refuse for good');
  await world.tell('plain', 'c1', 'SECRET three', { idempotencyKey: 'k3' });
  const stuck = await client.request<{ deliveries: Json[] }>('deliveries.list', {});
  await client.request('deliveries.drop', { deliveryId: stuck.deliveries[0]?.['deliveryId'] });
  await client.request('sessions.delete', { key: GROUP, deleteTranscript: true });
  await world.quiet();
}

test('[AU1, AU2] an operator reads who reset, deleted, retried and dropped what, without content, page by page', async (t) => {
  const world = await startChatWorld(t);
  await changed(world);
  const all = ['sessions.delete', 'deliveries.drop', 'deliveries.retry', 'sessions.reset'];
  const page = await list(world);
  assert.deepEqual(actionsOf(page), all);
  assert.ok(!JSON.stringify(page).includes('SECRET'));
  const [deletion] = page.lines;
  const { at, id, ...told } = deletion ?? {};
  assert.deepEqual([typeof at, typeof id], ['number', 'string']);
  assert.deepEqual(told, {
    actor: 'operator',
    action: 'sessions.delete',
    subjectKind: 'session',
    subjectId: GROUP,
    sessionKey: GROUP,
    detail: { deleteTranscript: true, transcripts: 2 },
  });
  const walked: unknown[] = [];
  for (let cursor: Json = {}; ;) {
    const one = await list(world, { limit: 1, ...cursor });
    walked.push(...actionsOf(one));
    if (one.nextCursor === undefined) break;
    cursor = { cursor: one.nextCursor };
  }
  assert.deepEqual(walked, all);
});

test('[AU1] settings and stops are told by their names and numbers, and only what changed something', async (t) => {
  const world = await startChatWorld(t);
  const { client } = world;
  const patch = { key: GROUP, label: 'SECRET', sendPolicy: 'allow' };
  await world.say(GROUP, 'SAY: hello');
  await client.request('sessions.patch', patch);
  await client.request('sessions.patch', patch);
  await client.request('chat.abort', { sessionKey: GROUP });
  const told = async () => (await list(world)).lines.map(({ at: _at, id: _id, ...line }) => line);
  const line = { actor: 'operator', subjectKind: 'session', subjectId: GROUP, sessionKey: GROUP };
  const patched = { ...line, action: 'sessions.patch', detail: { settings: 'label sendPolicy' } };
  assert.deepEqual(await told(), [patched]);
  const send = (idempotencyKey: string) =>
    client.request<{ runId: string }>('chat.send', {
      sessionKey: GROUP,
      message: 'SLEEP: 60000',
      idempotencyKey,
    });
  const { runId } = await send('k1');
  await client.request('runs.stop', { runId });
  await client.request('agent.wait', { runId });
  await send('k2');
  await client.request('chat.abort', { sessionKey: GROUP });
  await world.quiet();
  const detail = { runs: 1, exchanges: 0 };
  assert.deepEqual(await told(), [
    { ...line, action: 'chat.abort', detail },
    { ...line, action: 'runs.stop', subjectKind: 'run', subjectId: runId, detail },
    patched,
  ]);
});

test('[AU2] filters combine, and what was done to a session is found after its purge', async (t) => {
  const world = await startChatWorld(t);
  await changed(world);
  await assert.rejects(world.history(GROUP), /not found/);
  assert.deepEqual(actionsOf(await list(world, { sessionKey: GROUP })), [
    'sessions.delete',
    'sessions.reset',
  ]);
  const reset = { sessionKey: GROUP, action: 'sessions.reset', actor: 'operator' };
  assert.deepEqual(actionsOf(await list(world, reset)), ['sessions.reset']);
  assert.deepEqual(actionsOf(await list(world, { ...reset, actor: 'a device' })), []);
  assert.deepEqual(actionsOf(await list(world, { action: 'deliveries.drop' })), [
    'deliveries.drop',
  ]);
  assert.equal((await list(world, { actor: 'operator' })).lines.length, 4);
  assert.deepEqual((await list(world, { sessionKey: A })).lines, []);
  await assert.rejects(list(world, { sessionKey: 'agent:a:none' }), { code: 'not_found' });
  const { nextCursor } = await world.client.request('sessions.list', { limit: 1 });
  await assert.rejects(list(world, { cursor: nextCursor }), /audit\.list: /);
  await assert.rejects(list(world, { actoin: 'x' }), /nearest: "action"/);
});

test('[AU2] trunkline audit shows a line each, and a credential without operator.admin is refused', async (t) => {
  const world = await startChatWorld(t);
  await changed(world);
  const { url, token, stateDir } = world.gateway;
  const cli = (...argv: string[]) => runCli(['audit', ...argv], { TRUNKLINE_STATE_DIR: stateDir });
  const shown = await cli('--session', GROUP);
  const [titles, first, ...rest] = shown.out.split('\n');
  assert.match(titles ?? '', /^WHEN +WHO +DID +TO +DETAIL$/);
  assert.match(
    first ?? '',
    /^20\S+Z +operator +sessions\.delete +session agent:a:telegram:group:g1 /,
  );
  assert.equal(rest.length, 1);
  assert.match((await cli('--limit', '1')).notes, /^more: --cursor /);
  assert.equal((await cli('--actor', 'nobody')).notes, 'nothing was changed by hand');
  assert.equal(JSON.parse((await cli('--json')).out).count, 4);
  const reader = await connectGateway({
    url,
    token,
    clientName: 'reader',
    scopes: ['operator.read', 'operator.write'],
  });
  t.after(() => reader.close());
  await assert.rejects(reader.request('audit.list', {}), /operator\.admin/);
});

test('[AU2] a device has one name in the log, whatever it changes', async (t) => {
  const world = await startChatWorld(t);
  const { url, token } = world.gateway;
  const [device, other] = [makeDevice(), makeDevice()];
  const scopes = ['operator.admin', 'operator.pairing'];
  const open = (which: typeof device) =>
    openDevice(url, (challenge) => deviceConnect(which, challenge, { auth: { token }, scopes }));
  const socket = await open(device);
  await open(other);
  await socket.request('sessions.reset', { key: A });
  await socket.request('device.revoke', { deviceId: other.id });
  assert.deepEqual(actionsOf(await list(world, { actor: device.id })), [
    'device.revoke',
    'sessions.reset',
  ]);
});

/** `sessions.reset`, `sessions.delete`, `sessions.windows`, and what is purged of what they leave. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { textOf } from '../src/protocol/message.ts';
import { transcriptPathOf } from '../src/service/sessions/session-row-view.ts';
import { runCli } from './helpers/captured-io.ts';
import { call, keysOf, startWorld, type TestWorld } from './helpers/test-world.ts';

type Json = Record<string, unknown>;
const A = 'agent:a:main';
const B = 'agent:b:main';
const GROUP = 'agent:a:telegram:group:g1';
const DAY = 86_400_000;
const inSession = (key: string): string => `Your session is ${key}.`;
const text = async (world: TestWorld, key: string): Promise<string[]> =>
  (await world.history(key)).map(textOf);
const reset = (world: TestWorld, key: string) =>
  world.client.request<{ sessionId: string; previousSessionId?: string; stopped: string[] }>(
    'sessions.reset',
    { key },
  );
const remove = (world: TestWorld, key: string, deleteTranscript?: boolean) =>
  world.client.request<{ key: string; deleted: boolean; archived: string[] }>('sessions.delete', {
    key,
    ...(deleteTranscript === undefined ? {} : { deleteTranscript }),
  });
const send = (world: TestWorld, sessionKey: string, message: string) =>
  world.client.request<{ runId: string }>('chat.send', {
    sessionKey,
    message,
    idempotencyKey: randomUUID(),
  });
const wait = (world: TestWorld, runId: string): Promise<Json> =>
  world.client.request('agent.wait', { runId, timeoutMs: 20_000 });
const sessionOf = (world: TestWorld, key: string) => world.store.read((tx) => tx.sessions.get(key));

test('[AR8, BR-012] a reset gives a key a new transcript; the old one is read by its sessionId', async (t) => {
  const world = await startWorld(t);
  await world.client.request('sessions.patch', { key: A, label: 'kept' });
  await world.say(A, 'SAY: bygone');
  const { sessionId, previousSessionId } = await reset(world, 'main');
  assert.notEqual(sessionId, previousSessionId);
  assert.deepEqual(await text(world, A), []);
  await world.say(A, 'SAY: new');
  assert.deepEqual(await text(world, A), ['SAY: new', 'new']);
  assert.deepEqual(await text(world, String(previousSessionId)), ['SAY: bygone', 'bygone']);
  const session = await sessionOf(world, A);
  assert.deepEqual([session?.label, session?.sessionId], ['kept', sessionId]);
  // the model is told nothing of before
  const context = world.model.requests.at(-1);
  assert.ok(!JSON.stringify(context).includes('bygone'));
  const sent = await world.tool(
    'sessions_send',
    { sessionKey: previousSessionId, message: 'x' },
    B,
  );
  assert.match(String(sent['error']), new RegExp(sessionId));
  const { windows } = await world.client.request<{ windows: Json[] }>('sessions.windows', {
    key: A,
  });
  assert.deepEqual(
    windows.map((window) => [window['sessionId'], window['isCurrent'], window['entries']]),
    [
      [sessionId, true, 2],
      [previousSessionId, false, 2],
    ],
  );
});

test('[AR8] sessions.windows pages through every transcript of a key', async (t) => {
  const world = await startWorld(t);
  const ids: string[] = [(await sessionOf(world, A))?.sessionId ?? ''];
  for (let count = 0; count < 5; count += 1) ids.unshift((await reset(world, A)).sessionId);
  const seen: unknown[] = [];
  let cursor: string | undefined;
  do {
    const page: { windows: Json[]; nextCursor?: string } = await world.client.request(
      'sessions.windows',
      { key: A, limit: 2, ...(cursor === undefined ? {} : { cursor }) },
    );
    seen.push(...page.windows.map(({ sessionId }) => sessionId));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  assert.deepEqual(new Set(seen), new Set(ids));
  assert.equal(seen.length, ids.length);
  await assert.rejects(
    world.client.request('sessions.windows', { key: A, cursor: 'x' }),
    /not a cursor/,
  );
});

test('[AR8] trunkline sessions windows goes on where its page ended', async (t) => {
  const world = await startWorld(t);
  const ids: string[] = [(await sessionOf(world, A))?.sessionId ?? ''];
  for (let count = 0; count < 2; count += 1) ids.unshift((await reset(world, A)).sessionId);
  const { url, token = '' } = world.gateway;
  const show = (...more: string[]) =>
    runCli(['sessions', 'windows', A, '--limit', '2', ...more, '--url', url, '--token', token]);
  const first = await show();
  const [, cursor = ''] = /^more: --cursor (\S+)$/.exec(first.notes) ?? [];
  const second = await show('--cursor', cursor);
  const shown = [first, second].flatMap(({ out }) => out.split('\n').slice(1));
  assert.deepEqual(new Set(shown.map((line) => line.split(' ')[0])), new Set(ids));
  assert.equal(second.notes, '');
});

test('[AR8] a main session without a row is made by its reset', async (t) => {
  const world = await startWorld(t);
  await world.store.write('forget', (tx) => tx.purge.session('agent:c:main'));
  const answer = await reset(world, 'agent:c:main');
  assert.equal(answer.previousSessionId, undefined);
  assert.equal((await sessionOf(world, 'agent:c:main'))?.sessionId, answer.sessionId);
  await assert.rejects(reset(world, 'agent:a:telegram:group:none'), /not found/);
});

test('[AR9] the run that a reset finds is stopped; messages that wait run in the new transcript', async (t) => {
  const world = await startWorld(t);
  const held = world.model.hold(inSession(A));
  const first = await send(world, A, 'SAY: never');
  await held.arrived();
  const agent = { sessionKey: A, message: 'SAY: after', idempotencyKey: randomUUID() };
  const waiting = world.client.runAgent(agent, {});
  const { runs } = await world.client.request<{ runs: Json[] }>('runs.list', { state: 'running' });
  assert.equal(runs.length, 1);
  await world.tool('sessions_send', { sessionKey: A, message: 'a note', mode: 'note' }, B);
  const { previousSessionId, stopped } = await reset(world, A);
  assert.deepEqual(stopped, [first.runId]);
  assert.equal((await wait(world, first.runId))['outcome'], 'aborted');
  held.release();
  assert.equal((await waiting).status, 'ok');
  await world.quiet();
  assert.deepEqual(await text(world, A), ['a note', 'SAY: after', 'after']);
  assert.equal((await text(world, String(previousSessionId)))[0], 'SAY: never');
  const session = await sessionOf(world, A);
  assert.equal(session?.abortedLastRun, false);
});

test('[AR9] a reset ends the exchanges of the session with the reason', async (t) => {
  const world = await startWorld(t, { talk: true });
  await world.say(B, 'SAY: here');
  const held = world.model.hold('Agent-to-agent reply step');
  const message = `${call('sessions_send', { sessionKey: B, message: 'SAY: pong' })}\nSAY: sent`;
  await world.say(A, message);
  await held.arrived();
  await reset(world, A);
  held.release();
  await world.quiet();
  const open = await world.store.read((tx) => tx.exchanges.openOf(A));
  assert.deepEqual(open, []);
  const { runs } = await world.client.request<{ runs: Json[] }>('runs.list', { sessionKey: B });
  const sent = runs.find(({ purpose }) => purpose === 'message' && runs.length > 1);
  const exchange = await world.store.read((tx) => tx.exchanges.get(String(sent?.['runId'])));
  assert.equal(exchange?.state, 'done');
  assert.equal(exchange.endReason, 'error');
});

test('[AR9] the other side of an exchange that a reset ends goes on, and nobody answers it', async (t) => {
  const world = await startWorld(t, { talk: true });
  const held = world.model.hold(inSession(B));
  const args = { sessionKey: B, message: 'SAY: pong', timeoutSeconds: 0 };
  await world.say(A, `${call('sessions_send', args)}\nSAY: sent`);
  await held.arrived();
  const [open] = await world.store.read((tx) => tx.exchanges.openOf(A));
  await reset(world, A);
  held.release();
  await world.quiet();
  const { exchangeId = '' } = open ?? {};
  const exchange = await world.store.read((tx) => tx.exchanges.get(exchangeId));
  assert.equal(exchange?.endDetail, `session ${A} was reset`);
  assert.equal((await world.store.read((tx) => tx.runs.get(exchangeId)))?.reply, 'pong');
  assert.deepEqual(await text(world, A), []);
});

test('[AR10, BR-055] a deleted session is gone from every tool; the operator reads it', async (t) => {
  const world = await startWorld(t);
  await world.client.request('sessions.patch', { key: A, label: 'main' });
  await world.say(GROUP, 'SAY: SECRET');
  const sessionId = (await sessionOf(world, GROUP))?.sessionId ?? '';
  const answer = await remove(world, GROUP);
  assert.deepEqual(answer, { ok: true, key: GROUP, deleted: true, archived: [sessionId] });
  for (const sessionKey of [GROUP, sessionId]) {
    for (const args of [{ sessionKey }, { sessionKey, message: 'x' }]) {
      const tool = 'message' in args ? 'sessions_send' : 'sessions_history';
      assert.match(String((await world.tool(tool, args, A))['error']), /not found/);
    }
    assert.deepEqual(await text(world, sessionKey), ['SAY: SECRET', 'SECRET']);
  }
  for (const args of [{}, { archived: true }, { messageLimit: 5 }, { search: 'telegram' }]) {
    const list = await world.tool('sessions_list', args, A);
    assert.ok(!JSON.stringify(list).includes(GROUP));
    assert.ok(!JSON.stringify(list).includes('SECRET'));
    const all = await world.client.request('sessions.list', args);
    assert.ok(!keysOf(all).includes(GROUP));
  }
  await assert.rejects(world.tool('sessions_list', {}, GROUP), /deleted/);
  const patch = { key: GROUP, label: 'x' };
  await assert.rejects(world.client.request('sessions.patch', patch), /deleted/);
  await assert.rejects(reset(world, GROUP), /deleted/);
  assert.equal((await remove(world, GROUP)).deleted, false);
  const lines = await world.store.read((tx) =>
    tx.audit.page({ of: { sessionKey: GROUP }, cursor: undefined, limit: 10 }),
  );
  assert.deepEqual(
    lines.map(({ actor, action }) => [actor, action]),
    [['operator', 'sessions.delete']],
  );
});

test('[AR10] a main session is not deleted', async (t) => {
  const world = await startWorld(t);
  for (const key of ['main', A, B]) await assert.rejects(remove(world, key), /main session/);
  await assert.rejects(remove(world, 'agent:a:telegram:group:none'), /not found/);
});

test('[AR10, BR-079] deleting stops the session and everything below it, and loses no note', async (t) => {
  const world = await startWorld(t);
  const held = world.model.hold('You are a sub-agent');
  const message = `${call('sessions_spawn', { task: 'SAY: never' })}\nSAY: spawned`;
  await world.say(GROUP, message);
  await held.arrived();
  const childKey = String((await world.toolAnswers(GROUP)).at(-1)?.['childSessionKey']);
  const busy = world.model.hold(inSession(GROUP));
  const active = await send(world, GROUP, 'SAY: never');
  await busy.arrived();
  const queued = await send(world, GROUP, 'SAY: never either');
  await world.tool('sessions_send', { sessionKey: GROUP, message: 'a note', mode: 'note' }, A);
  await remove(world, GROUP);
  held.release();
  busy.release();
  for (const { runId } of [active, queued]) {
    assert.equal((await wait(world, runId))['outcome'], 'aborted');
  }
  await world.quiet();
  const child = await world.store.read((tx) => tx.runs.latestOf(childKey));
  assert.equal(child?.state, 'aborted');
  assert.ok((await text(world, GROUP)).includes('a note'));
  assert.equal((await sessionOf(world, childKey))?.deletedAt, null);
});

test('[AR11] a key whose session was deleted starts over, and its old transcript stays deleted', async (t) => {
  const world = await startWorld(t);
  await world.say(GROUP, 'SAY: SECRET');
  await world.client.request('sessions.patch', { key: GROUP, label: 'old', sendPolicy: 'allow' });
  const { archived } = await remove(world, GROUP);
  await world.say(GROUP, 'SAY: new');
  assert.deepEqual(await text(world, GROUP), ['SAY: new', 'new']);
  assert.deepEqual(await text(world, String(archived[0])), ['SAY: SECRET', 'SECRET']);
  const { label, deletedAt, archivedAt } = (await sessionOf(world, GROUP)) ?? {};
  assert.deepEqual([label, deletedAt, archivedAt], [null, null, null]);
  const hidden = await world.tool('sessions_history', { sessionKey: archived[0] }, A);
  assert.match(String(hidden['error']), /not found/);
});

const purge = async (world: TestWorld, ms: number): Promise<void> => {
  await world.passTime(ms);
  await world.quiet();
};
const movable = (maintenance: Json = {}) => ({
  clock: 'movable' as const,
  config: { session: { maintenance } },
});
/** The writer of transcript files works in the background. */
async function becomes(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((again) => setTimeout(again, 5));
}
/** every place that a text may be in */
function tablesWith(world: TestWorld, needle: string): string[] {
  const db = new DatabaseSync(join(world.gateway.stateDir, 'trunkline.db'), { readOnly: true });
  const tables = ['entries', 'inputs', 'runs', 'tool_calls', 'model_calls', 'exchanges'];
  tables.push('deliveries', 'sessions', 'audit');
  const found = tables.filter((table) =>
    JSON.stringify(db.prepare(`select * from ${table}`).all()).includes(needle),
  );
  db.close();
  return found;
}

test('[AR12, BR-054] what was deleted is purged after pruneAfter, and not before; nothing is left of it', async (t) => {
  const world = await startWorld(t, movable({ pruneAfter: '2d' }));
  const message = `${call('agents_list', {})}\nSAY: SECRET`;
  await world.say(GROUP, message);
  await world.quiet();
  const session = await sessionOf(world, GROUP);
  const path = transcriptPathOf(world.gateway.stateDir, {
    agentId: 'a',
    sessionId: session?.sessionId ?? '',
  });
  await remove(world, GROUP);
  await purge(world, 2 * DAY - 60_000);
  assert.equal((await text(world, GROUP)).at(-1), 'SECRET');
  await becomes(() => existsSync(path));
  await purge(world, 3_600_000);
  await assert.rejects(world.history(GROUP), /not found/);
  assert.deepEqual(tablesWith(world, 'SECRET'), []);
  assert.equal(await sessionOf(world, GROUP), undefined);
  assert.deepEqual(
    readdirSync(dirname(path)).filter((name) => !name.endsWith('.jsonl')),
    [],
  );
  await becomes(() => !existsSync(path));
});

test('[AR12] with deleteTranscript it is purged at once', async (t) => {
  const world = await startWorld(t);
  await world.say(GROUP, 'SAY: SECRET');
  assert.deepEqual((await remove(world, GROUP, true)).archived, []);
  await world.quiet();
  assert.deepEqual(tablesWith(world, 'SECRET'), []);
  await assert.rejects(world.history(GROUP), /not found/);
});

test('[AR13] a key is good after the purge too: the message is not done a second time', async (t) => {
  const world = await startWorld(t);
  const params = { sessionKey: GROUP, message: 'SAY: SECRET', idempotencyKey: 'job-1' };
  const { runId } = await world.client.request('chat.send', params);
  await wait(world, String(runId));
  await world.quiet();
  const asked = world.model.requests.length;
  await remove(world, GROUP, true);
  await world.quiet();
  const again = await world.client.request('chat.send', params);
  assert.deepEqual([again['runId'], again['status']], [runId, 'ok']);
  await world.quiet();
  assert.equal(world.model.requests.length, asked);
  const other = { ...params, message: 'SAY: other' };
  await assert.rejects(world.client.request('chat.send', other), /idempotencyKey/);
  const { runs } = await world.client.request<{ runs: Json[] }>('runs.list', {});
  assert.ok(!runs.some((run) => run['runId'] === runId));
});

for (const mode of ['warn', 'enforce'] as const) {
  test(`[AR14] mode ${mode}: archived sessions and transcripts from before a reset`, async (t) => {
    const world = await startWorld(
      t,
      movable({ mode, pruneAfter: '3d', resetArchiveRetention: '1d' }),
    );
    await world.say(A, `${call('sessions_spawn', { task: 'SAY: child' })}\nSAY: started`);
    await world.quiet();
    const childKey = String((await world.toolAnswers(A)).at(-1)?.['childSessionKey']);
    const { previousSessionId = '' } = await reset(world, A);
    await purge(world, 3_600_000);
    assert.equal((await sessionOf(world, childKey))?.deletedAt, null);
    assert.notEqual((await sessionOf(world, childKey))?.archivedAt, null);
    await purge(world, DAY);
    const isEnforced = mode === 'enforce';
    const before = await world.store.read((tx) => tx.windows.get(previousSessionId));
    assert.equal(before === undefined, isEnforced);
    assert.notEqual(await sessionOf(world, childKey), undefined);
    await purge(world, 3 * DAY);
    assert.equal((await sessionOf(world, childKey)) === undefined, isEnforced);
    assert.notEqual(await sessionOf(world, A), undefined);
    const status = await world.client.request<{ maintenance: Json }>('status');
    const due = isEnforced ? { sessions: 0, transcripts: 0 } : { sessions: 1, transcripts: 1 };
    assert.deepEqual(status.maintenance, { mode, due });
  });
}

test('[AR14] a deleted session stays as a name while its children are there', async (t) => {
  const world = await startWorld(t, {
    config: { agents: { defaults: { subagents: { archiveAfterMinutes: 0 } } } },
  });
  await world.say(GROUP, `${call('sessions_spawn', { task: 'SAY: child' })}\nSAY: started`);
  await world.quiet();
  const childKey = String((await world.toolAnswers(GROUP)).at(-1)?.['childSessionKey']);
  await remove(world, GROUP, true);
  await world.quiet();
  assert.notEqual((await sessionOf(world, GROUP))?.deletedAt, null);
  assert.equal(await world.store.read((tx) => tx.sessions.isDescendant(GROUP, childKey)), true);
  await remove(world, childKey, true);
  await world.quiet();
  assert.equal(await sessionOf(world, GROUP), undefined);
  assert.equal(await sessionOf(world, childKey), undefined);
});

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { startGateway } from '../src/app/start-gateway.ts';
import { connectGateway } from '../src/client/gateway-client.ts';
import { defaultConfig } from '../src/protocol/options/config.ts';
import { acceptRun } from '../src/service/runs/accept-run.ts';
import { ensureSession } from '../src/service/sessions/session-rows.ts';
import { openSqliteStore } from '../src/store/sqlite/open-sqlite-store.ts';
import { silentLogger } from '../src/util/logger.ts';
import { call, startWorld } from './helpers/test-world.ts';

const HOUR_MS = 3_600_000;

/** A state directory with one run that was accepted `ageMs` ago and never started. */
async function stateWithOldRun(
  ageMs: number,
  attempts = 0,
): Promise<{ stateDir: string; runId: string }> {
  const stateDir = mkdtempSync(join(tmpdir(), 'old-run-'));
  const clock = { now: () => Date.now() - ageMs };
  const store = openSqliteStore({
    path: join(stateDir, 'trunkline.db'),
    clock,
    logger: silentLogger,
  });
  const runId = randomUUID();
  const sessionKey = 'agent:main:main';
  await store.write('prepare', async (tx) => {
    await ensureSession(tx, defaultConfig(), { key: sessionKey, agentId: 'main' });
    await acceptRun(tx, {
      runId,
      sessionKey,
      kind: 'message',
      text: 'SAY: hello',
      purpose: 'message',
      runClass: 'main',
      rootRunId: runId,
      hops: 0,
      timeoutMs: 0,
    });
    if (attempts === 0) return;
    const lane = await tx.lanes.claimNext({ runClass: 'main', owner: 'an earlier process' });
    const fence = { sessionKey, owner: 'an earlier process', epoch: lane?.epoch ?? 0 };
    const session = await tx.sessions.get(sessionKey);
    await tx.lanes.setCurrent(fence, runId, 'running');
    await tx.runs.update(runId, {
      state: 'running',
      attempts,
      sessionId: session?.sessionId ?? '',
    });
  });
  await store.close();
  return { stateDir, runId };
}

async function outcomeAfterStart(
  stateDir: string,
  runId: string,
): Promise<Record<string, unknown>> {
  const gateway = await startGateway({ stateDir, port: 0, env: {}, logger: silentLogger });
  const client = await connectGateway({ url: gateway.url, token: gateway.token });
  const answer = await client.request('agent.wait', { runId, timeoutMs: 10_000 });
  await client.close();
  await gateway.stop();
  rmSync(stateDir, { recursive: true });
  return answer;
}

test('[RU3] work older than recovery.maxAgeHours when the gateway comes back ends `timeout`; younger work runs', async () => {
  const old = await stateWithOldRun(25 * HOUR_MS);
  const ended = await outcomeAfterStart(old.stateDir, old.runId);
  assert.deepEqual([ended['status'], ended['outcome']], ['timeout', 'timeout']);
  assert.match(String(ended['error']), /recovery\.maxAgeHours/);
  const young = await stateWithOldRun(23 * HOUR_MS);
  const answer = await outcomeAfterStart(young.stateDir, young.runId);
  assert.deepEqual([answer['status'], answer['reply']], ['ok', 'hello']);
});

test('[RU4] a run that its process died of recovery.maxAttempts times ends as an error; one time less goes on', async () => {
  const worn = await stateWithOldRun(1000, 5);
  const ended = await outcomeAfterStart(worn.stateDir, worn.runId);
  assert.deepEqual([ended['status'], ended['outcome']], ['error', 'error']);
  assert.match(String(ended['error']), /interrupted 5 times.*recovery\.maxAttempts/);
});

test('[RU5, BR-023] a run that waits for another holds no slot: others of its class go on meanwhile', async (t) => {
  const world = await startWorld(t, { config: { agents: { defaults: { maxConcurrent: 1 } } } });
  const slow = call('sessions_send', {
    sessionKey: 'agent:b:main',
    message: 'SLEEP: 4000\nSAY: slow',
  });
  const order: string[] = [];
  const waiting = world.say('agent:a:main', `${slow}\nSAY: a`).then(() => order.push('a'));
  // The model sees b's turn: a waits from here on.
  await world.model.requestCount(2);
  await world.say('agent:c:main', 'SAY: c').then(() => order.push('c'));
  await waiting;
  assert.deepEqual(order, ['c', 'a']);
});

test('[RU6, BR-022] messages to different sessions run side by side', async (t) => {
  const world = await startWorld(t);
  const send = (key: string) =>
    world.tool('sessions_send', { sessionKey: key, message: 'SLEEP: 1000\nSAY: x' });
  const both = Promise.all([send('agent:b:main'), send('agent:c:main')]);
  await world.model.requestCount(2);
  const running = await world.client.request<{ sessions: { state: string }[] }>('sessions.list', {
    state: 'running',
  });
  assert.equal(running.sessions.length, 2);
  assert.deepEqual(
    (await both).map(({ status }) => status),
    ['ok', 'ok'],
  );
});

test('[RU7] runTimeoutSeconds 0 means no limit, also where a default is set', async (t) => {
  const config = { agents: { defaults: { subagents: { runTimeoutSeconds: 0.2 } } } };
  const world = await startWorld(t, { config });
  const spawned = await world.tool('sessions_spawn', {
    task: 'SLEEP: 600\nSAY: done',
    runTimeoutSeconds: 0,
  });
  const limited = await world.tool('sessions_spawn', { task: 'SLEEP: 600\nSAY: done' });
  const outcomeOf = async (answer: Record<string, unknown>) =>
    (await world.client.request('agent.wait', { runId: answer['runId'] }))['outcome'];
  assert.deepEqual([await outcomeOf(spawned), await outcomeOf(limited)], ['ok', 'timeout']);
});

test('[RU8] a call that is planned when the time limit is hit has no effect', async (t) => {
  const world = await startWorld(t);
  const calls = [
    { name: 'exec', args: { command: 'sleep 30' } },
    { name: 'write', args: { path: 'late.txt', content: 'x' } },
    { name: 'sessions_spawn', args: { task: 'SAY: late' } },
  ];
  const message = `TOOLS: ${JSON.stringify(calls)}\nSAY: done`;
  const params = { sessionKey: 'agent:a:main', message, timeout: 2, idempotencyKey: randomUUID() };
  const ended = await world.client.runAgent(params);
  assert.equal(ended.outcome, 'timeout');
  await world.quiet();
  const states = await world.store.read((tx) => tx.toolCalls.ofRun(ended.runId));
  assert.deepEqual(
    states.slice(1).map(({ state }) => state),
    ['planned', 'planned'],
  );
  assert.equal(await world.store.read((tx) => tx.sessions.count()), 3);
  assert.equal(existsSync(join(world.gateway.stateDir, 'workspace', 'late.txt')), false);
});

test('[RU9] a time limit beyond any number is no limit, and stops nobody else’s runs', async (t) => {
  const world = await startWorld(t);
  const limit = Number.MAX_SAFE_INTEGER;
  const spawned = await world.tool('sessions_spawn', {
    task: 'SAY: kid',
    runTimeoutSeconds: limit,
  });
  assert.equal(spawned['status'], 'accepted');
  for (const timeout of [limit, 1e13, 1.5]) {
    const params = {
      sessionKey: 'agent:a:main',
      message: 'SAY: x',
      timeout,
      idempotencyKey: randomUUID(),
    };
    assert.equal((await world.client.runAgent(params)).outcome, 'ok', String(timeout));
  }
  assert.equal((await world.say('agent:b:main', 'SAY: y'))['status'], 'ok');
  const child = await world.client.request('agent.wait', { runId: spawned['runId'] });
  assert.equal(child['status'], 'ok');
});

test('[RU10] what a model reports of its usage cannot keep a run from closing', async (t) => {
  const world = await startWorld(t);
  world.model.usage = { input: 9_100_000_000_000_000, output: 1e300 };
  for (const text of ['one', 'two']) {
    assert.equal((await world.say('agent:a:main', `SAY: ${text}`))['reply'], text);
  }
  const session = await world.store.read((tx) => tx.sessions.get('agent:a:main'));
  assert.equal(session?.inputTokens, 2_000_000_000);
});

test('[RU11] a reply that the output limit cut before any visible text is an error that says so', async (t) => {
  const world = await startWorld(t);
  world.model.failNext({ kind: 'length', text: '' });
  const cut = await world.say('agent:a:main', 'SAY: hi');
  assert.equal(cut['outcome'], 'error');
  assert.match(String(cut['error']), /hit its output limit before it said anything \(maxTokens/);
  world.model.failNext({ kind: 'length', text: 'half a rep' });
  const partial = await world.say('agent:a:main', 'SAY: hi');
  assert.deepEqual([partial['outcome'], partial['reply']], ['ok', 'half a rep']);
});

test('[TL11] arguments nested 5,000 deep are an error to the model, and the run goes on', async (t) => {
  const world = await startWorld(t);
  for (const tool of ['sessions_list', 'read']) {
    const argumentsText = `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`;
    world.model.failNext({ kind: 'raw-tool-call', name: tool, argumentsText });
    const ended = await world.say('agent:a:main', `TOOL: ${tool} {}\nSAY: went on`);
    assert.deepEqual([ended['outcome'], ended['reply']], ['ok', 'went on']);
    const history = await world.history('agent:a:main');
    const result = history.findLast((message) => message.role === 'toolResult');
    assert.match(JSON.stringify(result), /nested deeper than 64 levels.*"isError":true/);
  }
});

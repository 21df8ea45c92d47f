/** A gateway killed from outside while it is at work; the next one on its state owes nobody anything. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { waitForRun } from '../../src/client/wait-for-run.ts';
import { GatewayError } from '../../src/protocol/errors.ts';
import { readStory, type Story } from '../helpers/crash-story.ts';
import { makeKillWorld } from '../helpers/kill-world.ts';
import { callTools } from './scenarios.ts';

const MAIN = 'agent:main:main';
const SCOUT = 'agent:scout:main';
const CHILD = 'agent:main:subagent:<id>';
/** in what the model is told, and in nothing that a test writes */
const IN_TARGET = 'inter-session message from agent:main:main';
const IN_CHILD = '[task from agent:main:main';
const IN_ANNOUNCE = '[Announce step';

describe('kill -9', { concurrency: 3 }, () => {
  it('[RC5] (a) with queued messages: each has its own outcome, in order, one message and one reply', async (t) => {
    const world = await makeKillWorld(t);
    const held = world.model.hold('first');
    const first = await world.start();
    const texts = ['first', 'second', 'third'];
    const runIds = [];
    for (const text of texts) runIds.push(await first.send(MAIN, `SAY: ${text}`));
    await held.arrived();
    await first.process.kill();
    held.release();
    const next = await world.start();
    for (const [at, runId] of runIds.entries()) {
      const { status, outcome, reply } = await next.wait(runId);
      assert.deepEqual(
        { status, outcome, reply },
        { status: 'ok', outcome: 'ok', reply: texts[at] },
      );
    }
    const { transcripts } = await world.end();
    const expected = texts.flatMap((text) => [
      `message user: SAY: ${text}`,
      `message assistant: ${text}`,
    ]);
    assert.deepEqual(transcripts[MAIN], expected);
  });

  it('[RC6] (b) during a model call: the model is asked again, the message stands once, one reply', async (t) => {
    const world = await makeKillWorld(t);
    const held = world.model.hold('question');
    const first = await world.start();
    const runId = await first.send(MAIN, 'question\nSAY: answer', 'b');
    await held.arrived();
    await first.process.kill();
    held.release();
    const next = await world.start();
    assert.equal((await next.wait(runId))['reply'], 'answer');
    assert.equal(await next.send(MAIN, 'question\nSAY: answer', 'b'), runId);
    const { transcripts, deliveries } = await world.end();
    assert.deepEqual(transcripts[MAIN], [
      'message user: question\nSAY: answer',
      'message assistant: answer',
    ]);
    assert.deepEqual(deliveries, [`reply:<id>:0 webchat ${MAIN} sent: answer`]);
    assert.equal(world.model.requests.length, 2);
  });

  it('[RC7] (c) during a command: it is not run again, its result says that nobody knows', async (t) => {
    const world = await makeKillWorld(t);
    const first = await world.start();
    const script = `${callTools(['exec', { command: 'echo ran >> effects.txt; sleep 50' }])}\nSAY: on`;
    const runId = await first.send(MAIN, script);
    const effects = join(world.stateDir, 'workspace', 'effects.txt');
    await until(() => existsSync(effects) && readFileSync(effects, 'utf8') !== '');
    await first.process.kill();
    const next = await world.start();
    assert.equal((await next.wait(runId))['reply'], 'on');
    const { transcripts } = await world.end();
    assert.deepEqual(transcripts[MAIN]?.slice(1), [
      'message assistant: →exec',
      'message toolResult of exec: interrupted, outcome unknown',
      'message assistant: on',
    ]);
    assert.equal(readFileSync(effects, 'utf8'), 'ran\n');
  });

  it('[RC8] (c) during a session tool: calls before it are not repeated, it finds its own message again', async (t) => {
    const world = await makeKillWorld(t);
    const held = world.model.hold(IN_TARGET);
    const first = await world.start();
    const calls = callTools(
      ['sessions_spawn', { task: 'SAY: child done' }],
      ['sessions_send', { sessionKey: SCOUT, message: 'SAY: pong' }],
    );
    const runId = await first.send(MAIN, `${calls}\nSAY: both`);
    await held.arrived();
    await first.process.kill();
    held.release();
    const next = await world.start();
    assert.equal((await next.wait(runId))['reply'], 'both');
    const story = await world.end();
    assert.deepEqual(story.transcripts[SCOUT], [
      'message user: SAY: pong',
      'message assistant: pong',
    ]);
    const results = story.transcripts[MAIN]?.filter((line) => line.includes('toolResult')) ?? [];
    assert.equal(results.length, 2);
    assert.match(results[1] ?? '', /"outcome":"ok","reply":"pong"/);
    assert.equal(story.spawns.length, 1);
    assertOneAnnounce(story, 'success');
  });

  it('[RC9, BR-077] (d) while a child runs: it goes on and its real result is announced once', async (t) => {
    const world = await makeKillWorld(t);
    const held = world.model.hold(IN_CHILD);
    const first = await world.start();
    const runId = await first.send(
      MAIN,
      `${callTools(['sessions_spawn', { task: 'SAY: child done' }])}\nSAY: go`,
    );
    await first.wait(runId);
    await held.arrived();
    await first.process.kill();
    held.release();
    await world.start();
    const story = await world.end();
    assert.deepEqual(story.transcripts[CHILD], [
      'task user: SAY: child done',
      'task assistant: child done',
      'spawn_announce user: Sub-agent announce step.',
      'spawn_announce assistant: child done',
    ]);
    assertOneAnnounce(story, 'success');
  });

  it('[RC10, BR-077] (e) during the announce turn: one announce with the real result, and the note joins one turn', async (t) => {
    const world = await makeKillWorld(t);
    const held = world.model.hold(IN_ANNOUNCE);
    const first = await world.start();
    await first.send(
      MAIN,
      `${callTools(['sessions_spawn', { task: 'SAY: child done' }])}\nSAY: go`,
    );
    await held.arrived();
    await first.process.kill();
    held.release();
    const next = await world.start();
    assertOneAnnounce(await world.end(), 'success');
    await next.wait(await next.send(MAIN, 'SAY: and on'));
    const { transcripts, pending } = await world.end();
    assert.equal(
      transcripts[MAIN]?.filter((line) => line.includes('Result: child done')).length,
      1,
    );
    assert.deepEqual(pending, []);
  });

  it('[RC11, BR-048] after the end of a child and before its announce: announced once, its place is free', async (t) => {
    const world = await makeKillWorld(t, {
      agents: {
        defaults: { subagents: { maxChildrenPerAgent: 1 } },
        list: [{ id: 'main', default: true }],
      },
    });
    const first = await world.start({ crash: 'announce-spawn:before:1' });
    const spawn = `${callTools(['sessions_spawn', { task: 'SAY: child done' }])}\nSAY: go`;
    await first.send(MAIN, spawn);
    await first.process.exited;
    const next = await world.start();
    assertOneAnnounce(await world.end(), 'success');
    await next.wait(await next.send(MAIN, spawn));
    const { spawns } = await world.end();
    assert.deepEqual(spawns, [`${MAIN} → ${CHILD} settled`, `${MAIN} → ${CHILD} settled`]);
  });

  it('[RC12, BR-017] (f) while a run waits for another: its deadline holds, the message stands once, the reply follows', async (t) => {
    const world = await makeKillWorld(t);
    const held = world.model.hold(IN_TARGET);
    const first = await world.start();
    const send = callTools([
      'sessions_send',
      { sessionKey: SCOUT, message: 'SAY: late', timeoutSeconds: 1 },
    ]);
    const runId = await first.send(MAIN, `${send}\nSAY: went on`);
    await held.arrived();
    await first.process.kill();
    const next = await world.start();
    assert.equal((await next.wait(runId))['reply'], 'went on');
    held.release();
    const { transcripts, waits } = await world.end();
    const answer = transcripts[MAIN]?.find((line) => line.includes('toolResult')) ?? '';
    assert.match(
      answer,
      /"status":"timeout","messageState":"(queued|running)","error":"no outcome within 1 s/,
    );
    assert.deepEqual(transcripts[SCOUT], ['message user: SAY: late', 'message assistant: late']);
    assert.deepEqual(waits, [`${MAIN} → ${SCOUT} timeout`]);
  });

  it('[RC13, BR-100] (f) while clients wait: they come back by themselves and get the same result', async (t) => {
    const world = await makeKillWorld(t);
    const held = world.model.hold('slow');
    const first = await world.start();
    const runId = await first.send(MAIN, 'slow\nSAY: there');
    await held.arrived();
    const { port } = first.address;
    const waits = [1, 2].map(() => waitForRun(first.address, { runId, timeoutMs: 40_000 }));
    await first.process.kill();
    const next = await world.start({ port });
    await assert.rejects(
      next.wait('nobody'),
      (error: unknown) => error instanceof GatewayError && error.code === 'not_found',
    );
    held.release();
    const [one, two] = await Promise.all(waits);
    assert.deepEqual(one, two);
    assert.deepEqual([one?.status, one?.outcome, one?.reply], ['ok', 'ok', 'there']);
    assert.deepEqual(await next.wait(runId), one);
  });

  it('[RC14, BR-145] in a burst of 100 messages: what was answered is there, each message has one run and stands once', async (t) => {
    const world = await makeKillWorld(t);
    const first = await world.start();
    const names = Array.from({ length: 100 }, (_, at) => `m${at}`);
    const answers = new Map<string, string>();
    const half = Promise.withResolvers<void>();
    const sends = names.map(async (name, at) => {
      const runId = await first.send(at % 2 === 0 ? MAIN : SCOUT, `SAY: ${name}`, name);
      if (answers.set(name, runId).size === 30) half.resolve();
    });
    const settled = Promise.allSettled(sends);
    await half.promise;
    await first.process.kill();
    await settled;
    const next = await world.start();
    const again = await Promise.all(
      names.map((name, at) => next.send(at % 2 === 0 ? MAIN : SCOUT, `SAY: ${name}`, name)),
    );
    for (const [at, name] of names.entries()) {
      assert.equal(answers.get(name) ?? again[at], again[at]);
      assert.equal((await next.wait(again[at] ?? ''))['reply'], name);
    }
    const { transcripts } = await world.end();
    const users = [...(transcripts[MAIN] ?? []), ...(transcripts[SCOUT] ?? [])].filter((line) =>
      line.startsWith('message user'),
    );
    assert.deepEqual(
      users.toSorted(),
      names.map((name) => `message user: SAY: ${name}`).toSorted(),
    );
  });

  it('[RC15, BR-170] loses nothing of the history, nor its order', async (t) => {
    const world = await makeKillWorld(t);
    const first = await world.start();
    for (const text of ['one', 'two']) await first.wait(await first.send(MAIN, `SAY: ${text}`));
    const history = { sessionKey: MAIN };
    const before = await first.client.request('chat.history', history);
    await world.end();
    await first.process.kill();
    const next = await world.start();
    assert.deepEqual(await next.client.request('chat.history', history), before);
  });

  it('[RC16, BR-077] a child whose process dies of it again and again ends as an error, announced once', async (t) => {
    const world = await makeKillWorld(t, { recovery: { maxAttempts: 1 } });
    const held = world.model.hold(IN_CHILD);
    const first = await world.start();
    await first.send(MAIN, `${callTools(['sessions_spawn', { task: 'SAY: never' }])}\nSAY: go`);
    await held.arrived();
    // It counts once the step has been going for two seconds.
    await until(() => readStory(world.database).runs.some((run) => /task .* 1 attempts/.test(run)));
    await first.process.kill();
    await world.start();
    const story = await world.end();
    held.release();
    assert.deepEqual(story.transcripts[CHILD], ['task user: SAY: never']);
    assertOneAnnounce(story, 'error');
  });
});

/** One delivery and one note; the note waits for the next turn of its session, or has joined one. */
function assertOneAnnounce({ deliveries, pending, transcripts }: Story, status: string): void {
  const announces = deliveries.filter((line) => line.startsWith('announce:'));
  assert.equal(announces.length, 1);
  assert.match(announces[0] ?? '', new RegExp(`sent: Status: ${status}\n`));
  const notes = [...pending, ...(transcripts[MAIN] ?? [])];
  assert.equal(notes.filter((line) => line.includes(`Status: ${status}\n`)).length, 1);
}

async function until(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error('it did not happen');
    await delay(10);
  }
}

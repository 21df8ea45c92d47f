/** Several gateways on one database, as processes that are killed, paused and asked across. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { startPostgres } from '../src/store/postgres/postgres-server.suite.ts';
import type { Life } from './helpers/kill-world.ts';
import { makePostgresWorld } from './helpers/postgres-world.ts';
import { startTestChat } from './helpers/test-chat.ts';
import { deviceConnect, makeDevice, openDevice } from './helpers/test-device.ts';

const server = await startPostgres();
after(() => server.stop());

const MAIN = 'agent:main:main';
const LANES = Array.from({ length: 5 }, (_, at) => `agent:main:lane-${at}`);
const COUNT_GATEWAYS = 'select count(*)::int as alive from gateways';

/** Accepted under its key, by whichever gateway answers. */
async function sendOnce(first: Life, second: Life, message: Message): Promise<string> {
  const { lane, text, key } = message;
  return first.send(lane, `SAY: ${text}`, key).catch(() => second.send(lane, `SAY: ${text}`, key));
}

interface Message {
  lane: string;
  text: string;
  key: string;
}

function messagesOf(round: string, perLane: number): Message[] {
  return Array.from({ length: perLane }, (_, at) => at).flatMap((at) =>
    LANES.map((lane) => ({ lane, text: `${round}-${at}`, key: `${lane} ${round}-${at}` })),
  );
}

describe('several gateways on one database', { concurrency: 2 }, () => {
  it('[PG1] one is killed amid runs and messages: none is lost or doubled, the lanes keep their order', async (t) => {
    const world = await makePostgresWorld(t, server);
    const a = await world.start();
    const held = world.model.hold('SAY: early');
    const early = messagesOf('early', 1);
    const runIds = new Map<string, Promise<string>>();
    for (const one of early) runIds.set(one.key, a.send(one.lane, `SAY: ${one.text}`, one.key));
    await Promise.all(runIds.values());
    await held.arrived(3);
    const b = await world.start();
    for (const [at, one] of messagesOf('late', 6).entries()) {
      runIds.set(one.key, at % 2 === 0 ? sendOnce(a, b, one) : sendOnce(b, a, one));
      if (at === 14) await runIds.get(one.key);
      if (at === 15) void a.process.kill();
    }
    await a.process.exited;
    held.release();
    const expected = [...early, ...messagesOf('late', 6)];
    for (const { key, text } of expected) {
      const { status, reply } = await b.wait((await runIds.get(key)) ?? '');
      assert.deepEqual({ status, reply }, { status: 'ok', reply: text }, key);
    }
    await world.settled();
    for (const lane of LANES) {
      const transcript = await world.transcript(lane);
      const inputs = await world.query(
        `select text from inputs where session_key = '${lane}' order by seq`,
      );
      assert.deepEqual(
        transcript,
        inputs
          .map(({ text }) => String(text))
          .flatMap((text) => [`user: ${text}`, `assistant: ${text.replace('SAY: ', '')}`]),
      );
      assert.equal(inputs.length, 7);
    }
    assert.deepEqual(await world.query(COUNT_GATEWAYS), [{ alive: 1 }]);
  });

  it('[PG2] one is paused past its lease in a run: another goes on, and what it wakes up with changes nothing', async (t) => {
    const world = await makePostgresWorld(t, server);
    const a = await world.start();
    const held = world.model.hold('question');
    const runId = await a.send(MAIN, 'question\nSAY: answer');
    await held.arrived();
    const b = await world.start();
    process.kill(a.process.pid, 'SIGSTOP');
    t.after(() => a.process.kill());
    await held.arrived(2);
    held.release();
    assert.equal((await b.wait(runId))['reply'], 'answer');
    const before = await world.query('select * from runs, lanes, windows');
    process.kill(a.process.pid, 'SIGCONT');
    await world.becomes(COUNT_GATEWAYS, 2);
    assert.deepEqual(await world.query('select * from runs, lanes, windows'), before);
    const next = await a.send(MAIN, 'SAY: on');
    assert.equal((await a.wait(next))['reply'], 'on');
    await world.settled();
    assert.deepEqual(await world.transcript(MAIN), [
      'user: question\nSAY: answer',
      'assistant: answer',
      'user: SAY: on',
      'assistant: on',
    ]);
  });

  it('[PG3] a wait through one for a run of another gets its outcome, before and after its end', async (t) => {
    const world = await makePostgresWorld(t, server);
    const a = await world.start();
    const held = world.model.hold('question');
    const runId = await a.send(MAIN, 'question\nSAY: answer');
    await held.arrived();
    const b = await world.start();
    const waiting = b.wait(runId);
    held.release();
    const answer = await waiting;
    assert.deepEqual([answer['status'], answer['reply']], ['ok', 'answer']);
    assert.deepEqual(await b.wait(runId), answer);
    assert.deepEqual(await a.wait(runId), answer);
  });

  it('[PG11] a client of one is told how a run of another ended and what it says', async (t) => {
    const world = await makePostgresWorld(t, server);
    const b = await world.start();
    const held = world.model.hold('question');
    const runId = await b.send(MAIN, 'question\nSAY: answer');
    await held.arrived();
    const a = await world.start();
    const { promise: told, resolve } = Promise.withResolvers<void>();
    const seen: string[] = [];
    a.client.on(({ event, payload }) => {
      const { runId: ofRun, state, stream, data, message } = payload as Record<string, never>;
      if (ofRun !== runId) return;
      seen.push(JSON.stringify([event, state ?? stream, message ?? data]));
      if (seen.length === 2) resolve();
    });
    held.release();
    await told;
    const text = seen.toSorted().join('\n');
    assert.match(text, /\["agent","lifecycle",\{"phase":"end","outcome":"ok",/);
    assert.match(
      text,
      /\["chat","final",\{"role":"assistant","content":\[\{"type":"text","text":"answer"/,
    );
    await world.settled();
    assert.equal(seen.length, 2);
  });

  it('[PG4] the job that one was killed in is done by another', async (t) => {
    const world = await makePostgresWorld(t, server);
    const a = await world.start({ crash: 'delivery-sending:after:1' });
    await a.send(MAIN, 'SAY: out');
    await a.process.exited;
    assert.deepEqual(await world.query('select state from deliveries'), [{ state: 'sending' }]);
    await world.start();
    await world.settled();
    assert.deepEqual(await world.query('select state, attempts from deliveries'), [
      { state: 'sent', attempts: 2 },
    ]);
  });

  it('[PG5] one that stops in order leaves its run to another at once', async (t) => {
    const world = await makePostgresWorld(t, server);
    const a = await world.start();
    const held = world.model.hold('question');
    const runId = await a.send(MAIN, 'question\nSAY: answer');
    await held.arrived();
    const b = await world.start();
    const stopping = a.process.terminate();
    await held.arrived(2);
    held.release();
    assert.equal((await b.wait(runId))['reply'], 'answer');
    assert.equal((await stopping).code, 0);
  });

  it('[PG4, DL2, DL7] texts of one chat arrive in order through two of them, also when one is killed while it hands one over', async (t) => {
    const world = await makePostgresWorld(t, server);
    const chat = await startTestChat(t);
    const told: Promise<unknown>[] = [];
    const tell = ({ client }: Life, channel: string, at: number): void => {
      const message = `${channel} ${at}`;
      const params = { channel, to: channel, message, idempotencyKey: message };
      told.push(client.request('send', params).catch(() => {}));
    };
    const channels = ['keyed', 'readable'];
    const held = channels.map((channel) => chat.hold(`${channel} 3`, true));
    for (const channel of channels) {
      chat.fail(`${channel} 1`, 'refuse');
      chat.fail(`${channel} 2`, 'lose answer');
    }
    const a = await world.start({ chat: chat.url });
    for (const channel of channels) for (const at of [0, 1, 2, 3]) tell(a, channel, at);
    for (const each of held) await each.arrived();
    const b = await world.start({ chat: chat.url });
    for (const channel of channels) {
      tell(b, channel, 4);
      tell(a, channel, 5);
      tell(b, channel, 6);
    }
    await world.becomes('select count(*)::int from deliveries', 14);
    await a.process.kill();
    for (const each of held) each.release();
    await Promise.all(told);
    await world.settled();
    for (const channel of channels) {
      const rows = await world.query(
        `select text, state from deliveries where channel = '${channel}' order by route_seq`,
      );
      assert.deepEqual(
        chat.shown(channel),
        rows.map(({ text }) => text),
      );
      assert.deepEqual(new Set(rows.map(({ state }) => state)), new Set(['sent']));
    }
  });

  it('[DV5] a device that is revoked through one gateway loses its sockets at the other', async (t) => {
    const world = await makePostgresWorld(t, server);
    const a = await world.start();
    const b = await world.start();
    const device = makeDevice();
    const { url, token } = b.address;
    const socket = await openDevice(url, (challenge) =>
      deviceConnect(device, challenge, { auth: { token } }),
    );
    assert.ok(socket.answer.ok);
    await a.client.request('device.revoke', { deviceId: device.id });
    assert.deepEqual(await socket.closed, { code: 1008, reason: 'DEVICE_REVOKED' });
    const decider = await openDevice(url, (challenge) =>
      deviceConnect(makeDevice(), challenge, { auth: { token } }),
    );
    const asking = await openDevice(a.address.url, (challenge) =>
      deviceConnect(device, challenge, { auth: { token: a.address.token } }),
    );
    assert.equal(asking.code, 'PAIRING_REQUIRED');
    const { requestId } = await decider.event('device.pair.requested');
    await a.client.request('device.pair.reject', { requestId });
    const { decision } = await decider.event('device.pair.resolved');
    assert.equal(decision, 'rejected');
  });
});

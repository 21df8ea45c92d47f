/** A gateway that is asked to stop: what can end ends, the rest goes on at the next start. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startGateway } from '../../src/app/start-gateway.ts';
import { connectGateway } from '../../src/client/gateway-client.ts';
import { silentLogger } from '../../src/util/logger.ts';
import { readStory } from '../helpers/crash-story.ts';
import { CRASH_CONFIG, makeStateDir } from '../helpers/gateway-process.ts';
import { makeKillWorld } from '../helpers/kill-world.ts';
import { databaseOf } from '../helpers/open-gateway.ts';
import { callTools } from './scenarios.ts';

const MAIN = 'agent:main:main';
const SCOUT = 'agent:scout:main';
const OTHER = 'agent:main:direct:bob';

it('[RC17] SIGTERM lets runs end for a while, leaves the others with their waits, and ends with exit code 0', async (t) => {
  // One attempt is all a run has: a stop must not count as one.
  const world = await makeKillWorld(t, { recovery: { maxAttempts: 1 } });
  const slow = world.model.hold('inter-session message from agent:main:main');
  const quick = world.model.hold('quick');
  const first = await world.start();
  const send = callTools([
    'sessions_send',
    { sessionKey: SCOUT, message: 'SAY: pong', timeoutSeconds: 60 },
  ]);
  const waiting = await first.send(MAIN, `${send}\nSAY: heard`);
  const ending = await first.send(OTHER, 'quick\nSAY: in time');
  await Promise.all([slow.arrived(), quick.arrived()]);

  const exit = first.process.terminate();
  await first.client.closed.then(
    () => {},
    () => {},
  );
  quick.release();
  assert.deepEqual(await exit, { code: 0, signal: null });
  const left = readStory(world.database);
  assert.deepEqual(left.transcripts[OTHER], [
    'message user: quick\nSAY: in time',
    'message assistant: in time',
  ]);
  assert.deepEqual(left.waits, [`${MAIN} → ${SCOUT} open`]);
  assert.ok(
    !left.transcripts[MAIN]?.some((line) => line.includes('toolResult')),
    'the call has no answer yet',
  );

  const next = await world.start();
  slow.release();
  assert.equal((await next.wait(ending))['reply'], 'in time');
  assert.equal((await next.wait(waiting))['reply'], 'heard');
  const { transcripts } = await world.end();
  assert.match(transcripts[MAIN]?.[2] ?? '', /"outcome":"ok","reply":"pong"/);
  assert.deepEqual(transcripts[SCOUT], ['message user: SAY: pong', 'message assistant: pong']);
});

it('[RC17] a run that is claimed just when the stop comes has its time to end, too', async (t) => {
  const stateDir = makeStateDir(t, { config: CRASH_CONFIG });
  const claimed = Promise.withResolvers<void>();
  const mayGoOn = Promise.withResolvers<void>();
  const gateway = await startGateway({
    stateDir,
    port: 0,
    env: {},
    logger: silentLogger,
    wrapStore: (store) => ({
      read: (fn) => store.read(fn),
      onSignal: (listener) => store.onSignal(listener),
      close: () => store.close(),
      write: async (unit, fn) => {
        const value = await store.write(unit, fn);
        if (unit === 'claim-run' && value !== undefined) {
          claimed.resolve();
          await mayGoOn.promise;
        }
        return value;
      },
    }),
  });
  t.after(() => gateway.stop());
  const client = await connectGateway({ url: gateway.url, token: gateway.token });
  const params = { sessionKey: MAIN, message: 'SLEEP: 300\nSAY: in time', idempotencyKey: 'k' };
  await client.request('chat.send', params);
  await claimed.promise;
  const stopped = gateway.stop();
  mayGoOn.resolve();
  await stopped;
  const { transcripts } = readStory(databaseOf(stateDir));
  assert.deepEqual(transcripts[MAIN], [
    'message user: SLEEP: 300\nSAY: in time',
    'message assistant: in time',
  ]);
});

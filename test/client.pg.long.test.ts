/** The client on one of several gateways that share a database. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { createClient } from '../src/client/create-client.ts';
import { textOf } from '../src/protocol/message.ts';
import { startPostgres } from '../src/store/postgres/postgres-server.suite.ts';
import { collectMessages } from './helpers/collected-messages.ts';
import { makePostgresWorld } from './helpers/postgres-world.ts';

const server = await startPostgres();
after(() => server.stop());

const MAIN = 'agent:main:main';

describe('followed sessions of several gateways', () => {
  it('[SB1, PG11] each message is told once and in order, whichever gateway its run is on, and when that one is killed', async (t) => {
    const world = await makePostgresWorld(t, server);
    const a = await world.start();
    const b = await world.start();
    const client = createClient(a.address);
    t.after(() => client.close());
    const { messages: told, onMessage, until } = collectMessages();
    await client.followMessages({ key: 'main', onMessage });
    const texts: string[] = [];
    for (let n = 0; n < 6; n += 1) {
      const life = n % 2 === 0 ? a : b;
      await life.wait(await life.send(MAIN, `SAY: ${n}`));
      texts.push(`SAY: ${n}`, `${n}`);
    }
    await until(12);
    // the gateway that plays the run dies in it; the other one goes on with it
    const held = world.model.hold('SAY: from the dead');
    await b.send(MAIN, 'SAY: from the dead');
    await held.arrived();
    await b.process.kill();
    held.release();
    texts.push('SAY: from the dead', 'from the dead');
    await until(14);
    await world.settled();
    assert.deepEqual(
      told.map(({ message }) => textOf(message)),
      texts,
    );
    assert.deepEqual(
      told.map(({ seq }) => seq),
      Array.from({ length: 14 }, (_, at) => at + 1),
    );
    const transcript = await world.transcript(MAIN);
    assert.deepEqual(
      told.map(({ message }) => `${message.role}: ${textOf(message)}`),
      transcript,
    );
  });
});

/** A gateway with chats, killed around each step of a text and in the middle of handing it over. */
import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { connectGateway, type GatewayClient } from '../../src/client/gateway-client.ts';
import { CRASH_CONFIG, makeStateDir, startGatewayProcess } from '../helpers/gateway-process.ts';
import { findLoose, readStory } from '../helpers/crash-story.ts';
import { databaseOf } from '../helpers/open-gateway.ts';
import { startTestChat, type TestChat } from '../helpers/test-chat.ts';
import { TEST_CHANNELS } from '../helpers/test-chat-adapters.ts';
import { CHAT_STEPS } from './crash-table.ts';

type Json = Record<string, unknown>;

interface Life {
  client: GatewayClient;
  exited: Promise<unknown>;
  kill(): Promise<unknown>;
}
interface World {
  chat: TestChat;
  stateDir: string;
  start(crash?: string): Promise<Life>;
  /** State and reason of each delivery, once nothing is open. */
  settled(): Promise<string[]>;
}

async function makeWorld(t: TestContext): Promise<World> {
  const chat = await startTestChat(t);
  const stateDir = makeStateDir(t, { config: CRASH_CONFIG });
  return {
    chat,
    stateDir,
    start: async (crash) => {
      const options = { stateDir, chat: chat.url, ...(crash === undefined ? {} : { crash }) };
      const gateway = startGatewayProcess(t, options);
      const client = await connectGateway(await gateway.ready);
      t.after(() => client.close());
      return { client, exited: gateway.exited, kill: gateway.kill };
    },
    settled: () => settle(databaseOf(stateDir)),
  };
}

/** Work that is not done by then is stuck. */
const END_MS = 30_000;

async function settle(database: string): Promise<string[]> {
  const deadline = performance.now() + END_MS;
  for (let loose = findLoose(database); loose.length > 0; loose = findLoose(database)) {
    if (performance.now() > deadline) throw new Error(`still open:\n${loose.join('\n')}`);
    await delay(20);
  }
  return readStory(database).deliveries.map((line) => line.replace(/ \w+ c1 (\w+): [^]*$/, ' $1'));
}

function countAudited(database: string): number {
  const db = new DatabaseSync(database, { readOnly: true });
  try {
    return db.prepare('select id from audit').all().length;
  } finally {
    db.close();
  }
}

const tell = (client: GatewayClient, channel: string, message: string, key = message) =>
  client.request('send', { channel, to: 'c1', message, idempotencyKey: key });

describe('a gateway killed while it hands a text over', { concurrency: 2 }, () => {
  for (const channel of TEST_CHANNELS) {
    for (const isShown of [false, true]) {
      const where = isShown ? 'after the chat showed it' : 'before the chat showed it';
      it(`[DL5] ${where}: on ${channel} it is shown once at most, and known or said to be unknown`, async (t) => {
        const { chat, start, settled } = await makeWorld(t);
        const first = await start();
        const held = chat.hold('one', isShown);
        const answer = tell(first.client, channel, 'one').catch(() => undefined);
        await held.arrived();
        await first.kill();
        await answer;
        if (isShown) held.release();
        else held.drop();
        const second = await start();
        const states = await settled();
        const isUnknown = channel === 'plain';
        assert.deepEqual(states, [
          isUnknown ? 'send:operator:one:0 unknown' : 'send:operator:one:0 sent',
        ]);
        assert.deepEqual(chat.shown('c1'), isUnknown && !isShown ? [] : ['one']);
        const handed = chat.handed.filter(({ text }) => text === 'one').length;
        const isHandedAgain = channel === 'keyed' || (channel === 'readable' && !isShown);
        assert.equal(handed, isHandedAgain ? 2 : 1);
        const again = await tell(second.client, channel, 'one');
        assert.equal(again['state'], isUnknown ? 'unknown' : 'sent');
      });
    }
  }

  for (const crash of [
    'delivery-sending:after:2',
    'delivery-booked:before:2',
    'delivery-booked:after:2',
  ]) {
    it(`[DL7] ${crash}: the parts of a text and the next text arrive in order`, async (t) => {
      const { chat, start, settled } = await makeWorld(t);
      const first = await start(crash);
      const parts = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(3990));
      const answers = [
        tell(first.client, 'keyed', parts.join('\n'), 'long'),
        tell(first.client, 'keyed', 'next'),
      ];
      await Promise.allSettled(answers);
      await first.exited;
      const second = await start();
      // Whether the next text was accepted before the kill is for its caller to find out.
      await tell(second.client, 'keyed', 'next');
      assert.ok((await settled()).every((line) => line.endsWith(' sent')));
      assert.deepEqual(chat.shown('c1'), [...parts, 'next']);
    });
  }
});

type Ask = (client: GatewayClient) => Promise<unknown>;

/** Each is asked for again after the kill, as its caller would. */
const ASKS: Readonly<Record<(typeof CHAT_STEPS)[number]['unit'], Ask>> = {
  'accept-direct': (client) => tell(client, 'keyed', 'one'),
  'accept-inbound': () => Promise.resolve(),
  'retry-delivery': (client) => onDesk(client, 'deliveries.retry'),
  'drop-delivery': (client) => onDesk(client, 'deliveries.drop'),
};
const ENDS: Readonly<Record<(typeof CHAT_STEPS)[number]['unit'], string[]>> = {
  'accept-direct': ['send:operator:one:0 sent'],
  'accept-inbound': ['reply:<id>:0 sent'],
  'retry-delivery': ['send:operator:stuck:0 sent'],
  'drop-delivery': ['send:operator:stuck:0 dropped'],
};

/** Asks for it as long as the delivery is failed. */
async function onDesk(client: GatewayClient, method: string): Promise<void> {
  const { deliveries } = await client.request<{ deliveries: Json[] }>('deliveries.list');
  for (const { deliveryId } of deliveries) await client.request(method, { deliveryId });
}

describe('a gateway with chats killed around a step', { concurrency: 2 }, () => {
  for (const { unit, ...left } of CHAT_STEPS) {
    for (const when of ['before', 'after'] as const) {
      it(`[RC2] just ${when} ${unit} leaves ${left[when]}; it ends as if nobody had`, async (t) => {
        const { chat, stateDir, start, settled } = await makeWorld(t);
        if (unit === 'retry-delivery' || unit === 'drop-delivery') {
          chat.fail('stuck', 'refuse for good');
          const before = await start();
          await tell(before.client, 'keyed', 'stuck');
          await before.kill();
        }
        if (unit === 'accept-inbound') {
          const message = {
            messageId: 'm1',
            chatType: 'group',
            chatId: 'c1',
            senderId: 'p1',
          } as const;
          chat.inbox.push({ channel: 'keyed', message: { ...message, text: 'SAY: one' } });
          // It takes the message at its start, so it never answers.
          await start(`${unit}:${when}:1`).catch(() => {});
        } else {
          const first = await start(`${unit}:${when}:1`);
          await ASKS[unit](first.client).catch(() => {});
          await first.exited;
        }
        const second = await start();
        await ASKS[unit](second.client);
        const story = await settled();
        assert.deepEqual(story, ENDS[unit]);
        assert.deepEqual(
          chat.shown('c1'),
          unit === 'drop-delivery' ? [] : [unit === 'retry-delivery' ? 'stuck' : 'one'],
        );
        assert.equal(countAudited(databaseOf(stateDir)), unit.endsWith('-delivery') ? 1 : 0);
      });
    }
  }
});

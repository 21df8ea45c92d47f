/** A whole gateway with a test chat behind the channels `keyed`, `readable` and `plain`. */
import type { TestContext } from 'node:test';
import type { InboundAnswer, InboundMessage, ReceiveMessage } from '../../src/channels/channel.ts';
import type { DeliveryRow } from '../../src/store/delivery-repository.ts';
import { must } from '../../src/util/assert.ts';
import { startTestChat, type TestChat } from './test-chat.ts';
import { type TestChannelOptions, testChatAdapters } from './test-chat-adapters.ts';
import { startWorld, type TestWorld, type WorldOptions } from './test-world.ts';

type Json = Record<string, unknown>;

export interface ChatWorld extends TestWorld {
  chat: TestChat;
  /** Sends a text to a chat, outside of any run; its own words are its key. */
  tell(channel: string, to: string, message: string, more?: Json): Promise<Json>;
  /** Runs a turn of a session whose reply goes to this chat. */
  reply(channel: string, to: string, message: string, sessionKey?: string): Promise<unknown>;
  /** A person writes in a chat. */
  write(channel: string, message: Partial<InboundMessage>): Promise<InboundAnswer>;
  /** The parts of the text under this key of `tell`, in order. */
  parts(key: string): Promise<DeliveryRow[]>;
  statesOf(key: string): Promise<string[]>;
}

/** Starts a world that ends with the test. */
export async function startChatWorld(
  t: TestContext,
  { channel = {}, ...options }: WorldOptions & { channel?: TestChannelOptions } = {},
): Promise<ChatWorld> {
  const chat = await startTestChat(t);
  const receivers = new Map<string, ReceiveMessage>();
  const channels = testChatAdapters(chat.url, channel).map((adapter) => ({
    ...adapter,
    start: (receive: ReceiveMessage) => {
      receivers.set(adapter.id, receive);
      return Promise.resolve();
    },
  }));
  const world = await startWorld(t, { ...options, channels });
  const { client, store } = world;
  const parts = (key: string): Promise<DeliveryRow[]> =>
    store.read((tx) => tx.deliveries.ofText(`send:operator:${key}`));
  let written = 0;
  return {
    ...world,
    chat,
    parts,
    statesOf: async (key) => (await parts(key)).map(({ state }) => state),
    tell: (name, to, message, more = {}) =>
      client.request('send', { channel: name, to, message, idempotencyKey: message, ...more }),
    reply: (name, to, message, sessionKey = 'agent:a:main') =>
      client.runAgent({
        sessionKey,
        message,
        channel: name,
        to,
        deliver: true,
        idempotencyKey: `${name} ${to} ${message}`,
      }),
    write: (name, message) =>
      must(
        receivers.get(name),
        name,
      )({
        messageId: `m${(written += 1)}`,
        chatType: 'direct',
        chatId: 'p1',
        senderId: 'p1',
        text: 'SAY: hi',
        ...message,
      }),
  };
}

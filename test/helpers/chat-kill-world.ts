/** A gateway process with a test chat, for tests that kill it while it has texts to hand over. */
import { setTimeout as delay } from 'node:timers/promises';
import type { TestContext } from 'node:test';
import { connectGateway, type GatewayClient } from '../../src/client/gateway-client.ts';
import { findLoose, readStory } from './crash-story.ts';
import { CRASH_CONFIG, makeStateDir, startGatewayProcess } from './gateway-process.ts';
import { databaseOf } from './open-gateway.ts';
import { startTestChat, type TestChat } from './test-chat.ts';
import { PATIENCE_MS } from './patience.ts';

export interface ChatLife {
  client: GatewayClient;
  exited: Promise<unknown>;
  kill(): Promise<unknown>;
}
export interface ChatKillWorld {
  chat: TestChat;
  stateDir: string;
  start(crash?: string): Promise<ChatLife>;
  /** State and reason of each delivery, once nothing is open. */
  settled(): Promise<string[]>;
}

/** Makes a state and a chat of its own. */
export async function makeChatKillWorld(t: TestContext): Promise<ChatKillWorld> {
  const chat = await startTestChat(t);
  const stateDir = makeStateDir(t, { config: CRASH_CONFIG });
  return {
    chat,
    stateDir,
    start: async (crash) => {
      const options = { stateDir, chat: chat.url, ...(crash === undefined ? {} : { crash }) };
      const gateway = startGatewayProcess(t, options);
      const client = await connectGateway({ ...(await gateway.ready), timeoutMs: PATIENCE_MS });
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

/** Sends a text to chat `c1` of the channel; its key is the text itself unless one is given. */
export const tell = (client: GatewayClient, channel: string, message: string, key = message) =>
  client.request('send', { channel, to: 'c1', message, idempotencyKey: key });

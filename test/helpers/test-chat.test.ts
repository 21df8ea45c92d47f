import { channelContract } from '../../src/channels/channel.suite.ts';
import { must } from '../../src/util/assert.ts';
import { startTestChat } from './test-chat.ts';
import { TEST_CHANNELS, testChatAdapters } from './test-chat-adapters.ts';

for (const name of TEST_CHANNELS) {
  channelContract(`the test chat, ${name}`, async (t) => {
    const chat = await startTestChat(t);
    const channel = testChatAdapters(chat.url).find(({ id }) => id === name);
    return {
      channel: must(channel, name),
      shown: chat.shown,
      failNext: (how) => chat.fail('', how),
    };
  });
}

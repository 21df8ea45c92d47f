/** A gateway with chats, killed as it accepts a text and between the texts of a chat. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { makeChatKillWorld, tell } from '../helpers/chat-kill-world.ts';

describe('a gateway killed between the texts of a chat', { concurrency: 2 }, () => {
  for (const crash of [
    'delivery-sending:after:2',
    'delivery-booked:before:2',
    'delivery-booked:after:2',
  ]) {
    it(`[DL7] ${crash}: the parts of a text and the next text arrive in order`, async (t) => {
      const { chat, start, settled } = await makeChatKillWorld(t);
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

describe('a gateway with chats killed as it accepts a text', { concurrency: 2 }, () => {
  for (const when of ['before', 'after'] as const) {
    it(`[RC2] just ${when} accept-direct: the caller asks again, and the text is shown once`, async (t) => {
      const { chat, start, settled } = await makeChatKillWorld(t);
      const first = await start(`accept-direct:${when}:1`);
      await tell(first.client, 'keyed', 'one').catch(() => {});
      await first.exited;
      const second = await start();
      await tell(second.client, 'keyed', 'one');
      assert.deepEqual(await settled(), ['send:operator:one:0 sent']);
      assert.deepEqual(chat.shown('c1'), ['one']);
    });

    it(`[RC2] just ${when} accept-inbound: the chat offers the message again, and it is answered once`, async (t) => {
      const { chat, start, settled } = await makeChatKillWorld(t);
      const from = { messageId: 'm1', chatType: 'group', chatId: 'c1', senderId: 'p1' } as const;
      chat.inbox.push({ channel: 'keyed', message: { ...from, text: 'SAY: one' } });
      // It takes the message at its start, so it may never answer.
      const first = await start(`accept-inbound:${when}:1`).catch(() => undefined);
      await first?.exited;
      await start();
      assert.deepEqual(await settled(), ['reply:<id>:0 sent']);
      assert.deepEqual(chat.shown('c1'), ['one']);
    });
  }
});

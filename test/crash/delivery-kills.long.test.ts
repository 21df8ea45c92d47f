/** A gateway with chats, killed in the middle of handing a text over. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { makeChatKillWorld, tell } from '../helpers/chat-kill-world.ts';
import { TEST_CHANNELS } from '../helpers/test-chat-adapters.ts';

describe('a gateway killed while it hands a text over', { concurrency: 2 }, () => {
  for (const channel of TEST_CHANNELS) {
    for (const isShown of [false, true]) {
      const where = isShown ? 'after the chat showed it' : 'before the chat showed it';
      it(`[DL5] ${where}: on ${channel} it is shown once at most, and known or said to be unknown`, async (t) => {
        const { chat, start, settled } = await makeChatKillWorld(t);
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
});

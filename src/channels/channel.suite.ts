/** What every channel must do. Each implementation registers this suite in a test file of its own. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { ChannelAdapter, OutgoingPart, SendOutcome } from './channel.ts';

/** A channel to test and a look at the chats behind it. */
export interface ChannelHarness {
  channel: ChannelAdapter;
  /** What stands in the chat of this address, oldest first; a key that people see once counts once. */
  shown(to: string): string[];
  /**
   * Makes the next hand-over go wrong; absent where the channel cannot: `refuse` = not taken now,
   * `refuse for good`, `lose` = neither shown nor answered, `lose answer` = shown and not answered,
   * `hang` = never answers.
   */
  failNext?(how: 'refuse' | 'refuse for good' | 'lose' | 'lose answer' | 'hang'): void;
}
export type OpenChannel = (t: TestContext) => Promise<ChannelHarness> | ChannelHarness;

const part = (idempotencyKey: string, given: Partial<OutgoingPart> = {}): OutgoingPart => ({
  idempotencyKey,
  sessionKey: 'agent:main:main',
  runId: null,
  to: 'chat 1',
  accountId: null,
  threadId: null,
  text: `text of ${idempotencyKey}`,
  ...given,
});

const send = (channel: ChannelAdapter, given: OutgoingPart): Promise<SendOutcome> =>
  channel.send(given, new AbortController().signal);

/** The outcome, `unclear` for a rejection: the two say the same. */
const tried = (channel: ChannelAdapter, given: OutgoingPart): Promise<SendOutcome> =>
  send(channel, given).catch((): SendOutcome => ({ status: 'unclear', reason: 'rejected' }));

/** Registers the contract for the channels that `open` makes. */
export function channelContract(name: string, open: OpenChannel): void {
  describe(`channel contract of ${name}`, () => {
    it('[CH1] shows what it is handed, in order, each text in its chat, and says so', async (t) => {
      const { channel, shown } = await open(t);
      for (const key of ['a', 'b', 'c']) {
        assert.equal((await send(channel, part(key))).status, 'sent');
      }
      assert.equal((await send(channel, part('d', { to: 'chat 2' }))).status, 'sent');
      assert.deepEqual(shown('chat 1'), ['text of a', 'text of b', 'text of c']);
      assert.deepEqual(shown('chat 2'), ['text of d']);
    });

    it('[CH1] takes a part of its longest length as it is', async (t) => {
      const { channel, shown } = await open(t);
      assert.ok(channel.maxPartLength >= 64);
      const text = `ä"'<&\n😀`.padEnd(channel.maxPartLength, 'x');
      assert.equal((await send(channel, part('long', { text }))).status, 'sent');
      assert.deepEqual(shown('chat 1'), [text]);
    });

    it('[CH2] shows a repeated key once when it says that it is idempotent, and answers `sent`', async (t) => {
      const { channel, shown } = await open(t);
      if (!channel.idempotent) return;
      const outcomes = [await send(channel, part('a')), await send(channel, part('a'))];
      assert.deepEqual(
        outcomes.map(({ status }) => status),
        ['sent', 'sent'],
      );
      assert.deepEqual(shown('chat 1'), ['text of a']);
    });

    it('[CH3] says `retry` or `failed` only of what it did not show', async (t) => {
      const { channel, shown, failNext } = await open(t);
      if (failNext === undefined) return;
      failNext('refuse');
      assert.equal((await tried(channel, part('a'))).status, 'retry');
      failNext('refuse for good');
      assert.equal((await tried(channel, part('b'))).status, 'failed');
      assert.deepEqual(shown('chat 1'), []);
    });

    it('[CH3] does not know of a lost answer what became of the text', async (t) => {
      const { channel, shown, failNext } = await open(t);
      if (failNext === undefined) return;
      failNext('lose');
      assert.equal((await tried(channel, part('a'))).status, 'unclear');
      failNext('lose answer');
      assert.equal((await tried(channel, part('b'))).status, 'unclear');
      assert.deepEqual(shown('chat 1'), ['text of b']);
      if (!channel.idempotent) return;
      assert.equal((await send(channel, part('b'))).status, 'sent');
      assert.deepEqual(shown('chat 1'), ['text of b']);
    });

    it('[CH4] ends a call that nobody waits for any more', async (t) => {
      const { channel, failNext } = await open(t);
      if (failNext === undefined) return;
      failNext('hang');
      const limit = new AbortController();
      const outcome = channel.send(part('a'), limit.signal).then(
        ({ status }) => status,
        () => 'unclear',
      );
      limit.abort();
      assert.equal(await outcome, 'unclear');
    });

    it('[CH5] reads back what is in the chat, where it can', async (t) => {
      const { channel, failNext } = await open(t);
      if (channel.readBack === undefined) return;
      const { signal } = new AbortController();
      await send(channel, part('a'));
      assert.equal(await channel.readBack(part('a'), signal), 'sent');
      assert.equal(await channel.readBack(part('b'), signal), 'not-sent');
      failNext?.('lose answer');
      await tried(channel, part('c'));
      if (failNext !== undefined) assert.equal(await channel.readBack(part('c'), signal), 'sent');
    });
  });
}

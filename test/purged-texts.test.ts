/** Texts that wait for the desk outlive the purge of their transcript, and are emptied as they come to an end. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { type ChatWorld, startChatWorld } from './helpers/chat-world.ts';

const GROUP = 'agent:a:telegram:group:g1';
const A = 'agent:a:main';
const DAY = 86_400_000;

/** A world in which the chat has refused the reply of this session for good. */
async function withStuckReply(t: TestContext, sessionKey: string): Promise<ChatWorld> {
  const maintenance = { mode: 'enforce', resetArchiveRetention: '1d' };
  const world = await startChatWorld(t, {
    clock: 'movable',
    config: { session: { maintenance } },
  });
  world.chat.fail('SECRET', 'refuse for good');
  await world.reply('plain', 'c1', 'SAY: SECRET', sessionKey);
  await world.quiet();
  return world;
}

async function stuckOf(world: ChatWorld, sessionKey: string) {
  const [row] = await world.store.read((tx) => tx.deliveries.ofSession(sessionKey, 1));
  assert.ok(row);
  return row;
}

/** How the transcript of a stuck part goes; each returns the key of its session. */
const PURGES = {
  'a session that is purged': async (world: ChatWorld) => {
    await world.client.request('sessions.delete', { key: GROUP, deleteTranscript: true });
    await world.quiet();
    assert.equal(await world.store.read((tx) => tx.sessions.get(GROUP)), undefined);
    return GROUP;
  },
  'a transcript that is purged': async (world: ChatWorld) => {
    await world.passTime(1);
    await world.client.request('sessions.reset', { key: A });
    await world.passTime(DAY + 3_600_000);
    await world.quiet();
    const page = { sessionKey: A, cursor: undefined, limit: 9 };
    assert.equal((await world.store.read((tx) => tx.windows.ofKey(page))).length, 1);
    return A;
  },
};

for (const [what, purge] of Object.entries(PURGES)) {
  for (const [method, state] of [
    ['drop', 'dropped'],
    ['retry', 'sent'],
  ] as const) {
    test(`[DL12] a stuck text of ${what} stays for the desk, and is emptied once it is ${state}`, async (t) => {
      const world = await withStuckReply(t, what === 'a session that is purged' ? GROUP : A);
      const key = await purge(world);
      const { deliveryId, ...stuck } = await stuckOf(world, key);
      assert.deepEqual([stuck.state, stuck.text], ['failed', 'SECRET']);
      await world.client.request(`deliveries.${method}`, { deliveryId });
      await world.quiet();
      const { state: ended, text } = await stuckOf(world, key);
      assert.deepEqual([ended, text], [state, '']);
      assert.deepEqual(world.chat.shown('c1'), state === 'sent' ? ['SECRET'] : []);
    });
  }
}

test('[DL12] while its transcript is there a text is kept: its session goes on, was reset or is deleted', async (t) => {
  for (const close of ['nothing', 'reset', 'delete'] as const) {
    const world = await withStuckReply(t, GROUP);
    if (close !== 'nothing') await world.client.request(`sessions.${close}`, { key: GROUP });
    const { deliveryId } = await stuckOf(world, GROUP);
    await world.client.request('deliveries.retry', { deliveryId });
    await world.quiet();
    const { state, text } = await stuckOf(world, GROUP);
    assert.deepEqual([state, text], ['sent', 'SECRET'], close);
  }
});

/** `sessions.delete` with `deleteTranscript` of a session that has open work: it is purged, but not before that has ended. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { call, startWorld, type TestWorld } from './helpers/test-world.ts';

type Json = Record<string, unknown>;
const A = 'agent:a:main';

const purge = (world: TestWorld, key: string) =>
  world.client.request('sessions.delete', { key, deleteTranscript: true });

test('[AR5, AR12, SO6] a child that is deleted with its transcript while it runs is announced first', async (t) => {
  const world = await startWorld(t, { clock: 'movable' });
  const held = world.model.hold('You are a sub-agent');
  await world.say(A, `${call('sessions_spawn', { task: 'SAY: never' })}\nSAY: spawned`);
  await held.arrived();
  const [answer] = await world.toolAnswers(A);
  const childKey = String(answer?.['childSessionKey']);
  await purge(world, childKey);
  const ended = await world.client.request<Json>('agent.wait', { runId: answer?.['runId'] });
  assert.equal(ended['outcome'], 'aborted');
  held.release();
  await world.quiet();
  const { pending } = await world.client.request<{ pending: Json[] }>('chat.history', {
    sessionKey: A,
  });
  assert.deepEqual(
    pending.map(({ message }) => String(message).slice(0, 13)),
    ['Status: error'],
  );
  await world.passTime(3_600_000);
  await world.quiet();
  assert.equal(await world.store.read((tx) => tx.sessions.get(childKey)), undefined);
});

/** A store that cannot be written to for a while, as with a full disk. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { GatewayError } from '../../src/protocol/errors.ts';
import { readStory } from '../helpers/crash-story.ts';
import { CRASH_CONFIG, makeStateDir } from '../helpers/gateway-process.ts';
import { databaseOf, openGateway } from '../helpers/open-gateway.ts';

it('[RC18] an outcome that the store refuses for a while is written when it can be, and the lane goes on', async (t) => {
  const stateDir = makeStateDir(t, { config: CRASH_CONFIG });
  let refusals = 1;
  const { client, settled } = await openGateway(t, stateDir, (unit) => {
    if (unit !== 'close-run' || refusals === 0) return;
    refusals -= 1;
    throw new GatewayError('unavailable', 'the disk is full');
  });
  const send = (name: string): Promise<{ runId: string }> =>
    client.request('chat.send', {
      sessionKey: 'main',
      message: `SAY: ${name}`,
      idempotencyKey: name,
    });
  const { runId } = await send('one');
  await send('two');
  const { status, reply } = await client.request('agent.wait', { runId, timeoutMs: 20_000 });
  assert.deepEqual({ status, reply }, { status: 'ok', reply: 'one' });
  await settled();
  assert.equal(refusals, 0);
  assert.deepEqual(readStory(databaseOf(stateDir)).transcripts['agent:main:main'], [
    'message user: SAY: one',
    'message assistant: one',
    'message user: SAY: two',
    'message assistant: two',
  ]);
});

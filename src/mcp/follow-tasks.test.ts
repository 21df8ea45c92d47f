import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CallRead, CallView } from '../protocol/answers/call-answers.ts';
import { createTaskFollower } from './follow-tasks.ts';

const call = (callId: string, state: CallView['state']): CallRead => ({
  callId,
  tool: 'sessions_wait',
  state,
  runIds: [],
  createdAt: 1,
  updatedAt: 1,
  deadlineAt: 2,
  expiresAt: 3,
});

/** A follower, what it has told, and the reads that it waits for. */
function follower() {
  const reads: PromiseWithResolvers<CallRead>[] = [];
  const told: string[] = [];
  const follow = createTaskFollower(
    {
      readCall: () => {
        const read = Promise.withResolvers<CallRead>();
        reads.push(read);
        return read.promise;
      },
    },
    async ({ callId, state }) => void told.push(`${callId} ${state}`),
  );
  return { follow: (callId: string) => follow({ sessionKey: 'k', callId }), reads, told };
}
const settled = () => new Promise((resolve) => setImmediate(resolve));

test('[TK17] a task is followed once, until it is over, and then told', async () => {
  const { follow, reads, told } = follower();
  follow('a');
  follow('a');
  assert.equal(reads.length, 1);
  reads[0]?.resolve(call('a', 'working'));
  await settled();
  assert.deepEqual([reads.length, told], [2, []]);
  reads[1]?.resolve(call('a', 'completed'));
  await settled();
  assert.deepEqual(told, ['a completed']);
});

test('[TK17] a gateway that is gone ends the following, and nothing is told', async () => {
  const { follow, reads, told } = follower();
  follow('a');
  reads[0]?.reject(new Error('gone'));
  await settled();
  assert.deepEqual([reads.length, told], [1, []]);
});

test('[TK17] so many are followed at a time and no more', async () => {
  const { follow, reads } = follower();
  for (let n = 0; n < 150; n += 1) follow(`${n}`);
  assert.equal(reads.length, 100);
  reads[0]?.resolve(call('0', 'completed'));
  await settled();
  follow('150');
  assert.equal(reads.length, 101);
});

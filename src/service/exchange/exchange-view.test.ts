import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSessionWorld } from '../../../test/helpers/session-world.ts';
import { toView } from './exchange-view.ts';

test('[EX29] a text that is cut ends in a whole character', async (t) => {
  const { context } = createSessionWorld(t);
  const view = await context.store.read((tx) =>
    toView(tx, {
      exchangeId: 'x',
      requesterKey: 'agent:main:main',
      targetKey: 'agent:other:main',
      requesterRunId: 'r',
      rootRunId: 'r',
      hops: 1,
      state: 'done',
      maxTurns: 0,
      turns: 0,
      requestText: `${'x'.repeat(3999)}😀 and more`,
      firstReply: null,
      latestReply: null,
      endReason: null,
      endDetail: null,
      noAnnounce: null,
      createdAt: 1,
      endedAt: 2,
    }),
  );
  assert.deepEqual([view.request.text.isWellFormed(), view.request.textCut], [true, true]);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSessionWorld, WORLD_START } from '../../../test/helpers/session-world.ts';
import { delivery } from '../../store/contract/samples.suite.ts';
import type { WriteTx } from '../../store/store.ts';
import { forgetPurged } from './forget-purged.ts';

const KEY = 'agent:main:telegram:group:g1';
const SECOND = 1000;

type Row = Parameters<typeof delivery>[1];
const CASES: [what: string, row: Row, close: (tx: WriteTx) => Promise<void>, kept: boolean][] = [
  ['its transcript is there', {}, async () => {}, true],
  ['its transcript is gone', {}, (tx) => tx.purge.window('second'), false],
  ['an older one is gone', {}, (tx) => tx.purge.window('first'), true],
  ['it waits at the desk', { state: 'failed' }, (tx) => tx.purge.window('second'), true],
  ['it is tried again', { state: 'queued' }, (tx) => tx.purge.window('second'), true],
  ['it never went out', { state: 'suppressed' }, (tx) => tx.purge.window('second'), false],
  ['no session is known', { sessionKey: '' }, (tx) => tx.purge.window('second'), true],
  [
    'the session was deleted before, and a transcript is left',
    { createdAt: WORLD_START + 9 * SECOND },
    (tx) => tx.windows.markDeleted(KEY, tx.now),
    true,
  ],
];
for (const [what, row, close, kept] of CASES) {
  test(`[DL12] ${what}: a text is ${kept ? 'kept' : 'emptied'}`, async (t) => {
    const { context, time, add } = createSessionWorld(t);
    await add({ key: KEY, sessionId: 'first', createdAt: WORLD_START });
    for (const sessionId of ['second', 'third']) {
      time.now += 2 * SECOND;
      await context.store.write('reset', (tx) => tx.sessions.update(KEY, { sessionId }));
    }
    const createdAt = WORLD_START + 3 * SECOND;
    const part = delivery('d', { sessionKey: KEY, state: 'sent', createdAt, ...row });
    await context.store.write('settle', async (tx) => {
      await tx.deliveries.insert(part);
      await close(tx);
      await forgetPurged(tx, part);
    });
    const left = await context.store.read((tx) => tx.deliveries.get('d'));
    assert.deepEqual(left, kept ? part : { ...part, text: '' });
  });
}

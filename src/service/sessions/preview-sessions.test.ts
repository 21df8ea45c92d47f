import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  assistantText,
  createSessionWorld,
  toolResultText,
  userText,
} from '../../../test/helpers/session-world.ts';
import { watchReads } from '../../../test/helpers/watched-reads.ts';
import { previewSessions } from './preview-sessions.ts';

const MAIN = 'agent:main:main';
const GROUP = 'agent:main:discord:group:g1';
const OTHER = 'agent:main:discord:group:g2';
const MIB = 1_048_576;

test('[GW33] long messages of one session leave the others their part, and what a preview reads is bounded', async (t) => {
  const world = createSessionWorld(t);
  await world.add({ key: MAIN }, { key: GROUP }, { key: OTHER });
  const long = Array.from({ length: 12 }, () => userText('x'.repeat(MIB)));
  await world.append(MAIN, long);
  await world.append(OTHER, long);
  await world.append(
    GROUP,
    Array.from({ length: 30 }, (_, at) => assistantText(`${at}`)),
  );
  const { store, tails } = watchReads(world.context.store);
  const { previews } = await previewSessions(
    { ...world.context, store },
    { keys: [MAIN, OTHER, GROUP], limit: 20 },
  );
  const [main, other, group] = previews;
  for (const each of [main, other]) assert.ok((each?.items.length ?? 0) >= 1);
  assert.equal(group?.items.length, 20);
  assert.equal(group.items.at(-1)?.text, '29');
  const read = tails.reduce((sum, bytes) => sum + bytes, 0);
  assert.ok(read > MIB && read < 5 * MIB, `${read} bytes`);
});

test('[GW33] results of tools are left out before the limit counts, and limits are clamped', async (t) => {
  const world = createSessionWorld(t);
  await world.add({ key: MAIN });
  const talk = Array.from({ length: 60 }, (_, at) => [userText(`${at}`), toolResultText('r')]);
  await world.append(MAIN, talk.flat());
  const preview = async (limit?: number) => {
    const asked = { keys: [MAIN], ...(limit === undefined ? {} : { limit }) };
    const { previews } = await previewSessions(world.context, asked);
    return previews[0]?.items.map(({ text }) => text) ?? [];
  };
  assert.deepEqual(await preview(2), ['58', '59']);
  assert.equal((await preview()).length, 12);
  assert.equal((await preview(1000)).length, 50);
});

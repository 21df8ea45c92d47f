/** Lists while many children of one session are at work. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { call, startWorld, type TestWorld } from './helpers/test-world.ts';

const PARENT = 'agent:a:main';
const CHILDREN = 15;
/** Writers of each child: together more than a group holds. */
const WRITERS = 10;
const LISTS = 20;
/** So many units share a commit at most (`sqlite/write-queue.ts`). */
const GROUP = 64;
const OF_CHILDREN = 'You are a sub-agent';

interface Row {
  key: string;
  state: string;
  spawnedBy?: string;
}
const list = async (world: TestWorld): Promise<Row[]> => {
  const { sessions } = await world.tool('sessions_list', { limit: 200 });
  return sessions as Row[];
};

test('[SL15, BR-089] a list answers while all children are in flight, and no turn of the event loop has more than one group of writes', async (t) => {
  let turn = 0;
  const unitsOf = new Map<number, number>();
  const subagents = { maxChildrenPerAgent: CHILDREN, maxConcurrent: CHILDREN };
  const world = await startWorld(t, {
    config: { agents: { defaults: { subagents } } },
    wrapStore: (store) => ({
      read: (fn) => store.read(fn),
      onSignal: (listener) => store.onSignal(listener),
      close: () => store.close(),
      write: (unit, fn) =>
        store.write(unit, (tx) => {
          unitsOf.set(turn, (unitsOf.get(turn) ?? 0) + 1);
          return fn(tx);
        }),
    }),
  });
  const held = world.model.hold(OF_CHILDREN);
  const spawns = Array.from({ length: CHILDREN }, (_, at) =>
    call('sessions_spawn', { task: `SAY: ${at}` }),
  );
  await world.say(PARENT, [...spawns, 'SAY: spawned'].join('\n'));
  await held.arrived(CHILDREN);
  const children = (await list(world)).filter(({ spawnedBy }) => spawnedBy !== undefined);
  assert.deepEqual(
    children.map(({ state }) => state),
    Array.from({ length: CHILDREN }, () => 'running'),
  );

  let isAsking = true;
  let isCounting = true;
  const countTurns = (): void => {
    turn += 1;
    if (isCounting) setImmediate(countTurns);
  };
  unitsOf.clear();
  countTurns();
  let written = 0;
  const writers = children.flatMap(({ key }) =>
    Array.from({ length: WRITERS }, async () => {
      while (isAsking) {
        await world.store.write('step', (tx) => tx.sessions.update(key, { updatedAt: tx.now }));
        written += 1;
      }
    }),
  );
  for (let asked = 0; asked < LISTS; asked += 1) {
    const rows = await list(world);
    assert.equal(rows.filter(({ state }) => state === 'running').length, CHILDREN);
  }
  isAsking = false;
  await Promise.all(writers);
  isCounting = false;
  const most = Math.max(...unitsOf.values());
  assert.ok(most > 1 && most <= GROUP, `${most} units in one turn`);
  assert.ok(written > LISTS, `${written} writes`);
  held.release();
  await world.quiet();
});

/** Sessions that are archived or deleted while more notes wait there than one step appends. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { textOf } from '../src/protocol/message.ts';
import { acceptNote } from '../src/service/runs/accept-run.ts';
import type { Store } from '../src/store/store.ts';
import { call, startWorld, type TestWorld } from './helpers/test-world.ts';

const A = 'agent:a:main';
const GROUP = 'agent:a:telegram:group:g1';
const NOTES = 230;
/** Most that one step appends. */
const PAGE = 100;
const NAMES = Array.from({ length: NOTES }, (_, at) => `note ${at}`);

/** A world and how many notes each unit of that name has left. */
async function startCounting(t: TestContext, { unit, key }: { unit: string; key: () => string }) {
  const left: number[] = [];
  const counting = (store: Store): Store => ({
    read: (fn) => store.read(fn),
    onSignal: (listener) => store.onSignal(listener),
    close: () => store.close(),
    write: async (name, work) => {
      const result = await store.write(name, work);
      if (name === unit) left.push(await store.read((tx) => waiting(tx, key())));
      return result;
    },
  });
  const config = { agents: { defaults: { subagents: { archiveAfterMinutes: 1 } } } };
  const world = await startWorld(t, { clock: 'movable', config, wrapStore: counting });
  return { world, left };
}

type Reads = Parameters<Parameters<Store['read']>[0]>[0];
const waiting = async (tx: Reads, key: string): Promise<number> =>
  (await tx.inputs.pending(key, 1000)).length;

async function addNotes({ store }: TestWorld, sessionKey: string): Promise<void> {
  await store.write('add notes', async (tx) => {
    for (const text of NAMES) {
      const inputId = randomUUID();
      await acceptNote(tx, { inputId, sessionKey, kind: 'note', text, rootRunId: inputId });
    }
  });
}

async function notesIn(world: TestWorld, key: string): Promise<string[]> {
  return (await world.history(key)).map(textOf).filter((text) => text.startsWith('note '));
}

test('[AR6, AR15] a session with many notes is archived after all of them, a page a step', async (t) => {
  let childKey = '';
  const { world, left } = await startCounting(t, { unit: 'archive-session', key: () => childKey });
  await world.say(A, `${call('sessions_spawn', { task: 'SAY: done' })}\nSAY: started`);
  await world.quiet();
  childKey = String((await world.toolAnswers(A)).at(-1)?.['childSessionKey']);
  await addNotes(world, childKey);
  await world.passTime(60_000);
  await world.quiet();
  assert.deepEqual(left, [NOTES - PAGE, NOTES - 2 * PAGE, 0]);
  assert.deepEqual(await notesIn(world, childKey), NAMES);
  const session = await world.store.read((tx) => tx.sessions.get(childKey));
  assert.notEqual(session?.archivedAt, null);
});

test('[AR6, AR10] a session with many notes is deleted after all of them, a page a step', async (t) => {
  const { world, left } = await startCounting(t, { unit: 'delete-session', key: () => GROUP });
  await world.say(GROUP, 'SAY: hello');
  await addNotes(world, GROUP);
  const answer = await world.client.request('sessions.delete', { key: GROUP });
  assert.equal(answer['deleted'], true);
  assert.deepEqual(left, [NOTES - PAGE, NOTES - 2 * PAGE, 0]);
  assert.deepEqual(await notesIn(world, GROUP), NAMES);
  const { lines } = await world.client.request<{ lines: unknown[] }>('audit.list', {});
  assert.equal(lines.length, 1);
});

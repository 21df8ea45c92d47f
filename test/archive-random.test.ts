/** Random lives of a few sessions: whatever is sent, reset, archived, deleted and purged, nothing is lost on the way. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { textOf } from '../src/protocol/message.ts';
import type { SessionRow } from '../src/store/session-repository.ts';
import { call, keysOf, startWorld, type TestWorld } from './helpers/test-world.ts';

type Json = Record<string, unknown>;
const A = 'agent:a:main';
const MINUTE = 60_000;
const ARCHIVE_MINUTES = 10;
const PRUNE_MINUTES = 60;

type Step =
  | { do: 'message' | 'note' | 'reset' | 'delete' | 'purge'; at: number }
  | { do: 'spawn'; cleanup: 'keep' | 'delete' }
  | { do: 'pass'; minutes: number }
  | { do: 'rest' };

const at = fc.nat(5);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('message' as const), at }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('note' as const), at }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('reset' as const), at }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), at }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('purge' as const), at }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('spawn' as const),
      cleanup: fc.constantFrom('keep' as const, 'delete' as const),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('pass' as const), minutes: fc.constantFrom(1, 9, 70) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('rest' as const) }) },
);

/** What a life has left behind. */
interface Life {
  /** keys that steps name, in the order they came up */
  keys: string[];
  /** text and runId of what was accepted, and when and where */
  accepted: { text: string; runId: string; key: string; isNote: boolean }[];
  /** sessionIds that a reset gave up, with the time they ended */
  ended: string[];
}

test('[AR16] whatever is sent, reset, archived, deleted and purged, no message is lost and nothing shows that should not', async (t) => {
  const world = await startWorld(t, {
    clock: 'movable',
    config: {
      agents: { defaults: { subagents: { archiveAfterMinutes: ARCHIVE_MINUTES } } },
      session: {
        maintenance: { mode: 'enforce', pruneAfter: `${PRUNE_MINUTES}m` },
        agentToAgent: { maxPingPongTurns: 0 },
      },
      messages: { queue: { mode: 'followup', cap: 200 } },
    },
  });
  let lives = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 16 }), async (steps) => {
      lives += 1;
      const group = `agent:a:telegram:group:g${lives}`;
      const life: Life = { keys: [group, 'agent:b:main'], accepted: [], ended: [] };
      for (const [index, given] of steps.entries()) {
        await play(world, life, { given, text: `m${lives}.${index}.` });
        await checkSessions(world);
      }
      await world.quiet();
      await checkSessions(world);
      await checkMessages(world, life);
    }),
    { numRuns: 12 },
  );
});

async function play(
  world: TestWorld,
  life: Life,
  { given, text }: { given: Step; text: string },
): Promise<void> {
  if (given.do === 'rest') return world.quiet();
  if (given.do === 'pass') return world.passTime(given.minutes * MINUTE);
  if (given.do === 'spawn') return spawn(world, life, given.cleanup);
  const key = life.keys[given.at % life.keys.length] ?? A;
  const { client } = world;
  if (given.do === 'note') {
    const args = { sessionKey: key, message: text, mode: 'note' };
    const answer = await world.tool('sessions_send', args, A);
    if (answer['status'] !== 'accepted') return;
    life.accepted.push({ text, runId: String(answer['runId']), key, isNote: true });
  } else if (given.do === 'message') {
    const message = `${text}\nSAY: done`;
    const params = { sessionKey: key, message, idempotencyKey: text };
    const answer = await client.request('chat.send', params).catch(refused);
    if (answer === undefined) return;
    life.accepted.push({ text: message, runId: String(answer['runId']), key, isNote: false });
  } else if (given.do === 'reset') {
    const answer = await client.request('sessions.reset', { key }).catch(refused);
    if (typeof answer?.['previousSessionId'] === 'string')
      life.ended.push(answer['previousSessionId']);
  } else {
    const deleteTranscript = given.do === 'purge';
    await client.request('sessions.delete', { key, deleteTranscript }).catch(refused);
  }
}

async function spawn(world: TestWorld, life: Life, cleanup: string): Promise<void> {
  await world.say(A, `${call('sessions_spawn', { task: 'SAY: child', cleanup })}\nSAY: started`);
  const key = (await world.toolAnswers(A)).at(-1)?.['childSessionKey'];
  if (typeof key === 'string') life.keys.push(key);
}

/** What is closed, not there or a main session is refused by name; anything else is a fault. */
function refused(error: unknown): undefined {
  assert.match(
    String(error),
    /archived|deleted|not found|main session|cannot be created|sub-?agent/i,
  );
  return undefined;
}

/** Of one moment: who is listed, and who has something left to do. */
async function checkSessions(world: TestWorld): Promise<void> {
  const { rows, busy } = await world.store.read(async (tx) => {
    const scope = { type: 'everything' } as const;
    const pages: SessionRow[] = [];
    for (const archived of [false, true]) {
      pages.push(...(await tx.sessions.scan({ scope, archived, cursor: undefined, limit: 500 })));
    }
    const working = [];
    for (const { key, archivedAt } of pages) {
      const lane = await tx.lanes.get(key);
      const isBusy = (lane?.pending ?? 0) > 0 || (await tx.exchanges.openOf(key)).length > 0;
      const notes = archivedAt === null ? [] : await tx.inputs.pending(key, 1);
      if (archivedAt !== null && (isBusy || notes.length > 0)) working.push(key);
    }
    return { rows: pages, busy: working };
  });
  assert.deepEqual(busy, [], 'archived with open work');
  assert.deepEqual(
    rows.filter(({ deletedAt }) => deletedAt !== null).map(({ key }) => key),
    [],
    'deleted and listed',
  );
  const live = keysOf(await world.client.request('sessions.list', { limit: 200 }));
  const archived = new Set(
    rows.filter(({ archivedAt }) => archivedAt !== null).map(({ key }) => key),
  );
  assert.deepEqual(
    live.filter((key) => archived.has(key)),
    [],
    'archived and listed as live',
  );
}

/** Every accepted message has an outcome, and stands once in a transcript until that is purged. */
async function checkMessages(world: TestWorld, life: Life): Promise<void> {
  for (const { text, runId, key, isNote } of life.accepted) {
    const { run, input, entries, windows } = await world.store.read(async (tx) => {
      const all = await tx.windows.ofKey({ sessionKey: key, cursor: undefined, limit: 100 });
      const found = [];
      for (const { sessionId } of all) {
        found.push(...(await tx.entries.page({ sessionId, afterSeq: 0, limit: 1000 })));
      }
      return {
        run: await tx.runs.get(runId),
        input: await tx.inputs.get(runId),
        entries: found,
        windows: all,
      };
    });
    const stands = entries.filter(({ json, role }) => {
      return role === 'user' && textOf(JSON.parse(json)) === text;
    }).length;
    if (isNote) {
      // purged, in a transcript, or still to join the next turn
      const expected =
        input === undefined || input.text === '' ? 0 : input.state === 'pending' ? 0 : 1;
      assert.equal(stands, expected, `note ${text}`);
      continue;
    }
    // chat.send has a key: its run stays when everything else is purged
    assert.ok(run !== undefined, `run of ${text}`);
    assert.ok(['ok', 'aborted', 'error', 'timeout'].includes(run.state), `${text}: ${run.state}`);
    const isPurged =
      run.purgedAt !== null || !windows.some(({ sessionId }) => sessionId === run.sessionId);
    const isDropped = input?.state === 'dropped';
    if (!isDropped && !isPurged) assert.equal(stands, 1, text);
    if (!isPurged && run.state === 'ok') assert.equal(run.reply, 'done');
  }
  for (const sessionId of life.ended) await checkWindow(world, sessionId);
}

/** An old transcript is read by the operator until it is being purged, and by nobody in part. */
async function checkWindow(world: TestWorld, sessionId: string): Promise<void> {
  const window = await world.store.read((tx) => tx.windows.get(sessionId));
  const isThere = window !== undefined && window.purgeAt === null;
  const page: Json | undefined = await world.client
    .request('chat.history', { sessionKey: sessionId, limit: 1000 })
    .catch(refused);
  assert.equal(page !== undefined, isThere, sessionId);
  if (page !== undefined) {
    const { messages } = page as { messages: unknown[] };
    assert.equal(messages.length, (window?.nextSeq ?? 1) - 1);
  }
  const asSession = await world.tool('sessions_history', { sessionKey: sessionId }, A);
  const isVisible = isThere && window.deletedAt === null;
  assert.equal('messages' in asSession, isVisible, JSON.stringify(asSession));
}

/** Random messages, modes and endings into one session: each message ends once, and stands once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Message } from '../src/protocol/message.ts';
import { textOf } from '../src/protocol/message.ts';
import { QUEUE_DROPS, QUEUE_MODES } from '../src/protocol/words.ts';
import type { RunRow } from '../src/store/run-repository.ts';
import { call, startWorld, usersOf, type TestWorld } from './helpers/test-world.ts';

type Json = Record<string, unknown>;

/** ends by its time limit */
const NEVER = 'SLEEP: 60000\nSAY: never';
const ENDINGS = [
  'SAY: done',
  'FAIL: 400 no',
  'EMPTY',
  `${call('agents_list', {})}\nSAY: listed`,
  `${call('agents_list', {})}\n${call('agents_list', {})}\nFAIL: 400 no`,
  'SLEEP: 20\nSAY: late',
  NEVER,
];

type Step =
  | { do: 'patch'; settings: Json }
  | { do: 'message'; ending: string; deliver: boolean }
  | { do: 'agent'; ending: string }
  | { do: 'send'; ending: string }
  /** until the first message without an outcome has one, so that the session is idle now and then */
  | { do: 'rest' };

const settings = fc.record({
  queueMode: fc.constantFrom(...QUEUE_MODES),
  queueDrop: fc.constantFrom(...QUEUE_DROPS),
  queueCap: fc.integer({ min: 1, max: 4 }),
  queueDebounceMs: fc.constantFrom(0, 15),
});
const ending = fc.constantFrom(...ENDINGS);
const LIMIT_MS = 150;
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ do: fc.constant('patch' as const), settings }) },
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constant('message' as const), ending, deliver: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('agent' as const), ending }) },
  {
    weight: 1,
    // a send takes no limit of its own
    arbitrary: fc.record({ do: fc.constant('send' as const), ending: fc.constant('SAY: sent') }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('rest' as const) }) },
);

interface Accepted {
  runId: string;
  text: string;
}

test('[QU17] no message is lost, doubled or left without an outcome, whatever comes in which mode', async (t) => {
  const world = await startWorld(t, {
    config: {
      session: { agentToAgent: { maxPingPongTurns: 0 } },
    },
  });
  let sessions = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 14 }), async (steps) => {
      const key = `agent:b:telegram:group:g${(sessions += 1)}`;
      const accepted = await play(world, key, steps);
      await world.quiet();
      await check(world, key, accepted);
    }),
    { numRuns: 15 },
  );
});

/** Plays the steps and returns what was accepted, in order. */
async function play(world: TestWorld, key: string, steps: readonly Step[]): Promise<Accepted[]> {
  const accepted: Accepted[] = [];
  // The session is there before its settings.
  await world.say(key, 'SAY: hello');
  for (const [at, given] of steps.entries()) {
    if (given.do === 'patch')
      await world.client.request('sessions.patch', { key, ...given.settings });
    if (given.do === 'rest') {
      for (const { runId } of accepted) {
        await world.client.request('agent.wait', { runId, timeoutMs: 10_000 });
      }
    }
    if (given.do === 'patch' || given.do === 'rest') continue;
    const text = `m${at}\n${given.ending}`;
    const runId = await accept(world, key, { ...given, text });
    if (runId !== undefined) accepted.push({ runId, text });
  }
  return accepted;
}

/** Undefined when the message was refused at once. */
async function accept(
  world: TestWorld,
  sessionKey: string,
  given: { do: string; text: string; deliver?: boolean },
): Promise<string | undefined> {
  const { text } = given;
  if (given.do === 'send') {
    const args = { sessionKey, message: text, timeoutSeconds: 0 };
    const { status, runId, error } = await world.tool('sessions_send', args);
    if (status !== 'accepted') assert.match(String(error), /messages\.queue\.cap/);
    return status === 'accepted' ? String(runId) : undefined;
  }
  const params = { sessionKey, message: text, idempotencyKey: `${sessionKey} ${text}` };
  if (given.do === 'agent') {
    const { promise, resolve } = Promise.withResolvers<string>();
    const limit = text.endsWith(NEVER) ? { timeout: LIMIT_MS / 1000 } : {};
    void world.client.runAgent(
      { ...params, ...limit },
      { onAccepted: ({ runId }) => resolve(runId) },
    );
    return promise;
  }
  try {
    const limit = text.endsWith(NEVER) ? { timeoutMs: LIMIT_MS } : {};
    const { deliver } = given;
    const sent = await world.client.request('chat.send', { ...params, ...limit, deliver });
    return String(sent['runId']);
  } catch (error) {
    assert.match(String(error), /messages\.queue\.cap/);
    return undefined;
  }
}

async function check(world: TestWorld, key: string, accepted: readonly Accepted[]): Promise<void> {
  const texts = usersOf(await world.history(key)).map((message: Message) => textOf(message));
  const { lane, pending, runs } = await world.store.read(async (tx) => ({
    lane: await tx.lanes.get(key),
    pending: await tx.inputs.pending(key, 9),
    runs: await Promise.all(accepted.map(({ runId }) => tx.runs.get(runId))),
  }));
  assert.deepEqual([lane?.state, lane?.pending, lane?.owner, pending], ['idle', 0, null, []]);
  for (const [at, { runId, text }] of accepted.entries()) {
    const run = runs[at];
    assert.ok(run !== undefined, `${text} has a run`);
    const answer = await world.client.request('agent.wait', { runId, timeoutMs: 0 });
    assert.deepEqual([answer['messageState'], answer['outcome']], ['done', run.state]);
    assert.ok(
      texts.filter((told) => told === text).length === (await timesOf(world, run)),
      `${text} stands as often as it should in ${JSON.stringify(texts)}`,
    );
    assertSameOutcome(run, runs);
  }
}

function assertSameOutcome(run: RunRow, runs: readonly (RunRow | undefined)[]): void {
  if (run.mergedInto === null) return;
  const turn = runs.find((other) => other?.runId === run.mergedInto);
  assert.deepEqual(
    [run.state, run.reply, run.error, run.endedAt],
    [turn?.state, turn?.reply, turn?.error, turn?.endedAt],
  );
}

/** Dropped: not at all, but for a turn that it had been steered into. Steered and kept for its own: in both. */
async function timesOf(world: TestWorld, run: RunRow): Promise<number> {
  const input = await world.store.read((tx) => tx.inputs.get(run.runId));
  if (input?.state === 'dropped') {
    assert.match(String(run.error), /messages\.queue\.cap/);
    return (await steeredElsewhere(world, run, input.text)) ? 1 : 0;
  }
  const own = await world.store.read((tx) => tx.entries.ofRun(run.sessionId ?? '', run.runId));
  const text = input?.text ?? '';
  const inOwn = own.filter(
    ({ role, json }) => role === 'user' && textOf(JSON.parse(json) as Message) === text,
  );
  assert.equal(inOwn.length, run.mergedInto === null ? 1 : 0, `${text} once in its own turn`);
  const wasSteered = run.mergedInto === null && (await steeredElsewhere(world, run, text));
  return wasSteered ? 2 : 1;
}

async function steeredElsewhere(world: TestWorld, run: RunRow, text: string): Promise<boolean> {
  const entries = await world.store.read(async (tx) => {
    const session = await tx.sessions.get(run.sessionKey);
    return tx.entries.context(session?.sessionId ?? '');
  });
  const others = entries.filter(
    ({ role, runId, json }) =>
      role === 'user' && runId !== run.runId && textOf(JSON.parse(json) as Message) === text,
  );
  assert.ok(others.length <= 1);
  if (others.length === 1) assert.equal(run.queueMode, 'followup', 'only steer-backlog does that');
  return others.length === 1;
}

/** No session learns whether a session that it may not see exists: not by words, and not by work. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test, type TestContext } from 'node:test';
import fc from 'fast-check';
import { defaultConfig } from '../src/protocol/options/config.ts';
import { acceptRun } from '../src/service/runs/accept-run.ts';
import { newSessionRow } from '../src/service/sessions/session-rows.ts';
import { reachOf, sessionTree, type TreeSession } from './helpers/random-tree.ts';
import { recordCalls } from './helpers/recorded-calls.ts';
import { startWorld, type TestWorld } from './helpers/test-world.ts';

type Json = Record<string, unknown>;

/** How each tool names a session, its run or its label; what is there, and what is like it and is not. */
interface Names {
  key: string;
  sessionId: string;
  label: string;
  runId: string;
}
const QUESTIONS: [tool: string, named: (names: Names) => Json][] = [
  ['sessions_list', ({ key }) => ({ spawnedBy: key })],
  ['sessions_list', ({ sessionId }) => ({ spawnedBy: sessionId })],
  ['sessions_history', ({ key }) => ({ sessionKey: key })],
  ['sessions_history', ({ sessionId }) => ({ sessionKey: sessionId })],
  ['sessions_search', ({ key }) => ({ query: 'x', sessionKey: key })],
  ['sessions_search', ({ sessionId }) => ({ query: 'x', sessionKey: sessionId })],
  ['sessions_send', ({ key }) => ({ message: 'm', sessionKey: key, timeoutSeconds: 0 })],
  ['sessions_send', ({ sessionId }) => ({ message: 'm', sessionKey: sessionId })],
  ['sessions_send', ({ label }) => ({ message: 'm', label })],
  ['sessions_stop', ({ key }) => ({ sessionKey: key })],
  ['sessions_stop', ({ sessionId }) => ({ sessionKey: sessionId })],
  ['sessions_stop', ({ runId }) => ({ runId })],
  ['sessions_wait', ({ key }) => ({ sessionKeys: [key] })],
  ['sessions_wait', ({ sessionId }) => ({ sessionKeys: [sessionId] })],
  ['sessions_wait', ({ runId }) => ({ runIds: [runId] })],
];

async function recordedWorld(t: TestContext, config: Json) {
  let calls: string[] = [];
  const world = await startWorld(t, {
    agents: false,
    config,
    wrapStore: (store) => {
      const recorded = recordCalls(store);
      calls = recorded.calls;
      return recorded.store;
    },
  });
  return { world, calls };
}

/** Adds a tree whose sessions have had a run each; deleted ones are like missing ones by another test. */
async function plant(world: TestWorld, tree: readonly TreeSession[]): Promise<void> {
  await world.store.write('plant', async (tx) => {
    for (const session of tree) {
      await tx.sessions.insert(newSessionRow(defaultConfig(), { now: tx.now, ...session }));
      const runId = runOf(session);
      await acceptRun(tx, {
        runId,
        sessionKey: session.key,
        kind: 'message',
        text: 'SAY: x',
        purpose: 'message',
        runClass: 'main',
        rootRunId: runId,
        hops: 0,
        timeoutMs: 0,
      });
    }
  });
  await world.quiet();
}

function runOf({ sessionId }: TreeSession): string {
  return `run-${sessionId}`;
}

/** Names of the same form, of which there is nothing. */
function ghostOf({ key, agentId, spawnedBy }: TreeSession): Names {
  const id = randomUUID();
  return {
    key: spawnedBy === null ? `agent:${agentId}:s-${id}` : key.replace(/[^:]+$/, id),
    sessionId: randomUUID(),
    label: `none-${id}`,
    runId: `run-${randomUUID()}`,
  };
}

async function ask(
  { world, calls }: { world: TestWorld; calls: string[] },
  question: { tool: string; args: Json; as: string; names: Names },
): Promise<{ told: string; work: string[] }> {
  const { tool, args, as, names } = question;
  calls.length = 0;
  let told = JSON.stringify(await world.tool(tool, args, as));
  const work = [...calls];
  // a text may repeat what it was asked
  for (const [what, name] of Object.entries(names)) {
    if (name !== '') told = told.replaceAll(name, `<${what}>`);
  }
  return { told, work };
}

/** Two sessions that do not see each other at any of these levels. */
const STRANGERS: TreeSession[] = ['a', 'c'].map((agentId) => ({
  key: `agent:${agentId}:s-stranger`,
  agentId,
  sessionId: randomUUID(),
  label: `stranger-${agentId}`,
  spawnedBy: null,
  archivedAt: null,
  deletedAt: null,
}));

const REACHES: [name: string, config: Json][] = [
  ['self', reachOf('self', { enabled: true })],
  ['tree', reachOf('tree', { enabled: true })],
  ['agent', reachOf('agent', { enabled: true })],
  ['all, agents closed', reachOf('all', { enabled: false })],
  ['all, some agents open', reachOf('all', { enabled: true, allow: ['a', 'b'] })],
];

for (const [name, config] of REACHES) {
  test(`[AC1, AC7, BR-060] visibility ${name}: a hidden session and a missing one are told alike and cost the same queries, for every tool and way to name one`, async (t) => {
    const recorded = await recordedWorld(t, config);
    const { world } = recorded;
    let asked = 0;
    await fc.assert(
      fc.asyncProperty(sessionTree, async (drawn) => {
        const tree = drawn.map((session) => ({ ...session, archivedAt: null, deletedAt: null }));
        await plant(world, tree);
        const [me] = tree;
        if (me === undefined) return;
        for (const target of tree) {
          const hidden = await world.client.request('policy.explain', {
            as: me.key,
            verb: 'read',
            to: target.key,
          });
          if (hidden['allowed'] === true) continue;
          const label = target.label ?? '';
          const there = {
            key: target.key,
            sessionId: target.sessionId,
            label,
            runId: runOf(target),
          };
          const ghost = ghostOf(target);
          for (const [tool, named] of QUESTIONS) {
            const isByLabel = 'label' in named(there);
            if (isByLabel && label === '') continue;
            const as = me.key;
            const one = await ask(recorded, { tool, args: named(there), as, names: there });
            const none = await ask(recorded, { tool, args: named(ghost), as, names: ghost });
            // the label may be that of a visible session too
            if (isByLabel && !one.told.includes('"status":"forbidden"')) continue;
            assert.deepEqual(one, none, `${tool} ${JSON.stringify(named(there))}`);
            asked += 1;
          }
        }
      }),
      // it may be that all that is drawn see each other
      { numRuns: 5, examples: [[STRANGERS]] },
    );
    assert.ok(asked > 0, 'something was hidden');
  });
}

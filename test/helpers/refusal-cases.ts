/** How each refusal of the catalogue comes about in a whole gateway. The type holds one for every rule that there is. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RefusalRule } from '../../src/core/refusals.ts';
import { defaultConfig } from '../../src/protocol/options/config.ts';
import { acceptNote, acceptRun } from '../../src/service/runs/accept-run.ts';
import type { ExplainPolicy } from '../../src/service/policy/policy-answers.ts';
import { newSessionRow } from '../../src/service/sessions/session-rows.ts';
import type { SessionRow } from '../../src/store/session-repository.ts';
import type { TestWorld } from './test-world.ts';

type Json = Record<string, unknown>;

const ID = '00000000-0000-4000-8000-00000000000';
export const A = 'agent:a:main';
export const B = 'agent:b:main';
export const CHILD = `agent:a:subagent:${ID}1`;
const ORPHAN = `agent:a:subagent:${ID}2`;
const GHOST = 'agent:ghost:x';
const OLD = `${ID}9`;
const agents = { list: [{ id: 'a', default: true }, { id: 'b' }] };
const SETTINGS = 'agents.defaults.subagents';

/** All that a session may do to another one, open but for what a case closes. */
export const OPEN: Json = {
  agents,
  tools: {
    allow: ['*', 'sessions_wait', 'sessions_stop', 'sessions_search'],
    sessions: { visibility: 'all' },
    agentToAgent: { enabled: true },
  },
};

export interface RefusalCase {
  /** default: `OPEN` */
  config?: Json;
  /** beyond the two main sessions and a child of the first */
  prepare?: (world: TestWorld, stateDir: string) => Promise<unknown>;
  query: ExplainPolicy;
  /** the first setting that is named, with its value */
  setting?: [name: string, value: unknown];
}

const at = (visibility: string, enabled = false): Json => ({
  agents,
  tools: { sessions: { visibility }, agentToAgent: { enabled } },
});
const subagents = (own: Json): Json => ({
  ...OPEN,
  agents: { list: [{ id: 'a', default: true, subagents: own }, { id: 'b' }] },
});
const subagentDefaults = (settings: Json): Json => ({
  ...OPEN,
  agents: { ...agents, defaults: { subagents: settings } },
});
const loops = (limits: Json): Json => ({
  ...OPEN,
  session: { agentToAgent: { maxHops: 2, maxEdgeRepeats: 1, maxMessagesPerRoot: 1, ...limits } },
});

/** Adds a session to the store of a world. */
export function addSession(
  world: TestWorld,
  row: { key: string; agentId: string } & Partial<SessionRow>,
): Promise<void> {
  return world.store.write('add-session', (tx) =>
    tx.sessions.insert(newSessionRow(defaultConfig(), { now: tx.now, ...row })),
  );
}

function change(world: TestWorld, key: string, row: Partial<SessionRow>): Promise<void> {
  return world.store.write('change', (tx) => tx.sessions.update(key, row));
}

/** A message that was routed and answered before. */
async function routed(
  world: TestWorld,
  run: { runId: string; sessionKey: string; from?: string; hops?: number },
): Promise<void> {
  const { runId, sessionKey, from, hops = 0 } = run;
  const provenance = {
    kind: 'inter_session',
    sourceSessionKey: from ?? '',
    sourceTool: 'sessions_send',
    rootRunId: 'r1',
    hops,
  } as const;
  await world.store.write('routed', (tx) =>
    acceptRun(tx, {
      runId,
      sessionKey,
      kind: from === undefined ? 'message' : 'inter_session',
      text: 'SAY: x',
      purpose: 'message',
      runClass: 'nested',
      rootRunId: 'r1',
      hops,
      timeoutMs: 0,
      ...(from === undefined ? {} : { provenance }),
    }),
  );
  await world.quiet();
}

async function sentOnce(world: TestWorld): Promise<void> {
  await routed(world, { runId: 'r1', sessionKey: A });
  await routed(world, { runId: 'r2', sessionKey: B, from: A, hops: 1 });
}

/** Keeps a session at work; the test that ends lets go of it. */
export async function keepBusy(world: TestWorld, sessionKey: string): Promise<void> {
  const held = world.model.hold('HOLD');
  const sent = { sessionKey, message: 'HOLD', idempotencyKey: 'hold' };
  await world.client.request('chat.send', sent);
  await held.arrived();
}

/** A case for each rule; one that nothing can reach yet says why. */
export const REFUSAL_CASES: Record<RefusalRule, RefusalCase | { unreachable: string }> = {
  caller_closed: {
    query: { as: CHILD, verb: 'read', to: A },
    prepare: (world) => change(world, CHILD, { archivedAt: 1 }),
  },
  caller_missing: {
    query: { as: 'agent:late:main', verb: 'spawn' },
    // an agent that came with a reload, and that nobody has written to
    prepare: async (world, stateDir) => {
      const path = join(stateDir, 'trunkline.json');
      const config = JSON.parse(readFileSync(path, 'utf8')) as typeof OPEN;
      const list = [...agents.list, { id: 'late' }];
      writeFileSync(path, JSON.stringify({ ...config, agents: { list } }));
      await world.client.request('config.reload');
    },
  },
  tool_closed: {
    config: { ...OPEN, tools: { deny: ['sessions_send'] } },
    query: { verb: 'send', to: B },
    setting: ['tools.deny', ['sessions_send']],
  },
  malformed: { query: { verb: 'read', to: 'group:G1' } },
  not_found: { query: { verb: 'read', to: 'agent:a:missing' } },
  ambiguous_label: {
    query: { verb: 'send', label: 'twice' },
    prepare: async (world) => {
      await addSession(world, { key: 'agent:a:x', agentId: 'a', label: 'twice' });
      await addSession(world, { key: 'agent:a:y', agentId: 'a', label: 'twice' });
    },
  },
  deleted: {
    query: { verb: 'send', to: CHILD },
    prepare: (world) => change(world, CHILD, { deletedAt: 1 }),
  },
  archived: {
    query: { verb: 'send', to: CHILD },
    prepare: (world) => change(world, CHILD, { archivedAt: 1 }),
  },
  old_transcript: {
    query: { verb: 'send', to: OLD },
    prepare: async (world) => {
      await addSession(world, { key: 'agent:a:reset', agentId: 'a', sessionId: OLD });
      await change(world, 'agent:a:reset', { sessionId: `${ID}8` });
    },
  },
  reserved: {
    query: { verb: 'read', to: OLD },
    prepare: (world) => addSession(world, { key: 'unknown', agentId: 'a', sessionId: OLD }),
  },
  visibility_self: {
    config: at('self'),
    query: { verb: 'read', to: CHILD },
    setting: ['tools.sessions.visibility', 'self'],
  },
  visibility_tree: {
    config: at('tree', true),
    query: { verb: 'list', to: B },
    setting: ['tools.sessions.visibility', 'tree'],
  },
  visibility_agent: {
    config: at('agent', true),
    query: { verb: 'send', agentId: 'b' },
    setting: ['tools.sessions.visibility', 'agent'],
  },
  agent_to_agent_closed: {
    config: at('all'),
    query: { verb: 'read', to: B },
    setting: ['tools.agentToAgent', { enabled: false }],
  },
  self_send: { query: { verb: 'send', to: 'current' } },
  self_stop: { query: { verb: 'stop', to: 'main' } },
  send_policy: {
    config: {
      ...OPEN,
      session: { sendPolicy: { rules: [{ match: { keyPrefix: 'main' }, action: 'deny' }] } },
    },
    query: { verb: 'send', to: B },
    setting: ['session.sendPolicy.rules[0]', { match: { keyPrefix: 'main' }, action: 'deny' }],
  },
  loop_hops: {
    config: loops({}),
    query: { verb: 'send', to: B, inRun: 'r1' },
    prepare: (world) => routed(world, { runId: 'r1', sessionKey: A, hops: 2 }),
    setting: ['session.agentToAgent.maxHops', 2],
  },
  loop_edge: {
    config: loops({}),
    query: { verb: 'send', to: B, inRun: 'r1' },
    prepare: sentOnce,
    setting: ['session.agentToAgent.maxEdgeRepeats', 1],
  },
  loop_messages: {
    config: loops({ maxEdgeRepeats: 9 }),
    query: { verb: 'send', to: B, inRun: 'r1' },
    prepare: sentOnce,
    setting: ['session.agentToAgent.maxMessagesPerRoot', 1],
  },
  queue_cap: {
    config: { ...OPEN, messages: { queue: { cap: 1 } } },
    query: { verb: 'send', to: B },
    prepare: async (world) => {
      await keepBusy(world, B);
      await world.tool('sessions_send', { sessionKey: B, message: 'm', timeoutSeconds: 0 });
    },
    setting: ['messages.queue.cap', 1],
  },
  wait_cycle: {
    query: { verb: 'send', to: B, inRun: 'r1' },
    prepare: async (world) => {
      await routed(world, { runId: 'r1', sessionKey: A });
      await routed(world, { runId: 'r2', sessionKey: B });
      await world.store.write('wait', (tx) =>
        tx.waits.insert({
          waitId: 'w1',
          waiterRunId: 'r2',
          waiterKey: B,
          targetRunId: 'r1',
          targetKey: A,
          deadlineAt: tx.now + 1000,
          state: 'open',
          interruptedBy: null,
          createdAt: tx.now,
          endedAt: null,
        }),
      );
    },
  },
  no_run: { query: { verb: 'wait', to: B } },
  note: {
    query: { verb: 'wait', runId: 'n1' },
    prepare: (world) =>
      world.store.write('note', (tx) =>
        acceptNote(tx, { inputId: 'n1', kind: 'note', sessionKey: B, text: 'n', rootRunId: 'n1' }),
      ),
  },
  no_creation: { query: { verb: 'message', to: `agent:a:subagent:${ID}7` } },
  no_agent: {
    query: { verb: 'message', to: GHOST },
    prepare: (world) => addSession(world, { key: GHOST, agentId: 'ghost' }),
  },
  no_runtime: {
    query: { verb: 'exchange', to: GHOST, inRun: 'r1' },
    prepare: async (world) => {
      await routed(world, { runId: 'r1', sessionKey: A });
      await addSession(world, { key: GHOST, agentId: 'ghost' });
    },
  },
  outside_run: { query: { verb: 'exchange', to: B } },
  depth: {
    config: { ...OPEN, tools: { subagents: { tools: { allow: ['sessions_spawn'] } } } },
    query: { as: ORPHAN, verb: 'spawn' },
    // a sub-agent that was imported without its depth; else the tool is closed before
    prepare: (world) => addSession(world, { key: ORPHAN, agentId: 'a' }),
    setting: [`${SETTINGS}.maxSpawnDepth`, 1],
  },
  loop: {
    config: loops({}),
    query: { verb: 'spawn', inRun: 'r1' },
    prepare: (world) => routed(world, { runId: 'r1', sessionKey: A, hops: 2 }),
    setting: ['session.agentToAgent.maxHops', 2],
  },
  max_children: {
    config: subagentDefaults({ maxChildrenPerAgent: 1 }),
    query: { verb: 'spawn' },
    prepare: async (world) => {
      const held = world.model.hold('HOLD');
      await world.tool('sessions_spawn', { task: 'HOLD' });
      await held.arrived();
    },
    setting: [`${SETTINGS}.maxChildrenPerAgent`, 1],
  },
  max_children_per_session: {
    config: subagentDefaults({ maxChildrenPerSession: 1 }),
    query: { verb: 'spawn' },
    prepare: async (world) => {
      await world.tool('sessions_spawn', { task: 'SAY: first' });
      await world.quiet();
    },
    setting: [`${SETTINGS}.maxChildrenPerSession`, 1],
  },
  require_agent_id: {
    config: subagents({ requireAgentId: true }),
    query: { verb: 'spawn' },
    setting: ['agents.list[].subagents.requireAgentId', true],
  },
  allow_agents: {
    config: subagents({ allowAgents: ['c'] }),
    query: { verb: 'spawn', agentId: 'b' },
    setting: ['agents.list[].subagents.allowAgents', ['c']],
  },
  sandbox_inheritance: { unreachable: 'no session is in a sandbox yet' },
  sandbox_required: { query: { verb: 'spawn', args: { sandbox: 'require' } } },
  mode_needs_thread: { query: { verb: 'spawn', args: { mode: 'session' } } },
  no_threads: { query: { verb: 'spawn', args: { thread: true } } },
  model: { query: { verb: 'spawn', args: { model: 'nobody/nothing' } } },
  budget_wider: {
    config: {
      ...OPEN,
      agents: { list: [{ id: 'a', default: true, budget: { tokens: 9 } }, { id: 'b' }] },
    },
    query: { verb: 'spawn', args: { budget: { tokens: 10 } } },
    setting: ['agents.list[].budget', { tokens: 9 }],
  },
  budget_unpriced: { query: { verb: 'spawn', args: { budget: { usd: 1 } } } },
  attachments_disabled: {
    config: { ...OPEN, tools: { sessions_spawn: { attachments: { enabled: false } } } },
    query: { verb: 'spawn', args: { attachments: [{ name: 'x', content: 'y' }] } },
    setting: ['tools.sessions_spawn.attachments.enabled', false],
  },
  attachments_invalid: {
    query: { verb: 'spawn', args: { attachments: [{ name: '../x', content: 'y' }] } },
  },
};

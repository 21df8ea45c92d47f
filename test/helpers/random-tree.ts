/** Random sessions of three agents, some of which spawned others, and random settings of who sees whom. */
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { SESSION_TOOL_NAMES } from '../../src/protocol/tools/session-tools.ts';
import { VISIBILITY_LEVELS } from '../../src/protocol/words.ts';
import type { SessionRow } from '../../src/store/session-repository.ts';

type Json = Record<string, unknown>;

export type TreeSession = Pick<
  SessionRow,
  'key' | 'agentId' | 'sessionId' | 'label' | 'spawnedBy' | 'archivedAt' | 'deletedAt'
>;

/** All session tools, also for sub-agents, so that access alone decides. */
const TOOLS = {
  allow: ['*', 'sessions_wait', 'sessions_stop', 'sessions_search'],
  subagents: { tools: { allow: [...SESSION_TOOL_NAMES] } },
};

/** Every level, with agents open to each other, closed, and open for some. */
export const reachConfig: fc.Arbitrary<Json> = fc
  .record({
    visibility: fc.constantFrom(...VISIBILITY_LEVELS),
    enabled: fc.boolean(),
    allow: fc.constantFrom(undefined, ['*'], ['a'], ['a', 'b']),
  })
  .map(({ visibility, enabled, allow }) => reachOf(visibility, { enabled, allow }));

/** Returns a configuration with this reach. */
export function reachOf(visibility: string, agentToAgent: Json): Json {
  const given = Object.entries(agentToAgent).filter(([, value]) => value !== undefined);
  return {
    agents: { list: [{ id: 'a', default: true }, { id: 'b' }, { id: 'c' }] },
    tools: { ...TOOLS, sessions: { visibility }, agentToAgent: Object.fromEntries(given) },
  };
}

const node = fc.record({
  agentId: fc.constantFrom('a', 'b', 'c'),
  /** which of those before it spawned it; beyond them = none */
  parent: fc.nat(12),
  label: fc.constantFrom(null, 'x', 'y'),
  closure: fc.constantFrom('open', 'open', 'open', 'archived', 'deleted'),
});

/** Up to nine sessions, each after the one that spawned it. */
export const sessionTree: fc.Arbitrary<TreeSession[]> = fc
  .array(node, { minLength: 2, maxLength: 9 })
  .map((nodes) => {
    const sessions: TreeSession[] = [];
    for (const { agentId, parent, label, closure } of nodes) {
      const spawnedBy = sessions[parent]?.key ?? null;
      const id = randomUUID();
      sessions.push({
        key: spawnedBy === null ? `agent:${agentId}:s-${id}` : `agent:${agentId}:subagent:${id}`,
        agentId,
        sessionId: randomUUID(),
        // labels of one tree are found in no other
        label: label && `${label}-${id.slice(0, 1)}`,
        spawnedBy,
        archivedAt: closure === 'open' ? null : 1,
        deletedAt: closure === 'deleted' ? 1 : null,
      });
    }
    return sessions;
  });

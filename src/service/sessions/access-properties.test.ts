import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { reachConfig, sessionTree, type TreeSession } from '../../../test/helpers/random-tree.ts';
import {
  createSessionWorld,
  type SessionWorld,
  userText,
} from '../../../test/helpers/session-world.ts';
import type { PolicyVerb } from '../../protocol/words.ts';
import { explainPolicy } from '../policy/explain-policy.ts';
import { listSessions } from './list-sessions.ts';
import { readHistory } from './read-history.ts';
import { searchSessions } from './search-sessions.ts';

/** Everything that one session is shown, by each tool, and what the policy says of it. */
async function seenBy(world: SessionWorld, me: TreeSession, tree: readonly TreeSession[]) {
  const caller = world.caller(me.key, me.agentId);
  const listed = new Set<string>();
  for (const archived of [false, true]) {
    const page = await listSessions(world.context, caller, { archived });
    assert.ok('sessions' in page);
    for (const { key } of page.sessions) listed.add(key);
  }
  const found = await searchSessions(world.context, caller, { query: 'needle' });
  assert.ok('hits' in found);
  const read = new Set<string>();
  for (const { key } of tree) {
    const page = await readHistory(world.context, caller, { sessionKey: key });
    if ('messages' in page) read.add(key);
  }
  const allowed = async (verb: PolicyVerb): Promise<Set<string>> => {
    const keys = new Set<string>();
    for (const { key } of tree) {
      const { allowed: isAllowed } = await explainPolicy(world.context, {
        as: me.key,
        verb,
        to: key,
      });
      if (isAllowed) keys.add(key);
    }
    return keys;
  };
  return {
    listed,
    hits: new Set(found.hits.map(({ sessionKey }) => sessionKey)),
    read,
    mayList: await allowed('list'),
    mayRead: await allowed('read'),
    maySearch: await allowed('search'),
  };
}

test('[AC2, AC8] list ⊆ history ⊆ policy, and a search finds what can be read, for random trees and settings', async (t) => {
  await fc.assert(
    fc.asyncProperty(sessionTree, reachConfig, async (tree, config) => {
      const world = createSessionWorld(t, config);
      for (const session of tree) {
        await world.add(session);
        await world.append(session.key, [userText('needle')]);
      }
      for (const me of tree.filter(({ archivedAt }) => archivedAt === null)) {
        const seen = await seenBy(world, me, tree);
        assert.ok(
          [...seen.listed].every((key) => seen.read.has(key)),
          'what is listed can be read',
        );
        assert.ok(
          [...seen.hits].every((key) => seen.read.has(key)),
          'what is found can be read',
        );
        assert.deepEqual(seen.read, seen.mayRead, 'what can be read is what the policy says');
        assert.deepEqual(seen.listed, seen.mayList, 'what is listed is what the policy says');
        // a search over all leaves archived sessions out, as lists do
        const open = tree.filter(({ archivedAt }) => archivedAt === null).map(({ key }) => key);
        assert.deepEqual(seen.hits, new Set(open.filter((key) => seen.maySearch.has(key))));
      }
    }),
    { numRuns: 12 },
  );
});

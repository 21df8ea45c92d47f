import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  assistantText,
  createSessionWorld,
  toolResultText,
  userText,
} from '../../../test/helpers/session-world.ts';
import type { SessionWorld } from '../../../test/helpers/session-world.ts';
import { searchedText } from '../../core/message-search.ts';
import { findUnits, parseSearchQuery } from '../../core/search-query.ts';
import { searchWordsOf } from '../../core/search-words.ts';
import type { Message } from '../../protocol/message.ts';
import type { ConfigInput } from '../../protocol/options/config.ts';
import type {
  SessionsHistoryPage,
  SessionsSearchPage,
} from '../../protocol/tools/session-tool-answers.ts';
import type { SessionsSearchArgs } from '../../protocol/tools/session-tool-args.ts';
import { readHistory } from './read-history.ts';
import { searchAllSessions, searchSessions } from './search-sessions.ts';

const MAIN = 'agent:main:main';
const CHILD = 'agent:main:subagent:00000000-0000-4000-8000-000000000001';
const GRANDCHILD = 'agent:main:subagent:00000000-0000-4000-8000-000000000002';
const OTHER = 'agent:main:discord:group:other';
const OPS = 'agent:ops:main';
const AGENTS = { agents: { list: [{ id: 'main' }, { id: 'ops' }] } };

/** A world with a session of each relation to main. */
async function createWorld(
  t: Parameters<typeof createSessionWorld>[0],
  written: ConfigInput = {},
): Promise<SessionWorld> {
  const world = createSessionWorld(t, { ...AGENTS, ...written });
  await world.add({ key: MAIN }, { key: OTHER }, { key: OPS });
  await world.add({ key: CHILD, spawnedBy: MAIN });
  await world.add({ key: GRANDCHILD, spawnedBy: CHILD });
  return world;
}

async function search(
  world: SessionWorld,
  args: SessionsSearchArgs,
  as = MAIN,
): Promise<SessionsSearchPage> {
  const answer = await searchSessions(world.context, world.caller(as), args);
  assert.ok('hits' in answer, JSON.stringify(answer));
  return answer;
}

async function refusal(world: SessionWorld, args: SessionsSearchArgs, as = MAIN) {
  const answer = await searchSessions(world.context, world.caller(as), args);
  assert.ok('error' in answer, JSON.stringify(answer));
  return answer;
}

const keysOf = (page: SessionsSearchPage) => page.hits.map(({ sessionKey }) => sessionKey);

describe('what a search shows', () => {
  test('[SR6, BR-202] three visible hits, and nothing of the hidden one', async (t) => {
    const world = await createWorld(t);
    for (const key of [MAIN, OTHER, CHILD, GRANDCHILD])
      await world.append(key, [userText('a needle in the hay')]);
    const page = await search(world, { query: 'needle' });
    assert.deepEqual(page, {
      hits: [GRANDCHILD, CHILD, 'main'].map((sessionKey) => ({
        sessionKey,
        sessionId: page.hits.find((hit) => hit.sessionKey === sessionKey)?.sessionId,
        seq: 1,
        role: 'user',
        snippet: 'a needle in the hay',
      })),
      limitApplied: 20,
      hasMore: false,
    });
  });

  test('[SR1] a hit names the place that sessions_history reads', async (t) => {
    const world = await createWorld(t);
    const found = assistantText('the needle');
    await world.append(CHILD, [userText('one'), found, toolResultText('other')]);
    const [hit] = (await search(world, { query: 'needle' })).hits;
    assert.deepEqual([hit?.seq, hit?.role], [2, 'assistant']);
    const history = await readHistory(world.context, world.caller(MAIN), {
      sessionKey: hit?.sessionId ?? '',
      includeTools: true,
    });
    assert.deepEqual((history as SessionsHistoryPage).messages[1], found);
  });

  test('[SR1] a snippet is one line around the first word', async (t) => {
    const world = await createWorld(t);
    const text = `${'before '.repeat(100)}\n\n the NEEDLE \n${' after'.repeat(100)}`;
    await world.append(MAIN, [userText(text)]);
    const [hit] = (await search(world, { query: 'needle' })).hits;
    assert.match(hit?.snippet ?? '', /^….*before the NEEDLE after after.*…$/);
    assert.ok((hit?.snippet.length ?? 0) <= 245);
  });

  test('[SR7] sessionKey narrows: a key is all its transcripts, an older sessionId that one', async (t) => {
    const world = await createWorld(t);
    await world.append(MAIN, [userText('needle before')]);
    const older = await world.context.store.read((tx) => tx.sessions.get(MAIN));
    await world.context.store.write('reset', (tx) =>
      tx.sessions.update(MAIN, { sessionId: '00000000-0000-4000-8000-00000000aaaa' }),
    );
    await world.append(MAIN, [userText('needle after')]);
    await world.append(CHILD, [userText('needle elsewhere')]);
    const snippets = async (sessionKey: string) =>
      (await search(world, { query: 'needle', sessionKey })).hits.map(({ snippet }) => snippet);
    for (const name of ['main', 'current', MAIN])
      assert.deepEqual(await snippets(name), ['needle after', 'needle before'], name);
    assert.deepEqual(await snippets(older?.sessionId ?? ''), ['needle before']);
  });

  test('[SR7, BR-055] an archived session is found when it is named, a deleted one never', async (t) => {
    const world = await createWorld(t);
    await world.append(CHILD, [userText('needle')]);
    const change = (patch: object) =>
      world.context.store.write('put-away', (tx) => tx.sessions.update(CHILD, patch));
    await change({ archivedAt: 5 });
    assert.deepEqual(keysOf(await search(world, { query: 'needle' })), []);
    const named = { query: 'needle', sessionKey: CHILD };
    assert.deepEqual(keysOf(await search(world, named)), [CHILD]);
    await change({ deletedAt: 6 });
    assert.deepEqual(keysOf(await search(world, { query: 'needle' })), []);
    assert.equal((await refusal(world, named)).status, 'forbidden');
    for (const query of [{ query: 'needle' }, named])
      assert.deepEqual(keysOf(await searchAllSessions(world.context, query)), []);
  });

  test('[SR6, AC1] a hidden session that is named reads like a missing one', async (t) => {
    const world = await createWorld(t);
    await world.append(OTHER, [userText('needle')]);
    const hidden = await refusal(world, { query: 'needle', sessionKey: OTHER });
    const missing = await refusal(world, { query: 'needle', sessionKey: `${OTHER}2` });
    assert.deepEqual(hidden, missing);
  });

  test('[SR11] the operator finds everything that is not archived, under canonical keys', async (t) => {
    const world = await createWorld(t);
    for (const key of [MAIN, OTHER, OPS]) await world.append(key, [userText('needle')]);
    const page = await searchAllSessions(world.context, { query: 'needle' });
    assert.deepEqual(keysOf(page), [OPS, OTHER, MAIN]);
    await assert.rejects(searchAllSessions(world.context, { query: '!!' }), {
      code: 'invalid_request',
      message: /sessions\.search: query .* no letters or digits/,
    });
  });
});

describe('queries and cursors', () => {
  test('[SR4] what is beyond a bound is an error that names it', async (t) => {
    const world = await createWorld(t);
    for (const [query, error] of [
      ['"" *', /no letters or digits/],
      ['ab*', /at least 3 letters before a "\*"/],
      ['a '.repeat(17), /at most 16 words and phrases/],
      [`"${'a '.repeat(65)}"`, /at most 64 words/],
    ] as const) {
      const answer = await refusal(world, { query });
      assert.match(answer.error, error, query);
    }
  });

  test('[SR5] a cursor of another search, of a list or of nobody is an error', async (t) => {
    const world = await createWorld(t);
    await world.append(MAIN, [userText('needle'), userText('needle hay')]);
    const { nextCursor = '' } = await search(world, { query: 'needle', limit: 1 });
    assert.equal((await search(world, { query: 'needle', cursor: nextCursor })).hits[0]?.seq, 1);
    for (const args of [
      { query: 'hay', cursor: nextCursor },
      { query: 'needle', cursor: nextCursor, sessionKey: 'main' },
      { query: 'needle', cursor: 'made-up' },
    ])
      assert.match((await refusal(world, args)).error, /^cursor/);
  });

  test('[SR8] a page examines a bounded number of messages, then ends early with a cursor', async (t) => {
    const world = await createWorld(t, { tools: { sessions: { visibility: 'all' } } });
    await world.append(MAIN, [userText('needle of mine')]);
    // a part of the caller's own agent that it may see, but archived
    await world.append(
      OTHER,
      Array.from({ length: 5001 }, () => userText('needle')),
    );
    await world.context.store.write('archive', (tx) =>
      tx.sessions.update(OTHER, { archivedAt: 1 }),
    );
    const first = await search(world, { query: 'needle' });
    assert.deepEqual([first.hits, first.hasMore], [[], true]);
    const second = await search(world, { query: 'needle', cursor: first.nextCursor ?? '' });
    assert.deepEqual([keysOf(second), second.hasMore], [['main'], false]);
  });

  test('[SR8] a page reads a bounded number of bytes, then ends early with a cursor', async (t) => {
    const world = await createWorld(t);
    const image = { type: 'image' as const, data: 'A'.repeat(3_000_000), mimeType: 'image/png' };
    const large = (text: string): Message => ({
      role: 'user',
      content: [{ type: 'text', text }, image],
      timestamp: 1,
    });
    await world.append(MAIN, [large('needle 1'), large('needle 2')]);
    const first = await search(world, { query: 'needle' });
    assert.deepEqual([first.hits.length, first.hasMore], [1, true]);
    const second = await search(world, { query: 'needle', cursor: first.nextCursor ?? '' });
    assert.deepEqual([second.hits.map(({ seq }) => seq), second.hasMore], [[1], false]);
  });
});

describe('credentials', () => {
  const KEY = `sk-ant-api03-${'Ab1'.repeat(20)}`;

  test('[MK3, BR-110] another session is shown the text without them, and finds nothing by them', async (t) => {
    const world = await createWorld(t);
    await world.append(CHILD, [toolResultText(`needle ${KEY} end`)]);
    const snippets = async (query: string, as: string) =>
      (await search(world, { query }, as)).hits.map(({ snippet }) => snippet);
    assert.deepEqual(await snippets('needle', MAIN), ['needle [masked] end']);
    assert.deepEqual(await snippets(KEY, MAIN), []);
    assert.deepEqual(await snippets('api03', MAIN), []);
    assert.deepEqual(await snippets('needle api03', MAIN), []);
    assert.deepEqual(await snippets('api03', CHILD), [`needle ${KEY} end`]);
    const page = await searchAllSessions(world.context, { query: 'api03' });
    assert.equal(page.hits[0]?.snippet, `needle ${KEY} end`);
    world.configure({ ...AGENTS, tools: { sessions_history: { mask: false } } });
    assert.deepEqual(await snippets('api03', MAIN), [`needle ${KEY} end`]);
  });
});

describe('whatever was said', () => {
  const KEYS = [MAIN, OTHER, OPS, CHILD, GRANDCHILD];
  const VISIBILITY = ['self', 'tree', 'agent', 'all'] as const;
  const words = fc.array(fc.constantFrom('needle', 'hay', 'straw', '針', 'token=abcd1234'), {
    minLength: 1,
    maxLength: 4,
  });
  const said = fc.array(fc.tuple(fc.constantFrom(...KEYS), words), { maxLength: 8 });
  const asked = fc.constantFrom('needle', 'hay straw', '"needle hay"', 'nee*', '針', 'abcd1234');

  // one world takes in what every round says: what is found grows with it
  test('[SR5, SR6] following the cursor shows every readable match once, and no other', async (t) => {
    const world = await createWorld(t);
    await fc.assert(
      fc.asyncProperty(
        said,
        asked,
        fc.constantFrom(...KEYS),
        fc.constantFrom(...VISIBILITY),
        fc.boolean(),
        fc.integer({ min: 1, max: 4 }),
        async (messages, query, as, visibility, enabled, limit) => {
          const tools = { sessions: { visibility }, agentToAgent: { enabled } };
          world.configure({ ...AGENTS, tools });
          for (const [key, text] of messages) await world.append(key, [userText(text.join(' '))]);
          const found: string[] = [];
          let cursor: string | undefined;
          do {
            const page: SessionsSearchPage = await search(
              world,
              { query, limit, ...(cursor !== undefined && { cursor }) },
              as,
            );
            assert.ok(page.hits.length <= limit);
            found.push(...page.hits.map(({ sessionId, seq }) => `${sessionId} ${seq}`));
            cursor = page.nextCursor;
            assert.equal(page.hasMore, cursor !== undefined);
          } while (cursor !== undefined);
          assert.equal(new Set(found).size, found.length, 'each once');
          assert.deepEqual(found.toSorted(), (await readable(world, query, as)).toSorted());
        },
      ),
      { numRuns: 40 },
    );
  });

  test('[SR6] hidden sessions change nothing of the answer', async (t) => {
    const worlds: { world: SessionWorld; left: string[] }[] = [
      { world: await createWorld(t), left: [] },
      { world: await createWorld(t), left: [OTHER, OPS] },
    ];
    await fc.assert(
      fc.asyncProperty(said, asked, async (messages, query) => {
        const answers = [];
        for (const { world, left } of worlds) {
          for (const [key, text] of messages)
            if (!left.includes(key)) await world.append(key, [userText(text.join(' '))]);
          const page = await search(world, { query, limit: 3 });
          // the names of transcripts are made at random; a sealed cursor counts all messages
          answers.push({
            ...page,
            hits: page.hits.map((hit) => ({ ...hit, sessionId: '' })),
            nextCursor: typeof page.nextCursor,
          });
        }
        assert.deepEqual(answers[0], answers[1]);
      }),
      { numRuns: 30 },
    );
  });

  /** What the histories that the caller may read hold, as `<sessionId> <seq>`. */
  async function readable(world: SessionWorld, query: string, as: string): Promise<string[]> {
    const parsed = parseSearchQuery(query);
    assert.ok(parsed.ok);
    const found: string[] = [];
    for (const sessionKey of KEYS) {
      const args = { sessionKey, limit: 1000, includeTools: true };
      const page = await readHistory(world.context, world.caller(as), args);
      if (!('messages' in page)) continue;
      page.messages.forEach((message, index) => {
        const text = searchedText(message as Message);
        if (findUnits(parsed.units, searchWordsOf(text)) === undefined) return;
        found.push(`${page.sessionId} ${index + 1}`);
      });
    }
    return found;
  }
});

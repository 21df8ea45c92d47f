import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { findUnits, parseSearchQuery } from '../../core/search-query.ts';
import { searchWordsOf } from '../../core/search-words.ts';
import type { SearchQuery, SearchScope } from '../transcript-repository.ts';
import type { Store } from '../store.ts';
import { child, type OpenHarness, session, withStore } from './samples.suite.ts';

const text = (words: string) => ({ type: 'text', text: words });

/** Appends a message to the window of a session. */
function say(
  store: Store,
  key: string,
  message: Record<string, unknown> & { role: string },
): Promise<number> {
  return store.write('say', (tx) =>
    tx.entries.append({
      sessionId: `window of ${key}`,
      entryId: `entry ${Math.random()}`,
      type: 'message',
      role: message.role as 'user',
      runId: null,
      json: JSON.stringify(message),
      createdAt: 1,
    }),
  );
}
const user = (words: string) => ({ role: 'user', content: [text(words)], timestamp: 1 });

/** Finds as a search does, and returns `<sessionKey> <seq>`. */
async function find(
  store: Store,
  query: string,
  narrow: Partial<SearchQuery> = {},
): Promise<string[]> {
  const parsed = parseSearchQuery(query);
  assert.ok(parsed.ok, query);
  const hits = await store.read(
    (tx) =>
      tx.search.find({
        units: parsed.units,
        scopes: [{ type: 'everything' }],
        keys: [],
        before: undefined,
        limit: 100,
        ...narrow,
      }),
    { timeoutMs: 30_000, tooSlow: 'too slow' },
  );
  return hits.map(({ sessionKey, seq }) => `${sessionKey} ${seq}`);
}

async function withSessions(open: OpenHarness, test: (store: Store) => Promise<void>) {
  await withStore(open, async ({ store }) => {
    await store.write('add', async (tx) => {
      const parent = session('p');
      await tx.sessions.insert(parent);
      await tx.sessions.insert(child('c', parent));
      await tx.sessions.insert(session('o', { agentId: 'ops' }));
    });
    await test(store);
  });
}

/** What is said, what is asked for, and whether it is found. */
const CASES: [said: string, query: string, isFound: boolean][] = [
  ['The Needle, in hay', 'needle', true],
  ['needles', 'needle', false],
  ['needles', 'need*', true],
  ['a needle', 'hay needle', false],
  ['hay and needle', 'needle hay', true],
  ['hay and needle', '"hay needle"', false],
  ['in the hay: needle', '"hay needle"', true],
  ['hay needles', '"hay need"*', false],
  ['Crème BRÛLÉE', 'creme brulee', true],
  ['re\u0301sume\u0301', 'résumé', true],
  ['ＡＢＣ', 'abc', true],
  ['state-of-the-art', 'state-of', true],
  ['user@example.com', 'user@example.com', true],
  ['user at example.com', 'user@example.com', false],
  ['東京都に住む', '京都', true],
  ['東京都に住む', '東京都', true],
  ['東京都に住む', '住', true],
  ['東京都に住む', '東都', false],
  ['서울에서', '서울', true],
  ['one"two', 'one two', true],
  ["it's", "it's", true],
  ['x OR y', 'OR', true],
  ['tab\tand\nline', 'tab line', true],
  ['\u0000null', 'null', true],
];

/** Messages that are appended are found in the same unit; the same on every store. */
export function searchContract(open: OpenHarness): void {
  it('[SR1, SR2, SR3, SR12] finds what is asked for and nothing else', async () => {
    await withSessions(open, async (store) => {
      for (const [said, query, isFound] of CASES) {
        const seq = await say(store, 'p', user(said));
        const hits = await find(store, query);
        assert.equal(hits.includes(`p ${seq}`), isFound, `${query} in ${said}`);
      }
    });
  });

  it('[SR1] text blocks and tool results are found; thinking, arguments and images are not', async () => {
    await withSessions(open, async (store) => {
      await say(store, 'p', { role: 'user', content: 'plain words' });
      await say(store, 'p', {
        role: 'assistant',
        content: [
          text('shown'),
          { type: 'thinking', thinking: 'pondered' },
          { type: 'toolCall', id: '1', name: 'exec', arguments: { command: 'argued' } },
        ],
      });
      await say(store, 'p', {
        role: 'toolResult',
        toolCallId: '1',
        content: [text('printed'), { type: 'image', data: 'pictured', mimeType: 'image/png' }],
      });
      for (const [query, hits] of [
        ['plain', ['p 1']],
        ['shown', ['p 2']],
        ['printed', ['p 3']],
        ['pondered', []],
        ['argued', []],
        ['pictured', []],
      ] as const)
        assert.deepEqual(await find(store, query), hits, query);
    });
  });

  it('[SR5] the newest comes first, strictly before a place, at most as many as asked for', async () => {
    await withSessions(open, async (store) => {
      for (const key of ['p', 'o', 'p', 'c']) await say(store, key, user('needle'));
      const all = await find(store, 'needle');
      assert.deepEqual(all, ['c 1', 'p 2', 'o 1', 'p 1']);
      assert.deepEqual(await find(store, 'needle', { limit: 2 }), all.slice(0, 2));
      const before = await store.read(async (tx) => {
        const parsed = parseSearchQuery('needle');
        assert.ok(parsed.ok);
        const [, second] = await tx.search.find({
          units: parsed.units,
          scopes: [{ type: 'everything' }],
          keys: [],
          before: undefined,
          limit: 2,
        });
        return second?.searchId;
      });
      assert.deepEqual(await find(store, 'needle', { before }), all.slice(2));
    });
  });

  it('[SR6] scopes and keys narrow the walk in the index', async () => {
    await withSessions(open, async (store) => {
      for (const key of ['p', 'c', 'o']) await say(store, key, user('needle'));
      const tree: SearchScope = { type: 'root', rootKey: 'p' };
      const agent: SearchScope = { type: 'agent', agentId: 'ops' };
      for (const [scopes, keys, hits] of [
        [[tree], [], ['c 1', 'p 1']],
        [[agent], [], ['o 1']],
        [[agent, tree], [], ['o 1', 'c 1', 'p 1']],
        [[], ['c'], ['c 1']],
        [[agent], ['c'], ['o 1', 'c 1']],
      ] as const)
        assert.deepEqual(await find(store, 'needle', { scopes, keys }), hits);
    });
  });

  it('[SR10] a unit that fails leaves nothing to find, and a message that is no JSON is left out', async () => {
    await withSessions(open, async (store) => {
      const failed = store.write('fails', async (tx) => {
        await tx.entries.append({
          sessionId: 'window of p',
          entryId: 'e',
          type: 'message',
          role: 'user',
          runId: null,
          json: JSON.stringify(user('needle')),
          createdAt: 1,
        });
        throw new Error('on purpose');
      });
      await assert.rejects(failed, /on purpose/);
      await store.write('torn', (tx) =>
        tx.entries.append({
          sessionId: 'window of p',
          entryId: 'e',
          type: 'message',
          role: 'user',
          runId: null,
          json: '{"role":"user","content":"needle',
          createdAt: 1,
        }),
      );
      assert.deepEqual(await find(store, 'needle'), []);
    });
  });

  it('[SR2, SR12] whatever is written and asked, the same is found as by reading it all', async () => {
    const word = fc.constantFrom('a', 'B', 'né', '東', '東京', '都に', 'x1', 'สวัส', 'ß', 'ﷺ', '½');
    const glue = fc.constantFrom(' ', '-', '"', '* ', '\n', "'", '', ' OR ');
    const phrase = fc
      .array(fc.tuple(word, glue), { minLength: 1, maxLength: 6 })
      .map((parts) => parts.flat().join(''));
    await withSessions(open, async (store) => {
      const said: string[] = [];
      await fc.assert(
        fc.asyncProperty(phrase, phrase, async (words, query) => {
          await say(store, 'p', user(words));
          said.push(words);
          const parsed = parseSearchQuery(query);
          if (!parsed.ok) return;
          const expected = matching(said, query).map((seq) => `p ${seq}`);
          assert.deepEqual(await find(store, query, { limit: 1000 }), expected.toReversed());
        }),
        { numRuns: 60 },
      );
    });
  });
}

/** The seqs of the texts that have all units, by reading them. */
function matching(said: readonly string[], query: string): number[] {
  const parsed = parseSearchQuery(query);
  assert.ok(parsed.ok);
  return said.flatMap((words, index) =>
    findUnits(parsed.units, searchWordsOf(words)) === undefined ? [] : [index + 1],
  );
}

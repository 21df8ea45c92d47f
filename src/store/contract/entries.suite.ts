import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { EntryRow } from '../transcript-repository.ts';
import type { Store } from '../store.ts';
import { type OpenHarness, session, withStore } from './samples.suite.ts';

type Role = EntryRow['role'];

export function entriesContract(open: OpenHarness): void {
  describe('entries', () => {
    it('numbers entries from 1 and links each to the one before it', () =>
      withStore(open, async ({ store }) => {
        await addWindow(store);
        assert.deepEqual(await append(store, ['user', 'assistant']), [1, 2]);
        assert.deepEqual(await append(store, ['user']), [3]);
        const rows = await store.read((tx) => tx.entries.context('s'));
        assert.deepEqual(
          rows.map(({ seq, parentId }) => [seq, parentId]),
          [
            [1, null],
            [2, rows[0]?.entryId],
            [3, rows[1]?.entryId],
          ],
        );
        const window = await store.read((tx) => tx.windows.get('s'));
        assert.equal(window?.nextSeq, 4);
        assert.equal(window?.lastEntryId, rows[2]?.entryId);
      }));

    it('refuses an entry for a window that does not exist', () =>
      withStore(open, async ({ store }) => {
        await assert.rejects(append(store, ['user']), { code: 'not_found' });
      }));

    it('[BR-158, BR-021] keeps every one of 200 parallel appends, in order', () =>
      withStore(open, async ({ store }) => {
        await addWindow(store);
        const added = await Promise.all(Array.from({ length: 200 }, () => append(store, ['user'])));
        const seqs = added.flat().sort((a, b) => a - b);
        assert.deepEqual(
          seqs,
          Array.from({ length: 200 }, (_, at) => at + 1),
        );
      }));

    it('[ST2, BR-133] takes the tool results out before it counts to the limit', () =>
      withStore(open, async ({ store }) => {
        await addWindow(store);
        await append(store, ['user', 'assistant', 'user', 'assistant', 'assistant']);
        await append(
          store,
          Array.from({ length: 10 }, () => 'toolResult' as const),
        );
        const tail = (includeTools: boolean, limit: number, beforeSeq?: number) =>
          store.read(async (tx) => {
            const rows = await tx.entries.tail({ sessionId: 's', includeTools, beforeSeq, limit });
            return rows.map(({ seq }) => seq);
          });
        assert.deepEqual(await tail(false, 5), [1, 2, 3, 4, 5]);
        assert.deepEqual(await tail(false, 2), [4, 5]);
        assert.deepEqual(await tail(false, 2, 4), [2, 3]);
        assert.deepEqual(await tail(true, 3), [13, 14, 15]);
        assert.deepEqual(await tail(true, 3, 7), [4, 5, 6]);
        assert.deepEqual(await tail(true, 3, 1), []);
      }));

    it('[ST2] tells place and size of the same messages, newest first', () =>
      withStore(open, async ({ store }) => {
        await addWindow(store);
        await append(store, ['user', 'assistant', 'toolResult', null]);
        const of = { sessionId: 's', beforeSeq: undefined, limit: 9 };
        for (const includeTools of [true, false]) {
          const { sizes, rows } = await store.read(async (tx) => ({
            sizes: await tx.entries.tailSizes({ ...of, includeTools }),
            rows: await tx.entries.tail({ ...of, includeTools }),
          }));
          assert.deepEqual(
            sizes,
            rows.reverse().map(({ seq, json }) => ({ seq, bytes: Buffer.byteLength(json) })),
          );
        }
      }));

    it('leaves entries that are no messages out of the tail', () =>
      withStore(open, async ({ store }) => {
        await addWindow(store);
        await append(store, ['user', null, 'assistant', null]);
        for (const includeTools of [true, false]) {
          const rows = await store.read((tx) =>
            tx.entries.tail({ sessionId: 's', includeTools, beforeSeq: undefined, limit: 9 }),
          );
          assert.deepEqual(
            rows.map(({ role }) => role),
            ['user', 'assistant'],
          );
        }
      }));

    it('reads a window page by page, entries of every type', () =>
      withStore(open, async ({ store }) => {
        await addWindow(store);
        await append(store, ['user', null, 'toolResult', 'assistant']);
        const page = (afterSeq: number) =>
          store.read(async (tx) => {
            const rows = await tx.entries.page({ sessionId: 's', afterSeq, limit: 3 });
            return rows.map(({ seq }) => seq);
          });
        assert.deepEqual(await page(0), [1, 2, 3]);
        const sizes = await store.read((tx) =>
          tx.entries.pageSizes({ sessionId: 's', afterSeq: 1, limit: 2 }),
        );
        const rows = await store.read((tx) =>
          tx.entries.page({ sessionId: 's', afterSeq: 1, limit: 2 }),
        );
        assert.deepEqual(
          sizes,
          rows.map(({ seq, json }) => ({ seq, bytes: Buffer.byteLength(json) })),
        );
        assert.deepEqual(await page(3), [4]);
        assert.deepEqual(await page(4), []);
      }));

    it('reads the context from the newest compaction on', () =>
      withStore(open, async ({ store }) => {
        await addWindow(store);
        await append(store, ['user', 'assistant']);
        await append(store, [null], { type: 'compaction' });
        await append(store, ['user']);
        await append(store, [null], { type: 'compaction' });
        await append(store, ['assistant']);
        const rows = await store.read((tx) => tx.entries.context('s'));
        assert.deepEqual(
          rows.map(({ seq, type }) => [seq, type]),
          [
            [5, 'compaction'],
            [6, 'message'],
          ],
        );
        assert.deepEqual(await store.read((tx) => tx.entries.context('nope')), []);
      }));

    it('gives the entries of one run in one window, in order', () =>
      withStore(open, async ({ store }) => {
        await addWindow(store);
        await append(store, ['user'], { runId: 'r1' });
        await append(store, ['user'], { runId: 'r2' });
        await append(store, ['assistant'], { runId: 'r1' });
        await append(store, ['user']);
        const seqs = async (sessionId: string, runId: string) =>
          (await store.read((tx) => tx.entries.ofRun(sessionId, runId))).map(({ seq }) => seq);
        assert.deepEqual(await seqs('s', 'r1'), [1, 3]);
        assert.deepEqual(await seqs('other', 'r1'), []);
      }));

    it('[BR-162] stores any text of a message as JSON that reads back well-formed', async () => {
      const nastyText = fc
        .array(fc.constantFrom('\0', '\ud800', '\udc00', '\\', '\\u0000', 'ud800', '"', '😀', 'a'))
        .map((parts) => parts.join(''));
      await withStore(open, async ({ store }) => {
        await addWindow(store);
        await fc.assert(
          fc.asyncProperty(nastyText, fc.boolean(), async (text, isRaw) => {
            const encoded = JSON.stringify({ text });
            // raw: as a writer leaves it that does not escape
            const json = isRaw ? encoded.replaceAll('\\u0000', '\0') : encoded;
            const entry = { entryId: 'e', type: 'message', role: 'user' as const, runId: 'r' };
            const seq = await store.write('append', (tx) =>
              tx.entries.append({ ...entry, sessionId: 's', json, createdAt: 1 }),
            );
            const stored = await store.read((tx) =>
              tx.entries.tail({
                sessionId: 's',
                includeTools: false,
                beforeSeq: seq + 1,
                limit: 1,
              }),
            );
            if (isRaw && text.includes('\\u0000')) return;
            const expected = text.toWellFormed().replaceAll('\0', '\uFFFD');
            assert.deepEqual(JSON.parse(stored[0]?.json ?? ''), { text: expected });
          }),
          { numRuns: 100 },
        );
      });
    });
  });
}

function addWindow(store: Store): Promise<void> {
  return store.write('add', (tx) => tx.sessions.insert(session('k', { sessionId: 's' })));
}

let entries = 0;

/** Appends one entry per role, null for an entry that is no message; returns their seqs. */
function append(
  store: Store,
  roles: Role[],
  given: { type?: string; runId?: string } = {},
): Promise<number[]> {
  return store.write('append', async (tx) => {
    const seqs: number[] = [];
    for (const role of roles) {
      entries += 1;
      const entry = {
        sessionId: 's',
        entryId: `e${entries}`,
        type: given.type ?? (role === null ? 'model_change' : 'message'),
        role,
        runId: given.runId ?? null,
        json: '{}',
        createdAt: 1000,
      };
      seqs.push(await tx.entries.append(entry));
    }
    return seqs;
  });
}

/** Cursors: cut, swapped between lists, of another gateway, and sealed with the right secret around anything. */
import fc from 'fast-check';
import { encodeSessionCursor } from '../../../src/core/session-cursor.ts';
import type { Grammar } from '../grammar.ts';
import { CURSOR_SECRET, type FuzzWorld } from '../fuzz-world.ts';
import { oddText, oddValue } from '../odd-values.ts';
import { feedCall } from './methods.ts';

interface CursorInput {
  list: number;
  cursor: string;
}

const tool = (name: string, args: Record<string, unknown>) => ({
  method: 'tools.invoke',
  params: { tool: name, sessionKey: 'main', args },
});
/** Every list that has pages. */
const LISTS: ((cursor: string | undefined) => {
  method: string;
  params: Record<string, unknown>;
})[] = [
  (cursor) => ({ method: 'sessions.list', params: { limit: 1, cursor } }),
  (cursor) => ({ method: 'sessions.search', params: { query: 'hello', limit: 1, cursor } }),
  (cursor) => ({ method: 'sessions.windows', params: { key: 'main', limit: 1, cursor } }),
  (cursor) => ({ method: 'runs.list', params: { limit: 1, cursor } }),
  (cursor) => ({ method: 'runs.list', params: { limit: 1, sessionKey: 'main', cursor } }),
  (cursor) => ({ method: 'exchanges.list', params: { sessionKey: 'main', limit: 1, cursor } }),
  (cursor) => ({ method: 'usage', params: { by: 'session', limit: 1, cursor } }),
  (cursor) => ({ method: 'usage', params: { by: 'day', limit: 1, cursor } }),
  (cursor) => ({ method: 'deliveries.list', params: { limit: 1, cursor } }),
  (cursor) => ({ method: 'calls.list', params: { sessionKey: 'main', limit: 1, cursor } }),
  (cursor) => tool('sessions_list', { limit: 1, cursor }),
  (cursor) => tool('sessions_history', { sessionKey: 'main', limit: 1, cursor }),
  (cursor) => tool('sessions_search', { query: 'hello', limit: 1, cursor }),
];

/** Returns the grammar; the cursors that it damages are ones that this world gave. */
export async function cursorsGrammar(world: FuzzWorld): Promise<Grammar<CursorInput>> {
  const given = fc.constantFrom(...(await collectCursors(world)));
  const sealed = fc
    .tuple(
      fc.oneof(fc.integer(), oddValue),
      fc.oneof(oddText, fc.constantFrom('runs x', 'search x', 'sessions agent:a:main'), oddValue),
      fc.constantFrom(CURSOR_SECRET, 'another secret'),
    )
    .map(([updatedAt, key, secret]) => encodeSessionCursor({ updatedAt, key } as never, secret));
  const damaged = fc.tuple(given, fc.nat({ max: 200 }), fc.nat({ max: 3 })).map(damage);
  const cursor = fc.oneof(
    given,
    damaged,
    sealed,
    oddText,
    fc.nat().map((seq) => `main.${seq}`),
  );
  const list = fc.nat({ max: LISTS.length - 1 });
  return {
    inputs: fc.record({ list, cursor }),
    feed: ({ list: at, cursor: text }) => feedCall(world, LISTS[at]!(text)),
  };
}

async function collectCursors(world: FuzzWorld): Promise<string[]> {
  const found = ['cursor'];
  for (const list of LISTS) {
    const { method, params } = list(undefined);
    const { cursor: _none, ...first } = params;
    const answer = (await world.call(method, first)) as {
      nextCursor?: string;
      result?: { nextCursor?: string };
    };
    const next = answer.nextCursor ?? answer.result?.nextCursor;
    if (next !== undefined) found.push(next);
  }
  return found;
}

function damage([text, at, way]: [text: string, at: number, way: number]): string {
  const place = at % (text.length + 1);
  if (way === 0) return text.slice(0, place);
  if (way === 1)
    return text.slice(0, place) + (text[place] === 'A' ? 'B' : 'A') + text.slice(place + 1);
  return way === 2 ? `${text}${text}` : text.slice(place);
}

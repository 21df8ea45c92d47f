/** Several index scans as one walk, newest first. A page costs the same whatever the store holds (A7). */
import { closureOf } from '../../core/access.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { ReadTx } from '../../store/store.ts';
import type { SessionCursor, SessionScope } from '../../store/session-repository.ts';

/** Most rows that one page examines, and that it reads of one scope. */
const MAX_EXAMINED = 5000;
/** Rows of one query: as many as the event loop may be held for. */
const BATCH_MAX = 200;

export interface SessionScan {
  /** rows to walk, each from one index */
  scopes: readonly SessionScope[];
  /** single rows that belong to the walk whatever the scopes say */
  keys: readonly string[];
  archived: boolean;
  cursor: SessionCursor | undefined;
  /** rows older than this are not walked; epoch ms */
  updatedSince: number;
  limit: number;
  /** Returns those of the rows that belong on the page, in the same order. */
  keep: (rows: SessionRow[]) => Promise<SessionRow[]>;
}
export interface SessionPage {
  rows: SessionRow[];
  /** where the next page starts; undefined = there is none */
  next: SessionCursor | undefined;
}

/**
 * Returns one page. It may hold fewer rows than `limit` and still have a next one: then it has
 * examined as many as a page may.
 */
export async function scanSessions(tx: ReadTx, scan: SessionScan): Promise<SessionPage> {
  const walk = await openWalk(tx, scan);
  const rows: SessionRow[] = [];
  let examined = 0;
  while (examined < MAX_EXAMINED) {
    const wanted = Math.min(walk.batch, MAX_EXAMINED - examined);
    const batch = await walk.take(wanted);
    examined += batch.length;
    for (const row of await scan.keep(batch)) {
      const last = rows.at(-1);
      if (rows.length === scan.limit && last) return { rows, next: positionOf(last) };
      rows.push(row);
    }
    const end = batch.at(-1);
    if (end === undefined || batch.length < wanted) return { rows, next: undefined };
    // what is left over may match or not: the next page finds out
    if (examined >= MAX_EXAMINED) return { rows, next: positionOf(end) };
  }
  return { rows, next: undefined };
}

interface Walk {
  batch: number;
  /** Returns the next rows, fewer than asked for only at the end. */
  take(count: number): Promise<SessionRow[]>;
}

async function openWalk(tx: ReadTx, scan: SessionScan): Promise<Walk> {
  // one more than the page holds tells whether there is another page
  const batch = Math.min(scan.limit + 1, BATCH_MAX);
  const sources = scan.scopes.map((scope) => openSource(tx, { scope, scan, batch }));
  const single = await openSingles(tx, scan);
  const all = [...sources, single];
  let lastKey: string | undefined;
  return {
    batch,
    take: async (count) => {
      const rows: SessionRow[] = [];
      while (rows.length < count) {
        const row = await takeNewest(all);
        if (row === undefined || row.updatedAt < scan.updatedSince) break;
        // the same row of two scopes stands at the same position
        if (row.key !== lastKey) rows.push(row);
        lastKey = row.key;
      }
      return rows;
    },
  };
}

interface Source {
  peek(): Promise<SessionRow | undefined>;
  drop(): void;
}

function openSource(
  tx: ReadTx,
  { scope, scan, batch }: { scope: SessionScope; scan: SessionScan; batch: number },
): Source {
  let rows: SessionRow[] = [];
  let at = 0;
  let cursor = scan.cursor;
  let isDone = false;
  let size = batch;
  let left = MAX_EXAMINED;
  return {
    peek: async () => {
      if (at === rows.length && !isDone) {
        rows = await tx.sessions.scan({ scope, archived: scan.archived, cursor, limit: size });
        at = 0;
        left -= size;
        isDone = rows.length < size || left === 0;
        size = Math.min(BATCH_MAX, left);
        const last = rows.at(-1);
        if (last) cursor = positionOf(last);
      }
      return rows[at];
    },
    drop: () => {
      at += 1;
    },
  };
}

async function openSingles(tx: ReadTx, scan: SessionScan): Promise<Source> {
  const found: SessionRow[] = [];
  for (const key of scan.keys) {
    const row = await tx.sessions.get(key);
    if (row === undefined || closureOf(row) !== (scan.archived ? 'archived' : undefined)) continue;
    if (scan.cursor === undefined || compareNewestFirst(scan.cursor, row) < 0) found.push(row);
  }
  found.sort(compareNewestFirst);
  return {
    peek: () => Promise.resolve(found[0]),
    drop: () => {
      found.shift();
    },
  };
}

async function takeNewest(sources: readonly Source[]): Promise<SessionRow | undefined> {
  let newest: { row: SessionRow; source: Source } | undefined;
  for (const source of sources) {
    const row = await source.peek();
    if (row === undefined) continue;
    if (newest === undefined || compareNewestFirst(row, newest.row) < 0) newest = { row, source };
  }
  newest?.source.drop();
  return newest?.row;
}

/** The order of `SessionReads.scan`: newest first, then the greater key in bytes. */
function compareNewestFirst(a: SessionCursor, b: SessionCursor): number {
  if (a.updatedAt !== b.updatedAt) return b.updatedAt - a.updatedAt;
  return a.key === b.key ? 0 : Buffer.compare(Buffer.from(b.key), Buffer.from(a.key));
}

function positionOf(row: SessionCursor): SessionCursor {
  return { updatedAt: row.updatedAt, key: row.key };
}

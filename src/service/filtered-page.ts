/** A page with a filter that no index serves, read in small queries: other work goes on between them (SL14). */

/** Most rows that one page looks at; then it ends early and has a next one. */
const MAX_EXAMINED = 5000;
/** Rows of one query: as many as the event loop may be held for. */
const BATCH_MAX = 200;

export interface FilteredList<Row> {
  limit: number;
  /** Returns the next rows in the order of the list, fewer than `count` only at its end; `after` undefined = where the page starts. */
  read: (after: Row | undefined, count: number) => Promise<Row[]>;
  keep: (row: Row) => boolean;
}

export interface FilteredPage<Row> {
  /** at most `limit` */
  rows: Row[];
  /** the row that the next page goes on after; undefined = there is none */
  next: Row | undefined;
}

/** Returns one page. It may hold fewer rows than `limit` and still have a next one: then it looked at as many as it may. */
export async function readFilteredPage<Row>(list: FilteredList<Row>): Promise<FilteredPage<Row>> {
  const { limit, read, keep } = list;
  const rows: Row[] = [];
  let last: Row | undefined;
  // one more than the page holds tells whether there is another page
  let wanted = Math.min(limit + 1, BATCH_MAX);
  for (let examined = 0; examined < MAX_EXAMINED;) {
    const batch = await read(last, wanted);
    for (const row of batch) {
      if (!keep(row)) continue;
      if (rows.length === limit) return { rows, next: rows.at(-1) };
      rows.push(row);
    }
    if (batch.length < wanted) return { rows, next: undefined };
    last = batch.at(-1);
    examined += batch.length;
    wanted = Math.min(BATCH_MAX, MAX_EXAMINED - examined);
  }
  // what is left over may match or not: the next page finds out
  return { rows, next: last };
}

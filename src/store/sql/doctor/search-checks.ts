/** The full-text index, which holds nothing that the entries do not: it is made again from them. */
import { rebuildSearch } from '../fill-search.ts';
import type { SqlDialect } from '../dialect.ts';
import type { Check } from './check.ts';

/** Numbers that the index itself has terms of. */
const INDEXED: Record<SqlDialect['fullText'], string> = {
  fts5: 'select id from search_terms_docsize',
  tsvector: 'select id from search_entries where terms is not null',
};

/** Returns the rule of the index; all that breaks it is one finding, as it is healed at once. */
export function searchChecks(dialect: SqlDialect): Check[] {
  const indexed = INDEXED[dialect.fullText];
  return [
    {
      name: 'search-index',
      rule: 'the index of a search does not fit the messages; it is made again from them',
      find: `select 'places that do not fit: ' || count(*) as misfits from (
          select e.seq from entries e where e.type = 'message' and not exists (
            select 1 from search_entries n where n.session_id = e.session_id and n.seq = e.seq)
          union all select n.seq from search_entries n where not exists (
            select 1 from entries e
            where e.session_id = n.session_id and e.seq = n.seq and e.type = 'message')
          union all select id from (${indexed}) as i
            where id not in (select id from search_entries where words > 0)
          union all select id from search_entries
            where words > 0 and id not in (${indexed})
        ) as misfits having count(*) > 0`,
      heal: () => rebuildSearch(dialect),
    },
  ];
}

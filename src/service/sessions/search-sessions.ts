/** `sessions_search` and its operator's form, `sessions.search` (A20). */
import { closureOf } from '../../core/access.ts';
import type { SessionCaller } from '../../core/caller.ts';
import { faultOf, toldOf } from '../../core/refusals.ts';
import { displayKey } from '../../core/keys.ts';
import { parseSearchQuery } from '../../core/search-query.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { Config } from '../../protocol/options/config.ts';
import { SEARCH_LIMIT_MAX } from '../../protocol/tools/tool-limits.ts';
import type {
  SessionsSearchAnswer,
  SessionsSearchPage,
} from '../../protocol/tools/session-tool-answers.ts';
import type { SessionsSearchArgs } from '../../protocol/tools/session-tool-args.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { ReadTx, SlowReadLimit } from '../../store/store.ts';
import type { SearchScope } from '../../store/transcript-repository.ts';
import type { SessionScope } from '../../store/session-repository.ts';
import type { ServiceContext } from '../context.ts';
import { unreadableReporter } from '../unreadable-rows.ts';
import type { FoundSession } from './look-up-session.ts';
import { masksFor } from './read-history.ts';
import { lookUpForOperator } from './resolve-caller.ts';
import { resolveTarget } from './resolve-target.ts';
import { parseSearchCursor, sealSearchCursor } from './search-cursor.ts';
import { type HitWalk, pageOfHits } from './search-walk.ts';
import { isListed } from './session-filters.ts';
import { isVisible, visibleWalk } from './visible-sessions.ts';

const DEFAULT_SEARCH_LIMIT = 20;
const LIMIT: SlowReadLimit = {
  timeoutMs: 10_000,
  tooSlow:
    'the search took longer than 10 s; look for rarer or more words, or narrow it with sessionKey',
};

/** What a search needs. */
export type SearchContext = Pick<ServiceContext, 'store' | 'config' | 'logger' | 'cursorSecret'>;

/** Returns one page of the messages that the caller may read and that have all words, the newest first. */
export function searchSessions(
  context: SearchContext,
  caller: SessionCaller,
  args: SessionsSearchArgs,
): Promise<SessionsSearchAnswer> {
  const config = context.config();
  return context.store.read(async (tx) => {
    const { sessionKey } = args;
    if (sessionKey === undefined) {
      const { scopes, keys } = visibleWalk({ config, caller });
      const own = await tx.sessions.get(caller.sessionKey);
      const searched = scopes.map((scope) => toSearched(scope, own?.rootKey ?? caller.sessionKey));
      const range = { scopes: searched, keys, reader: { config, caller } };
      return answer(tx, { context, args, range });
    }
    const address = { sessionKey };
    const target = await resolveTarget(tx, { config, caller, address, verb: 'search' });
    if (!target.ok) return toldOf(target);
    return answer(tx, { context, args, range: rangeOf(target, { config, caller }) });
  }, LIMIT);
}

/** What is below a session is looked for among all that has its root; the rest of that is left out row by row. */
function toSearched(scope: SessionScope, rootKey: string): SearchScope {
  return scope.type === 'below' ? { type: 'root', rootKey } : scope;
}

/** The operator's form: every session that is not deleted, under canonical keys. Rejects what cannot be looked for. */
export async function searchAllSessions(
  context: SearchContext,
  query: SessionsSearchArgs,
): Promise<SessionsSearchPage> {
  const config = context.config();
  const limit = Math.min(query.limit ?? DEFAULT_SEARCH_LIMIT, SEARCH_LIMIT_MAX);
  const found = await context.store.read(async (tx) => {
    const reader = { config, caller: undefined };
    const range: SearchRange =
      query.sessionKey === undefined
        ? { scopes: [{ type: 'everything' }], keys: [], reader }
        : rangeOf(await lookUpForOperator(tx, config, query.sessionKey), reader);
    return answer(tx, { context, args: { ...query, limit }, range });
  }, LIMIT);
  if ('error' in found)
    throw new GatewayError('invalid_request', `sessions.search: ${found.error}`);
  return found;
}

/** Who reads; undefined = the operator. */
interface SearchReader {
  config: Config;
  caller: SessionCaller | undefined;
}
interface SearchRange extends Pick<HitWalk, 'scopes' | 'keys'> {
  reader: SearchReader;
  /** the one session that was named */
  only?: { key: string; sessionId: string | undefined };
}

function rangeOf(target: FoundSession, reader: SearchReader): SearchRange {
  const { key, session, sessionId } = target;
  // a key is all its transcripts, a sessionId from before a reset is that one
  const isOlder = sessionId !== session?.sessionId;
  const only = { key, sessionId: isOlder ? sessionId : undefined };
  return { scopes: [], keys: [key], reader, only };
}

async function answer(
  tx: ReadTx,
  query: { context: SearchContext; args: SessionsSearchArgs; range: SearchRange },
): Promise<SessionsSearchAnswer> {
  const { context, args, range } = query;
  const { reader, only } = range;
  const parsed = parseSearchQuery(args.query);
  if (!parsed.ok) return faultOf('words', parsed.error);
  const identity = { query: args.query, sessionKey: only?.key, secret: context.cursorSecret };
  const start = parseSearchCursor(args.cursor, identity);
  if (!start.ok) return faultOf('cursor', start.error);
  const limit = args.limit ?? DEFAULT_SEARCH_LIMIT;
  const page = await pageOfHits(tx, {
    units: parsed.units,
    scopes: range.scopes,
    keys: range.keys,
    sessionId: only?.sessionId,
    before: start.before,
    limit,
    admits: (session) => isSearched(tx, session, range),
    isMasked: (key) =>
      reader.caller !== undefined &&
      masksFor(reader.config, { readerKey: reader.caller.sessionKey, key }),
    onUnreadable: unreadableReporter(context),
  });
  return {
    hits: page.hits.map((hit) => ({ ...hit, sessionKey: shownKey(hit.sessionKey, reader) })),
    limitApplied: limit,
    hasMore: page.next !== undefined,
    ...(page.next !== undefined && { nextCursor: sealSearchCursor(page.next, identity) }),
  };
}

/** What was named was decided by its look-up; else archived sessions are left out, as they are of lists. */
async function isSearched(
  tx: ReadTx,
  session: SessionRow,
  { reader: { config, caller }, only }: SearchRange,
): Promise<boolean> {
  const closure = closureOf(session);
  if (only !== undefined) return session.key === only.key && closure !== 'deleted';
  if (closure !== undefined || !isListed(session, config)) return false;
  return caller === undefined || isVisible(tx, session, { config, caller });
}

function shownKey(key: string, { config, caller }: SearchReader): string {
  return caller === undefined
    ? key
    : displayKey(key, { ...config.session, agentId: caller.agentId });
}

/** One walk through the hits of the index, the newest first. What a page costs is bounded. */
import { searchedText } from '../../core/message-search.ts';
import { maskBeginning } from '../../core/mask-secrets.ts';
import { findUnits } from '../../core/search-query.ts';
import { snippetAt } from '../../core/search-snippet.ts';
import { searchWordsOf } from '../../core/search-words.ts';
import { parseStoredMessage } from '../../core/stored-message.ts';
import type { Message } from '../../protocol/message.ts';
import type { SearchHitView } from '../../protocol/tools/session-tool-answers.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { ReadTx } from '../../store/store.ts';
import type { SearchHit, SearchQuery } from '../../store/transcript-repository.ts';
import type { OnUnreadable } from '../unreadable-rows.ts';
import { READ_MAX_BYTES } from './read-messages.ts';

/** Most messages that one page examines. */
const MAX_EXAMINED = 5000;
const BATCH_MAX = 500;

export interface HitWalk extends Pick<SearchQuery, 'units' | 'scopes' | 'keys' | 'before'> {
  /** only this transcript */
  sessionId: string | undefined;
  limit: number;
  /** Returns whether messages of this session are hits; asked once for each session of a page. */
  admits: (session: SessionRow) => Promise<boolean>;
  /** whether the reader is not shown the credentials in this session */
  isMasked: (sessionKey: string) => boolean;
  onUnreadable: OnUnreadable;
}
export interface HitPage {
  /** under canonical keys */
  hits: SearchHitView[];
  /** where the next page starts; undefined = there is none */
  next: number | undefined;
}

/**
 * Returns one page. It may hold fewer hits than `limit` and still have a next one: then it has examined
 * as many messages, or read as many bytes, as a page may.
 */
export async function pageOfHits(tx: ReadTx, walk: HitWalk): Promise<HitPage> {
  const page = new PageInProgress(tx, walk);
  let before = walk.before;
  // one more than the page holds tells whether there is another page
  let size = Math.min(walk.limit + 1, BATCH_MAX);
  for (let examined = 0; examined < MAX_EXAMINED; size = BATCH_MAX) {
    const { units, scopes, keys } = walk;
    const limit = Math.min(size, MAX_EXAMINED - examined);
    const found = await tx.search.find({ units, scopes, keys, before, limit });
    for (const candidate of found) {
      // a page that is full goes on behind its last hit, one that has read enough before this one
      if (!(await page.take(candidate))) return { hits: page.hits, next: page.lastHit ?? before };
      before = candidate.searchId;
    }
    if (found.length < limit) return { hits: page.hits, next: undefined };
    examined += found.length;
  }
  return { hits: page.hits, next: before };
}

class PageInProgress {
  readonly hits: SearchHitView[] = [];
  /** the place of the last hit, once the page is full and another one was seen */
  lastHit: number | undefined;
  readonly #tx: ReadTx;
  readonly #walk: HitWalk;
  readonly #admitted = new Map<string, Promise<boolean>>();
  #bytes = 0;
  #newestPlace: number | undefined;

  constructor(tx: ReadTx, walk: HitWalk) {
    this.#tx = tx;
    this.#walk = walk;
  }

  /** Takes the candidate when it is a hit; returns false when the page ends before it. */
  async take(candidate: SearchHit): Promise<boolean> {
    const { sessionKey, bytes } = candidate;
    if (sessionKey === null || bytes === null || !(await this.#isAdmitted(candidate))) return true;
    if (this.#bytes > 0 && this.#bytes + bytes > READ_MAX_BYTES) return false;
    this.#bytes += bytes;
    const hit = await this.#read(candidate, sessionKey);
    if (hit === undefined) return true;
    if (this.hits.length === this.#walk.limit) {
      this.lastHit = this.#newestPlace;
      return false;
    }
    this.hits.push(hit);
    this.#newestPlace = candidate.searchId;
    return true;
  }

  async #isAdmitted({ sessionKey, sessionId, deletedAt }: SearchHit): Promise<boolean> {
    if (sessionKey === null || deletedAt !== null) return false;
    if (this.#walk.sessionId !== undefined && this.#walk.sessionId !== sessionId) return false;
    let admitted = this.#admitted.get(sessionKey);
    if (admitted === undefined) {
      admitted = this.#ask(sessionKey);
      this.#admitted.set(sessionKey, admitted);
    }
    return admitted;
  }

  async #ask(sessionKey: string): Promise<boolean> {
    const session = await this.#tx.sessions.get(sessionKey);
    return session !== undefined && this.#walk.admits(session);
  }

  async #read(
    { sessionId, seq }: SearchHit,
    sessionKey: string,
  ): Promise<SearchHitView | undefined> {
    const [entry] = await this.#tx.entries.page({ sessionId, afterSeq: seq - 1, limit: 1 });
    const message = entry && parseStoredMessage(entry.json);
    if (message === undefined) {
      this.#walk.onUnreadable({ column: 'entries.json', id: `${sessionId} ${seq}` });
      return undefined;
    }
    const text = this.#shown(message, sessionKey);
    // what matches inside of a masked part alone is no hit
    const place = findUnits(this.#walk.units, searchWordsOf(text));
    if (place === undefined) return undefined;
    return { sessionKey, sessionId, seq, role: message.role, snippet: snippetAt(text, place) };
  }

  #shown(message: Message, sessionKey: string): string {
    if (!this.#walk.isMasked(sessionKey)) return searchedText(message);
    return searchedText(message, maskBeginning);
  }
}

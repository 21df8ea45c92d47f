/**
 * Clients that follow the messages of sessions (`sessions.messages.subscribe`). A feed keeps a place and
 * no messages: it is woken, reads rows a part at a time and waits until the client has taken them, so
 * that a slow one costs no memory and a session that nobody follows costs nothing.
 */
import { GatewayError } from '../protocol/errors.ts';
import type { FeedPage, FeedPlace, FeedStart } from '../service/sessions/follow-messages.ts';
import type { RunEvents } from '../service/run-events.ts';
import type { Services } from '../service/services.ts';
import type { Logger } from '../util/logger.ts';

export interface FeedClient {
  /** Sends one `session.message`. Resolves when it has gone out or the connection is gone; never rejects. */
  send(payloadJson: string): Promise<void>;
}
/** The feeds of one connection. */
export interface ClientFeeds {
  /** Starts to tell what follows a place, after what the client is sent now; a feed of the same session ends. */
  open(start: FeedStart, asked: { key: string }): void;
  /** Ends the feed of a session, named by its key or as it was asked for; false = there was none. */
  stop(key: string): boolean;
  close(): void;
}
export interface MessageFeeds {
  connect(client: FeedClient): ClientFeeds;
  close(): void;
}
export interface FeedDeps {
  services: Pick<Services, 'readFeed'>;
  events: RunEvents;
  logger: Logger;
  /** of one connection */
  maxFeeds: number;
}

/** The store did not answer: the place is kept, and looked at again. */
const RETRY_MS = 1000;

interface EncodedPage extends Omit<FeedPage, 'messages'> {
  payloads: string[];
}
/** Those who follow one session, and what is being read for them. */
interface Followed {
  feeds: Set<Feed>;
  /** by place, so that readers at the same place share a read; of after the last wake-up only */
  reads: Map<string, Promise<EncodedPage>>;
}

/** Returns the feeds of one gateway. */
export function createMessageFeeds(deps: FeedDeps): MessageFeeds {
  const followed = new Map<string, Followed>();
  const wake = ({ feeds, reads }: Followed): void => {
    reads.clear();
    for (const feed of feeds) feed.wake();
  };
  const stop = deps.events.subscribe((event) => {
    if (event.type !== 'messages_appended') return;
    if (event.sessionKey === undefined) return followed.forEach(wake);
    const one = followed.get(event.sessionKey);
    if (one !== undefined) wake(one);
  });
  const join = (sessionKey: string, feed: Feed): Followed => {
    const one = followed.get(sessionKey) ?? { feeds: new Set(), reads: new Map() };
    followed.set(sessionKey, one);
    one.feeds.add(feed);
    return one;
  };
  const leave = (sessionKey: string, feed: Feed): void => {
    const one = followed.get(sessionKey);
    one?.feeds.delete(feed);
    if (one?.feeds.size === 0) followed.delete(sessionKey);
  };
  return {
    connect: (client) => connectClient({ ...deps, client, join, leave }),
    close: () => {
      stop();
      for (const { feeds } of followed.values()) for (const feed of feeds) feed.end();
      followed.clear();
    },
  };
}

interface ClientDeps extends FeedDeps {
  client: FeedClient;
  join(sessionKey: string, feed: Feed): Followed;
  leave(sessionKey: string, feed: Feed): void;
}

function connectClient(deps: ClientDeps): ClientFeeds {
  const own = new Map<string, { feed: Feed; asked: string }>();
  let isGone = false;
  const end = (sessionKey: string): void => {
    const one = own.get(sessionKey);
    if (one === undefined) return;
    one.feed.end();
    own.delete(sessionKey);
    deps.leave(sessionKey, one.feed);
  };
  return {
    open: (start, asked) => {
      const { sessionKey } = start;
      // the connection went while its place was looked up
      if (isGone) return;
      if (!own.has(sessionKey) && own.size >= deps.maxFeeds) throw tooMany(own.size);
      end(sessionKey);
      const feed = new Feed(start, deps);
      own.set(sessionKey, { feed, asked: asked.key });
      // the answer goes out first
      setImmediate(() => feed.wake());
    },
    stop: (key) => {
      const found = [...own].find(([sessionKey, { asked }]) => sessionKey === key || asked === key);
      if (found !== undefined) end(found[0]);
      return found !== undefined;
    },
    close: () => {
      isGone = true;
      for (const sessionKey of own.keys()) end(sessionKey);
    },
  };
}

/** One reader. Wakes that come while it reads are one more look. */
class Feed {
  readonly #deps: ClientDeps;
  readonly #sessionKey: string;
  readonly #followed: Followed;
  #at: FeedPlace;
  #mustLook = false;
  #isReading = false;
  #hasEnded = false;
  #retry: NodeJS.Timeout | undefined;

  constructor({ sessionKey, at }: FeedStart, deps: ClientDeps) {
    this.#deps = deps;
    this.#sessionKey = sessionKey;
    this.#at = at;
    this.#followed = deps.join(sessionKey, this);
  }

  wake(): void {
    this.#mustLook = true;
    if (!this.#isReading) void this.#read();
  }

  end(): void {
    this.#hasEnded = true;
    clearTimeout(this.#retry);
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    try {
      while (this.#mustLook && !this.#hasEnded) {
        this.#mustLook = false;
        await this.#tellNext();
      }
    } catch (err) {
      this.#deps.logger.warn(
        { err, sessionKey: this.#sessionKey },
        'a message feed waits for the store',
      );
      clearTimeout(this.#retry);
      if (!this.#hasEnded) this.#retry = setTimeout(() => this.wake(), RETRY_MS);
    } finally {
      this.#isReading = false;
    }
  }

  async #tellNext(): Promise<void> {
    const page = await this.#pageAfter(this.#at);
    if (this.#hasEnded) return;
    let sent: Promise<void> | undefined;
    for (const payload of page.payloads) sent = this.#deps.client.send(payload);
    this.#at = page.at;
    this.#mustLook ||= page.hasMore;
    await sent;
  }

  #pageAfter(at: FeedPlace): Promise<EncodedPage> {
    const { reads } = this.#followed;
    const place = `${at.sessionId} ${at.seq}`;
    const going = reads.get(place);
    if (going !== undefined) return going;
    const read = this.#deps.services.readFeed({ sessionKey: this.#sessionKey, at }).then(encode);
    const forget = (): void => {
      if (reads.get(place) === read) reads.delete(place);
    };
    reads.set(place, read);
    void read.then(forget, forget);
    return read;
  }
}

function encode({ messages, ...rest }: FeedPage): EncodedPage {
  return { ...rest, payloads: messages.map((message) => JSON.stringify(message)) };
}

function tooMany(count: number): GatewayError {
  return new GatewayError(
    'invalid_request',
    `this connection follows ${count} sessions, and no more are possible; end one with sessions.messages.unsubscribe`,
    { details: { code: 'TOO_MANY_SUBSCRIPTIONS' } },
  );
}

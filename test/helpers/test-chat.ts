/**
 * A chat service with a ledger: what it was handed, and what stands in its chats. It can go wrong
 * before, during and after a text is shown, and be held in the middle of a call.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import type { InboundMessage, ReadBack } from '../../src/channels/channel.ts';

export interface Handed {
  channel: string;
  idempotencyKey: string;
  sessionKey: string;
  to: string | null;
  threadId: string | null;
  text: string;
}

export type Failure =
  /** 503, not shown */
  | 'refuse'
  /** 400, not shown */
  | 'refuse for good'
  /** the connection breaks, not shown */
  | 'lose'
  /** the connection breaks, shown */
  | 'lose answer'
  /** 500, shown */
  | 'fail after'
  /** shown, never answered */
  | 'hang';

export interface TestChat {
  url: string;
  /** every hand-over, in order */
  handed: Handed[];
  /** texts as they stand in a chat, oldest first */
  shown(to: string): string[];
  /** Makes the next hand-overs of texts that hold `match` go wrong, one after another. */
  fail(match: string, ...how: Failure[]): void;
  /** what people wrote, for gateways that ask at their start */
  inbox: { channel: string; message: InboundMessage }[];
  /** What a look answers instead of the truth; `fails` = 500. */
  looks: (ReadBack | 'fails')[];
  /** Keeps hand-overs of texts that hold `match` waiting; `shownFirst` = they stand in the chat already. */
  hold(match: string, shownFirst?: boolean): HeldTexts;
}

export interface HeldTexts {
  /** Resolves when so many have arrived. */
  arrived(nth?: number): Promise<void>;
  /** Lets them go on, and later ones pass. */
  release(): void;
  /** The same, but those that wait are neither shown nor answered. */
  drop(): void;
}

/** Starts a chat that ends with the test. */
export async function startTestChat(t: Pick<TestContext, 'after'>): Promise<TestChat> {
  const failures: { match: string; how: Failure }[] = [];
  const holds: Hold[] = [];
  const standing: Handed[] = [];
  const chat: Omit<TestChat, 'url'> = {
    handed: [],
    looks: [],
    inbox: [],
    shown: (to) => standing.filter((part) => part.to === to).map(({ text }) => text),
    fail: (match, ...how) => failures.push(...how.map((each) => ({ match, how: each }))),
    hold: (match, shownFirst = false) => {
      const held = new Hold(match, shownFirst);
      holds.push(held);
      return held;
    },
  };
  const show = (part: Handed): void => {
    const isKnown = (other: Handed): boolean =>
      other.channel === part.channel && other.idempotencyKey === part.idempotencyKey;
    if (part.channel !== 'keyed' || !standing.some(isKnown)) standing.push(part);
  };
  const take = async (part: Handed, response: ServerResponse): Promise<void> => {
    chat.handed.push(part);
    const at = failures.findIndex(({ match }) => part.text.includes(match));
    const how = at === -1 ? undefined : failures.splice(at, 1)[0]?.how;
    for (const held of holds) {
      if (!part.text.includes(held.match)) continue;
      if (held.shownFirst) show(part);
      if (!(await held.wait())) return void response.destroy();
      if (held.shownFirst) return answer(response, 200, { messageId: idOf(part) });
    }
    if (how === 'lose') return void response.destroy();
    if (how === 'refuse') return answer(response, 503);
    if (how === 'refuse for good') return answer(response, 400);
    show(part);
    if (how === 'lose answer') return void response.destroy();
    if (how === 'hang') return;
    if (how === 'fail after') return answer(response, 500);
    answer(response, 200, { messageId: idOf(part) });
  };
  const look = ({ channel, idempotencyKey }: Handed, response: ServerResponse): void => {
    const told = chat.looks.shift();
    if (told === 'fails') return answer(response, 500);
    const isThere = standing.some(
      (part) => part.channel === channel && part.idempotencyKey === idempotencyKey,
    );
    answer(response, 200, { found: told ?? (isThere ? 'sent' : 'not-sent') });
  };
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const part = JSON.parse(await readText(request)) as Handed;
    if (request.url === '/inbox') return answer(response, 200, chat.inbox);
    await (request.url === '/look' ? look(part, response) : take(part, response));
  };
  const server = createServer((request, response) => {
    void handle(request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    for (const held of holds) held.release();
    server.closeAllConnections();
    server.close();
  });
  return Object.assign(chat, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

/** Hand-overs that wait until they are let go. */
class Hold implements HeldTexts {
  readonly match: string;
  readonly shownFirst: boolean;
  #count = 0;
  readonly #end = Promise.withResolvers<boolean>();
  #isOver = false;
  readonly #watchers: { nth: number; tell: () => void }[] = [];
  constructor(match: string, shownFirst: boolean) {
    this.match = match;
    this.shownFirst = shownFirst;
  }

  /** Resolves with whether it goes on. */
  wait(): Promise<boolean> {
    this.#count += 1;
    for (const { nth, tell } of this.#watchers) if (this.#count >= nth) tell();
    return this.#isOver ? Promise.resolve(true) : this.#end.promise;
  }

  async arrived(nth = 1): Promise<void> {
    if (this.#count >= nth) return;
    await new Promise<void>((tell) => this.#watchers.push({ nth, tell }));
  }

  release(): void {
    this.#letGo(true);
  }

  drop(): void {
    this.#letGo(false);
  }

  #letGo(goesOn: boolean): void {
    this.#isOver = true;
    this.#end.resolve(goesOn);
  }
}

function idOf({ channel, idempotencyKey }: Handed): string {
  return `${channel} message ${idempotencyKey}`;
}

function answer(response: ServerResponse, status: number, body: object = {}): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

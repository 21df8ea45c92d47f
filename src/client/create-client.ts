/**
 * A client that stays: it connects again by itself, and its calls, waits and subscriptions go on. On the
 * standard WebSocket, in Node and browsers alike.
 */
import type { AgentAccepted, AgentFinal } from '../protocol/answers/run-answers.ts';
import { ERROR_CODES, GatewayError, toGatewayError } from '../protocol/errors.ts';
import type { EventName, EventPayloads } from '../protocol/events.ts';
import type { EventFrame, HelloOk } from '../protocol/frames.ts';
import type { MethodInput } from '../protocol/methods.ts';
import type { ConnectOptions } from './connect-options.ts';
import { MessageFollower } from './followed-messages.ts';
import type { FollowedMessages, FollowOptions } from './followed-messages.ts';
import { connectGateway, toTypedCall } from './gateway-client.ts';
import type { GatewayClient, RequestOptions, TypedCall } from './gateway-client.ts';
import { createOpenCalls } from './open-calls.ts';

export interface ClientOptions extends Omit<ConnectOptions, 'signal'> {
  /** where the gateway is and what it wants to see now, asked before each attempt; goes before `url`, `token` and `password`. Contract: must not throw */
  findPlace?: (() => Partial<Pick<ConnectOptions, 'url' | 'token' | 'password'>>) | undefined;
  /** pause before the first attempt to connect again; it doubles, with jitter. default 100 */
  firstRetryMs?: number | undefined;
  /** longest pause; default 10000 */
  lastRetryMs?: number | undefined;
  /** how long a call waits for a connection; default 60000 */
  patienceMs?: number | undefined;
  /** the same before the first connection, when the gateway may never have been there; as `patienceMs` when absent */
  firstPatienceMs?: number | undefined;
  /** told what a listener throws; nobody is when absent */
  onListenerError?: ((error: unknown) => void) | undefined;
}

/** `closed` is the end: `close()`, or a gateway that does not let this client in. */
export type ClientState = 'connecting' | 'open' | 'reconnecting' | 'closed';

/**
 * Contract: every call settles. What was sent when a connection broke is sent again when it changes
 * nothing or has an idempotencyKey, else it is rejected `unavailable` with `details.code`
 * `OUTCOME_UNKNOWN`; waits go on with the time that is left to them.
 */
export interface Client {
  readonly state: ClientState;
  /** of the last connection */
  readonly hello: HelloOk | undefined;
  /** Calls a method, with the parameters and the answer of the protocol. */
  call: TypedCall;
  /** Calls whatever method. Resolves with the first answer. */
  request<Answer = Record<string, unknown>>(
    method: string,
    params?: object,
    options?: RequestOptions,
  ): Promise<Answer>;
  /** `agent`: tells once of the acceptance, resolves when the run has ended. */
  runAgent(
    params: MethodInput['agent'],
    options?: RequestOptions & { onAccepted?: (accepted: AgentAccepted) => void },
  ): Promise<AgentFinal>;
  /** Follows the messages of a session: each once, in order, whatever connections break. */
  followMessages(options: FollowOptions): Promise<FollowedMessages>;
  /** Listens to an event; returns the way to stop. What happens without a connection is not told later. */
  on<Name extends EventName>(
    event: Name,
    listener: (payload: EventPayloads[Name]) => void,
  ): () => void;
  /** Listens to the state; `error` is why it is not `open`. Returns the way to stop. */
  onState(listener: (state: ClientState, error: GatewayError | undefined) => void): () => void;
  /** Ends everything, and resolves when nothing is left. May be called twice. */
  close(): Promise<void>;
}

const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 10_000;
const PATIENCE_MS = 60_000;
/** A gateway that does not answer the close frame is not waited for. */
const CLOSE_MS = 1000;

/** Returns a client that is connecting; calls may be made at once. */
export function createClient(options: ClientOptions): Client {
  return new ReconnectingClient(options);
}

class ReconnectingClient implements Client {
  readonly #options: ClientOptions;
  readonly #calls: ReturnType<typeof createOpenCalls>;
  readonly #followers = new Set<MessageFollower>();
  readonly #listeners = new Map<EventName, Set<(payload: never) => void>>();
  readonly #stateListeners = new Set<Parameters<Client['onState']>[0]>();
  readonly #closing = new AbortController();
  /** ends what is waited for now */
  #interrupt: () => void = () => {};
  readonly #running: Promise<void>;
  #state: ClientState = 'connecting';
  #hello: HelloOk | undefined;
  #connection: GatewayClient | undefined;
  /** why it is not connected */
  #lastError: GatewayError | undefined;

  constructor(options: ClientOptions) {
    this.#options = options;
    const { patienceMs = PATIENCE_MS, firstPatienceMs = patienceMs } = options;
    this.#calls = createOpenCalls({
      patienceMs: () => (this.#hello === undefined ? firstPatienceMs : patienceMs),
      why: () => this.#lastError,
    });
    this.#running = this.#run();
  }

  get state(): ClientState {
    return this.#state;
  }

  get hello(): HelloOk | undefined {
    return this.#hello;
  }

  readonly call = toTypedCall((method, params, options) => this.request(method, params, options));

  request<Answer>(
    method: string,
    params: object = {},
    options: RequestOptions = {},
  ): Promise<Answer> {
    const added = this.#calls.add({ method, params, options, isTwofold: false });
    return added as Promise<Answer>;
  }

  runAgent(
    params: MethodInput['agent'],
    options: RequestOptions & { onAccepted?: (accepted: AgentAccepted) => void } = {},
  ): Promise<AgentFinal> {
    const added = this.#calls.add({ method: 'agent', params, options, isTwofold: true });
    return added as Promise<AgentFinal>;
  }

  followMessages(options: FollowOptions): Promise<FollowedMessages> {
    const follower = new MessageFollower(options, {
      onOver: (over) => this.#unfollow(over),
      claim: (claiming) => this.#claim(claiming),
    });
    if (this.#state === 'closed') {
      follower.end(isClosed());
      return follower.started;
    }
    this.#followers.add(follower);
    if (this.#connection !== undefined) follower.resume(this.#connection);
    return follower.started;
  }

  on<Name extends EventName>(
    event: Name,
    listener: (payload: EventPayloads[Name]) => void,
  ): () => void {
    const listeners = this.#listeners.get(event) ?? new Set();
    this.#listeners.set(event, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  onState(listener: Parameters<Client['onState']>[0]): () => void {
    this.#stateListeners.add(listener);
    return () => this.#stateListeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#end(isClosed());
    await this.#running;
  }

  /** Connects again and again, until the client is closed or is not let in. */
  async #run(): Promise<void> {
    // whoever has made the client may listen to its state first
    await Promise.resolve();
    for (let attempt = 0; this.#state !== 'closed'; attempt += 1) {
      try {
        const { signal } = this.#closing;
        const place = this.#options.findPlace?.();
        const connection = await connectGateway({ ...this.#options, ...place, signal });
        attempt = -1;
        await this.#use(connection);
      } catch (thrown) {
        const error = toGatewayError(thrown);
        if (!ERROR_CODES[error.code].retryable) return this.#end(error);
        await this.#pause(attempt, error);
      }
    }
  }

  /** Rejects with what ended the connection; resolves when the client was closed. */
  async #use(connection: GatewayClient): Promise<void> {
    if (this.#state === 'closed') return await closeSoon(connection);
    connection.on((frame) => this.#hear(frame));
    this.#connection = connection;
    this.#hello = connection.hello;
    for (const follower of this.#followers) follower.resume(connection);
    this.#calls.sendOn(connection);
    this.#setState('open', undefined);
    const closing = new Promise<undefined>((resolve) => {
      this.#interrupt = () => resolve(undefined);
    });
    const gone = await Promise.race([connection.closed, closing]);
    this.#connection = undefined;
    this.#calls.hold();
    if (gone === undefined) return await closeSoon(connection);
    const { code, reason } = gone;
    throw new GatewayError(
      'unavailable',
      `the connection to the gateway ended: ${`${code} ${reason}`.trim()}`,
      { details: { closeCode: code } },
    );
  }

  async #pause(attempt: number, error: GatewayError): Promise<void> {
    if (this.#state === 'closed') return;
    // a first attempt that fails is no reconnection
    this.#setState(this.#hello === undefined ? 'connecting' : 'reconnecting', error);
    const { firstRetryMs = FIRST_RETRY_MS, lastRetryMs = LAST_RETRY_MS } = this.#options;
    const retryAfterMs = error.details?.['retryAfterMs'];
    const asked = typeof retryAfterMs === 'number' ? retryAfterMs : 0;
    const longest = Math.min(lastRetryMs, firstRetryMs * 2 ** Math.max(0, attempt));
    // jitter: clients that lost one gateway do not come back at once
    const pauseMs = Math.max(asked, longest / 2 + (Math.random() * longest) / 2);
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, pauseMs);
      this.#interrupt = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #end(error: GatewayError): void {
    if (this.#state === 'closed') return;
    this.#setState('closed', error);
    this.#calls.end(error);
    for (const follower of this.#followers) follower.end(error);
    this.#closing.abort();
    this.#interrupt();
  }

  #hear({ event, payload }: EventFrame): void {
    if (event === 'session.message')
      for (const follower of this.#followers) follower.tell(payload as EventPayloads[typeof event]);
    for (const listener of this.#listeners.get(event) ?? [])
      this.#safely(() => listener(payload as never));
  }

  #setState(state: ClientState, error: GatewayError | undefined): void {
    this.#state = state;
    this.#lastError = error;
    for (const listener of this.#stateListeners) this.#safely(() => listener(state, error));
  }

  /** A listener that throws stops nothing. */
  #safely(tell: () => void): void {
    try {
      tell();
    } catch (error) {
      try {
        this.#options.onListenerError?.(error);
      } catch {
        // nobody else is there to be told
      }
    }
  }

  /** A connection has one subscription a session: a newer one takes the place of the older, which goes on. */
  #claim(claiming: MessageFollower): boolean {
    const first = this.#followerOf(claiming);
    if (first === undefined && !claiming.isOver) return true;
    if (first === undefined) this.#unsubscribe(claiming);
    else if (this.#connection !== undefined) first.resume(this.#connection);
    return false;
  }

  #unfollow(follower: MessageFollower): void {
    this.#followers.delete(follower);
    if (follower.hasBegun && this.#followerOf(follower) === undefined) this.#unsubscribe(follower);
  }

  /** Another one that follows the same session. */
  #followerOf({ sessionKey }: MessageFollower): MessageFollower | undefined {
    return [...this.#followers].find((one) => one.hasBegun && one.sessionKey === sessionKey);
  }

  #unsubscribe({ sessionKey: key }: MessageFollower): void {
    // a connection that is gone has no subscriptions
    this.#connection?.call('sessions.messages.unsubscribe', { key }).catch(() => {});
  }
}

async function closeSoon(connection: GatewayClient): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const tooLong = new Promise<void>((resolve) => (timer = setTimeout(resolve, CLOSE_MS)));
  await Promise.race([connection.close(), tooLong]);
  clearTimeout(timer);
}

function isClosed(): GatewayError {
  return new GatewayError('unavailable', 'the client is closed', {
    details: { code: 'CLIENT_CLOSED' },
  });
}

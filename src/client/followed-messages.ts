/** One session whose messages a client follows, across connections: each is told once, in order. */
import type { MessagesSubscribed } from '../protocol/answers/session-answers.ts';
import { ERROR_CODES, GatewayError, toGatewayError } from '../protocol/errors.ts';
import type { EventPayloads, MessagePosition } from '../protocol/events.ts';
import { isConnectionLost } from './gateway-client.ts';
import type { GatewayClient } from './gateway-client.ts';

export type SessionMessage = EventPayloads['session.message'];
export interface FollowOptions {
  /** a session key, `main` or a sessionId */
  key: string;
  /** from now on when absent; a number counts in the transcript that the key names */
  afterSeq?: number | MessagePosition | undefined;
  /** Contract: must not throw; what it throws ends the subscription. */
  onMessage: (message: SessionMessage) => void;
  /** the subscription has ended: with what went wrong, or without when it was closed */
  onEnd?: ((error: GatewayError | undefined) => void) | undefined;
}
export interface FollowedMessages {
  /** as the events name it */
  readonly sessionKey: string;
  /** after the last message that was told; keep it to go on from there later */
  readonly position: MessagePosition;
  close(): void;
}

/** A store that does not answer the subscription is asked again. */
const RETRY_MS = 1000;

export class MessageFollower implements FollowedMessages {
  /** resolves once the gateway has taken the subscription, rejects when it does not */
  readonly started: Promise<FollowedMessages>;
  readonly #options: FollowOptions;
  readonly #start = Promise.withResolvers<FollowedMessages>();
  readonly #onOver: (follower: MessageFollower) => void;
  /** false = it is over, or another one follows the session, which then goes on in its place */
  readonly #claim: (follower: MessageFollower) => boolean;
  #sessionKey: string | undefined;
  #position: MessagePosition | undefined;
  /** what comes is of an earlier subscription until this one is answered */
  #isTold = false;
  #isOver = false;
  #retry: ReturnType<typeof setTimeout> | undefined;

  constructor(
    options: FollowOptions,
    hooks: {
      onOver: (follower: MessageFollower) => void;
      claim: (follower: MessageFollower) => boolean;
    },
  ) {
    this.#options = options;
    this.#onOver = hooks.onOver;
    this.#claim = hooks.claim;
    this.started = this.#start.promise;
    // whoever waits for it hears of it; with nobody waiting it is no unhandled rejection
    this.started.catch(() => {});
  }

  /** the gateway has taken it once; it has a place from then on */
  get hasBegun(): boolean {
    return this.#position !== undefined;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  get sessionKey(): string {
    return this.#sessionKey ?? this.#options.key;
  }

  get position(): MessagePosition {
    return this.#position ?? { sessionId: '', seq: 0 };
  }

  /** Subscribes on a connection, from where it is. */
  resume(connection: GatewayClient): void {
    if (this.#isOver) return;
    clearTimeout(this.#retry);
    this.#isTold = false;
    const afterSeq = this.#position ?? this.#options.afterSeq;
    const params = { key: this.sessionKey, ...(afterSeq === undefined ? {} : { afterSeq }) };
    const onAnswer = (answer: unknown): void => this.#begin(answer as MessagesSubscribed);
    connection.request('sessions.messages.subscribe', params, { onAnswer }).catch((thrown) => {
      const error = toGatewayError(thrown);
      // the next connection goes on with it
      if (isConnectionLost(error)) return;
      if (!ERROR_CODES[error.code].retryable) return this.end(error);
      this.#retry = setTimeout(() => connection.isOpen && this.resume(connection), RETRY_MS);
    });
  }

  /** Contract: called with the events of the connection it was resumed on last, in their order. */
  tell(message: SessionMessage): void {
    if (this.#isOver || !this.#isTold || message.sessionKey !== this.#sessionKey) return;
    const { sessionId, seq } = message;
    try {
      this.#options.onMessage(message);
    } catch (error) {
      return this.end(toGatewayError(error));
    }
    this.#position = { sessionId, seq };
  }

  end(error?: GatewayError): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#retry);
    this.#start.reject(error ?? new GatewayError('unavailable', 'the subscription was closed'));
    this.#onOver(this);
    try {
      this.#options.onEnd?.(error);
    } catch {
      // it has ended all the same
    }
  }

  close(): void {
    this.end();
  }

  #begin({ key, sessionId, seq }: MessagesSubscribed): void {
    this.#sessionKey = key;
    if (!this.hasBegun && !this.#claim(this)) return this.end(followedAlready(key));
    // closed meanwhile: whoever closed it has unsubscribed
    if (this.#isOver) return;
    this.#position ??= { sessionId, seq };
    this.#isTold = true;
    this.#start.resolve(this);
  }
}

function followedAlready(key: string): GatewayError {
  return new GatewayError(
    'invalid_request',
    `this client follows the messages of ${key} already; close that subscription, or use another client`,
  );
}

/**
 * One WebSocket connection. States: `challenged` (our nonce is out, only `connect` is heard) →
 * `judged` (what comes meanwhile is held) → `open` (requests and events) → `closed`. Whatever a client does ends in a response or a close.
 */
import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import type { RawData, WebSocket } from 'ws';
import { maskSecrets, maskValue } from '../core/mask-secrets.ts';
import { GatewayError, toGatewayError } from '../protocol/errors.ts';
import type { EventName, PlainPayloads } from '../protocol/events.ts';
import type { RequestFrame } from '../protocol/frames.ts';
import type { OperatorScope } from '../protocol/scopes.ts';
import type { StateVersion } from '../protocol/presence.ts';
import { toWireError } from '../protocol/wire-error.ts';
import type { Clock } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import type { AuthPeer } from './auth-limiter.ts';
import type { SharedSecret } from './authenticate.ts';
import type { Dispatch } from './dispatch.ts';
import { CLOSE, judgeConnect, toHello } from './handshake.ts';
import type { ClientSession, HandshakeDeps, PresenceSnapshot } from './handshake.ts';
import type { GatewayLimits } from './limits.ts';
import type { ClientFeeds, MessageFeeds } from './message-feeds.ts';
import { parseFrame } from './parse-frame.ts';
import type { Presence } from './presence.ts';
import { createRunViews } from './run-views.ts';
import type { Watcher } from './subscriptions.ts';

export interface ConnectionDeps extends HandshakeDeps {
  dispatch: Dispatch;
  feeds: MessageFeeds;
  presence: Presence;
  limits: GatewayLimits;
  logger: Logger;
  clock: Clock;
  version: string;
  startedAt: number;
  isReady: () => boolean;
  /** called once a client with `operator.read` is connected, and when it is gone */
  onWatcher: (watcher: Watcher) => void;
  onGone: (connection: Connection, watcher: Watcher | undefined) => void;
}

interface ReceivedFrame {
  data: RawData;
  isBinary: boolean;
}

export class Connection {
  readonly #deps: ConnectionDeps;
  readonly #socket: WebSocket;
  readonly #peer: AuthPeer;
  readonly #id = randomUUID();
  readonly #gone = new AbortController();
  readonly #views = createRunViews();
  readonly #handshakeTimer: NodeJS.Timeout;
  readonly #nonce = randomUUID();
  #session: ClientSession | undefined;
  /** the device that it says it is, from the moment it says so */
  #deviceId: string | undefined;
  /** what came while `connect` was judged; bounded by what may come before it is through */
  #held: ReceivedFrame[] | undefined;
  #watcher: Watcher | undefined;
  readonly #feeds: ClientFeeds;
  /** takes it off the list of who is connected */
  #leave: () => void = () => {};
  /** of that list, what it was told last */
  #presenceVersion = 0;
  #receivedBytes = 0;
  #seq = 0;
  #inFlight = 0;
  #silentTicks = 0;

  constructor(socket: WebSocket, { deps, peer }: { deps: ConnectionDeps; peer: AuthPeer }) {
    this.#socket = socket;
    this.#deps = deps;
    this.#peer = peer;
    this.#feeds = deps.feeds.connect({
      send: (payload) =>
        new Promise((onSent) => this.#sendEventJson('session.message', payload, { onSent })),
    });
    // every waiting request listens
    setMaxListeners(0, this.#gone.signal);
    this.#handshakeTimer = setTimeout(
      () => this.close(CLOSE.refused, 'no connect frame in time'),
      deps.limits.handshakeTimeoutMs,
    );
    socket.on('message', (data, isBinary) => this.#receive(data, isBinary));
    socket.on('pong', () => (this.#silentTicks = 0));
    // `close` follows
    socket.on('error', (err) => deps.logger.debug({ err, connId: this.#id }, 'socket error'));
    socket.on('close', () => this.#end());
    this.#sendEvent('connect.challenge', { nonce: this.#nonce, ts: deps.clock.now() });
  }

  /** Counts what arrives before the client is connected, so that nobody unknown fills the memory. */
  countBytes(bytes: number): void {
    if (this.#session !== undefined) return;
    this.#receivedBytes += bytes;
    if (this.#receivedBytes <= this.#deps.limits.preAuthBytes) return;
    this.close(CLOSE.tooLarge, 'too much before connect');
    // nothing more is read; the close frame still goes out
    this.#socket.pause();
  }

  /** The heartbeat: tells the time, and ends a peer that did not answer the pings of two ticks. */
  tick(): void {
    if (this.#session === undefined) return;
    this.#silentTicks += 1;
    if (this.#silentTicks > 2) return this.#socket.terminate();
    this.#sendEvent('tick', { ts: this.#deps.clock.now() });
    this.#socket.ping();
  }

  /** Says why and closes; for a gateway that goes away. */
  shutDown(reason: string): void {
    if (this.#session !== undefined) this.#sendEvent('shutdown', { reason });
    this.close(CLOSE.restart, reason);
  }

  /** Sends an event that is no run's; nothing before the client is connected. */
  tell<Name extends keyof PlainPayloads>(event: Name, payload: PlainPayloads[Name]): void {
    if (this.#session !== undefined) this.#sendEvent(event, payload);
  }

  /** Whether it may know of this state of who is connected, and does not yet. */
  lacksPresence(version: number): boolean {
    return this.hasScope('operator.read') && this.#presenceVersion < version;
  }

  /** Sends the list, already as JSON. */
  tellPresence(payloadJson: string, version: number): void {
    this.#presenceVersion = version;
    this.#sendEventJson('presence', payloadJson, { stateVersion: toStateVersion(version) });
  }

  hasScope(scope: OperatorScope): boolean {
    return this.#session?.scopes.includes(scope) ?? false;
  }

  /** Closes the connection of a device, also while it is still being let in. */
  closeDevice(deviceId: string): void {
    if (this.#deviceId === deviceId) this.close(CLOSE.refused, 'DEVICE_REVOKED');
  }

  /** Closes a connection that was let in under another secret than the one in force. */
  closeOutdated(): void {
    if (this.#session !== undefined && isOutdated(this.#session, this.#deps.secret))
      this.#closeRotated();
  }

  close(code: number, reason: string): void {
    // a close frame has room for 123 bytes
    this.#socket.close(
      code,
      Buffer.from(reason)
        .subarray(0, 120)
        .toString()
        .replace(/\uFFFD$/, ''),
    );
  }

  terminate(): void {
    this.#socket.terminate();
  }

  #receive(data: RawData, isBinary: boolean): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    if (this.#held !== undefined) return void this.#held.push({ data, isBinary });
    if (isBinary) return this.close(CLOSE.notText, 'frames are text');
    const { preAuthBytes, maxJsonDepth } = this.#deps.limits;
    const text = toText(data);
    if (this.#session === undefined && text.length > preAuthBytes)
      return this.close(CLOSE.tooLarge, 'too much before connect');
    const parsed = parseFrame(text, maxJsonDepth);
    if (parsed.kind === 'request') {
      if (this.#session === undefined) void this.#connect(parsed.frame);
      else void this.#answer(parsed.frame, this.#session);
      return;
    }
    if (parsed.id !== undefined) this.#respondError(parsed.id, parsed.error);
    if (this.#session === undefined) this.close(CLOSE.refused, 'the first frame must be connect');
    else if (parsed.id === undefined)
      this.close(CLOSE.invalidFrame, maskSecrets(parsed.error.message));
  }

  async #connect(frame: RequestFrame): Promise<void> {
    const held: ReceivedFrame[] = [];
    this.#held = held;
    const result = await judgeConnect(frame, {
      deps: this.#deps,
      peer: this.#peer,
      nonce: this.#nonce,
      onDevice: (deviceId) => (this.#deviceId = deviceId),
    });
    this.#held = undefined;
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    if (!result.ok) {
      const error = this.#respondError(frame.id, result.error);
      return this.close(result.closeCode, maskSecrets(error.message));
    }
    // the secret may have been replaced meanwhile
    if (isOutdated(result.session, this.#deps.secret)) return this.#closeRotated();
    this.#open(frame.id, result.session);
    for (const { data, isBinary } of held) this.#receive(data, isBinary);
  }

  #closeRotated(): void {
    this.close(CLOSE.refused, 'AUTH_CREDENTIAL_ROTATED');
  }

  #open(id: string, session: ClientSession): void {
    const { limits, clock, version, startedAt, isReady } = this.#deps;
    clearTimeout(this.#handshakeTimer);
    this.#session = session;
    const about = { connId: this.#id, version, startedAt, limits, presence: this.#join(session) };
    this.#respond(id, toHello(session, { ...about, isReady: isReady(), now: clock.now() }));
    if (session.scopes.includes('operator.read')) this.#watch(session);
  }

  /** Without `operator.read` it is told of nobody. */
  #join({ client, scopes, deviceId }: ClientSession): PresenceSnapshot {
    const { presence } = this.#deps;
    const { address } = this.#peer;
    this.#leave = presence.join({ connId: this.#id, client, address, scopes, deviceId });
    this.#presenceVersion = presence.version();
    const entries = this.hasScope('operator.read') ? presence.entries() : [];
    return { entries, stateVersion: toStateVersion(this.#presenceVersion) };
  }

  #watch({ protocol, caps }: ClientSession): void {
    const sendEvent: Watcher['sendEvent'] = (event, payload) => this.#sendEventJson(event, payload);
    this.#watcher = { protocol, caps, views: this.#views, hearsSessions: true, sendEvent };
    this.#deps.onWatcher(this.#watcher);
  }

  async #answer(frame: RequestFrame, session: ClientSession): Promise<void> {
    if (this.#inFlight >= this.#deps.limits.maxInFlight)
      return void this.#respondError(frame.id, tooManyInFlight(this.#inFlight));
    this.#inFlight += 1;
    try {
      const payload = await this.#deps.dispatch(frame, {
        scopes: session.scopes,
        deviceId: session.deviceId,
        signal: this.#gone.signal,
        respond: (first) => this.#respond(frame.id, first),
        markStarted: (runId) => (this.#views.of(runId).isStarter = true),
        tellSessions: (isWanted) => {
          if (this.#watcher !== undefined) this.#watcher.hearsSessions = isWanted;
        },
        feeds: this.#feeds,
      });
      this.#respond(frame.id, payload);
    } catch (error) {
      this.#respondError(frame.id, error);
    } finally {
      this.#inFlight -= 1;
    }
  }

  #respond(id: string, payload: unknown): void {
    this.#send(JSON.stringify({ type: 'res', id, ok: true, payload }));
  }

  /** The one place where this door turns what was thrown into an answer. */
  #respondError(id: string, thrown: unknown): GatewayError {
    const error = toGatewayError(thrown);
    if (error.code === 'internal' && !this.#gone.signal.aborted)
      this.#deps.logger.error({ err: thrown, connId: this.#id }, 'request failed');
    this.#send(
      JSON.stringify({ type: 'res', id, ok: false, error: maskValue(toWireError(error)) }),
    );
    return error;
  }

  #sendEvent<Name extends keyof PlainPayloads>(event: Name, payload: PlainPayloads[Name]): void {
    this.#sendEventJson(event, JSON.stringify(payload));
  }

  #sendEventJson(
    event: EventName,
    payloadJson: string,
    { onSent, stateVersion }: { onSent?: () => void; stateVersion?: StateVersion } = {},
  ): void {
    this.#seq += 1;
    const state =
      stateVersion === undefined ? '' : `,"stateVersion":${JSON.stringify(stateVersion)}`;
    const frame = `{"type":"event","event":"${event}","payload":${payloadJson},"seq":${this.#seq}${state}}`;
    this.#send(frame, onSent);
  }

  /** `onSent` is called when the frame has gone out, or never will. */
  #send(frame: string, onSent?: () => void): void {
    const socket = this.#socket;
    if (socket.readyState !== socket.OPEN) return onSent?.();
    if (socket.bufferedAmount + frame.length <= this.#deps.limits.maxBufferedBytes)
      return socket.send(frame, onSent);
    this.#cutOff();
    onSent?.();
  }

  /** The close frame waits behind all that is not read; who does not get there soon is ended without it. */
  #cutOff(): void {
    const bufferedBytes = this.#socket.bufferedAmount;
    this.#deps.logger.warn({ connId: this.#id, bufferedBytes }, 'slow reader cut off');
    this.close(CLOSE.refused, 'SLOW_READER: connect again, subscribe with afterSeq');
  }

  #end(): void {
    clearTimeout(this.#handshakeTimer);
    this.#feeds.close();
    this.#gone.abort();
    this.#leave();
    this.#deps.onGone(this, this.#watcher);
  }
}

/** Health is asked for, and not counted. */
function toStateVersion(presence: number): StateVersion {
  return { presence, health: 0 };
}

/** A device token outlives the secret. */
function isOutdated({ generation }: ClientSession, secret: SharedSecret): boolean {
  return generation !== undefined && generation !== secret.generation;
}

function toText(data: RawData): string {
  if (Array.isArray(data)) return Buffer.concat(data).toString();
  return data instanceof ArrayBuffer ? Buffer.from(data).toString() : data.toString();
}

function tooManyInFlight(count: number): GatewayError {
  return new GatewayError(
    'unavailable',
    `${count} requests of this connection are unanswered; wait for one`,
    { details: { code: 'TOO_MANY_IN_FLIGHT', retryAfterMs: 1000 } },
  );
}

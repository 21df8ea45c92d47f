/** One connection to a gateway, on the standard WebSocket: Node and browsers alike. */
import type { AgentAccepted, AgentFinal } from '../protocol/answers/run-answers.ts';
import type { MethodAnswers } from '../protocol/answers/method-answers.ts';
import { GatewayError, toGatewayError } from '../protocol/errors.ts';
import type { EventFrame, HelloOk, ResponseFrame, ServerFrame } from '../protocol/frames.ts';
import type { MethodInput, MethodName } from '../protocol/methods.ts';
import { fromWireError } from '../protocol/wire-error.ts';
import { isDeeperThan, MAX_JSON_DEPTH } from '../protocol/json-depth.ts';
import { toConnectParams, toSocketUrl } from './connect-options.ts';
import type { ConnectOptions } from './connect-options.ts';

export interface RequestOptions {
  /** until the answer; none when absent: a dead gateway is noticed by its missing ticks */
  timeoutMs?: number | undefined;
  /** called as the answer comes in, before whatever comes behind it */
  onAnswer?: ((answer: unknown) => void) | undefined;
}
export interface RunAgentOptions extends RequestOptions {
  onAccepted?: ((accepted: AgentAccepted) => void) | undefined;
}

export interface CloseInfo {
  code: number;
  reason: string;
}

/**
 * Contract: every request settles: with the answer, with the gateway's `GatewayError`, or with
 * `unavailable` when the connection ends first.
 */
export interface GatewayClient {
  readonly hello: HelloOk;
  /** resolves when the connection has ended, whoever ended it */
  readonly closed: Promise<CloseInfo>;
  readonly isOpen: boolean;
  /** Calls a method, with the parameters and the answer of the protocol. */
  call: TypedCall;
  /** Calls whatever method. Resolves with the first answer. */
  request<Answer = Record<string, unknown>>(
    method: string,
    params?: object,
    options?: RequestOptions,
  ): Promise<Answer>;
  /** `agent`: tells of the acceptance, resolves when the run has ended. */
  runAgent(params: object, options?: RunAgentOptions): Promise<AgentFinal>;
  /** Listens to the events; returns the way to stop. */
  on(listener: (event: EventFrame) => void): () => void;
  close(): Promise<CloseInfo>;
}

/** Parameters may be left out where a method needs none. */
export type TypedCall = <Name extends MethodName>(
  method: Name,
  ...given: Record<string, never> extends MethodInput[Name]
    ? [params?: MethodInput[Name], options?: RequestOptions]
    : [params: MethodInput[Name], options?: RequestOptions]
) => Promise<MethodAnswers[Name]>;

/** Returns a way to call whatever method as one that knows the methods: the gateway keeps to their answers. */
export function toTypedCall(
  request: (method: string, params?: object, options?: RequestOptions) => Promise<unknown>,
): TypedCall {
  return request as TypedCall;
}

const DEFAULT_CONNECT_TIMEOUT_MS = 10_000;
/** silent heartbeats after which the gateway counts as gone */
const SILENT_TICKS = 3;

/** Connects, or rejects: `unavailable` when nobody answers, `unauthorized` and others as the gateway says. */
export async function connectGateway(options: ConnectOptions): Promise<GatewayClient> {
  const url = toSocketUrl(options.url);
  const connection = new ClientConnection(url);
  const timer = setTimeout(
    () =>
      connection.fail(
        new GatewayError('unavailable', `the gateway at ${url} did not answer in time`),
      ),
    options.timeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS,
  );
  const give = (): void => connection.fail(lost(`the connection to ${url} was given up`));
  options.signal?.addEventListener('abort', give);
  if (options.signal?.aborted === true) give();
  try {
    await connection.challenged;
    const hello = await connection.request<HelloOk>('connect', toConnectParams(options));
    return connection.opened(hello);
  } catch (error) {
    connection.fail(error);
    throw error;
  } finally {
    clearTimeout(timer);
    options.signal?.removeEventListener('abort', give);
  }
}

interface Pending {
  resolve(payload: unknown): void;
  reject(error: unknown): void;
  /** there when a first answer `accepted` is followed by another */
  onAccepted?: ((accepted: AgentAccepted) => void) | undefined;
  onAnswer?: ((answer: unknown) => void) | undefined;
}

class ClientConnection {
  readonly challenged: Promise<void>;
  readonly closed: Promise<CloseInfo>;
  readonly #url: string;
  readonly #socket: WebSocket;
  readonly #pending = new Map<string, Pending>();
  readonly #listeners = new Set<(event: EventFrame) => void>();
  readonly #challenge = Promise.withResolvers<void>();
  readonly #closing = Promise.withResolvers<CloseInfo>();
  #nextId = 1;
  #heardAt = Date.now();
  #watchdog: ReturnType<typeof setInterval> | undefined;
  #failure: GatewayError | undefined;
  #wasOpen = false;
  /** bytes of one frame; beyond it the gateway ends the connection */
  #maxFrameBytes = Infinity;

  constructor(url: string) {
    this.#url = url;
    this.challenged = this.#challenge.promise;
    this.closed = this.#closing.promise;
    // a connection that fails later, when nobody waits for the challenge, is no unhandled rejection
    this.challenged.catch(() => {});
    this.#socket = new WebSocket(url);
    this.#socket.addEventListener('open', () => (this.#wasOpen = true));
    this.#socket.addEventListener('message', ({ data }) => this.#receive(data));
    this.#socket.addEventListener('close', ({ code, reason }) => this.#end({ code, reason }));
    // `close` follows with all that is known
    this.#socket.addEventListener('error', () => {});
  }

  opened(hello: HelloOk): GatewayClient {
    this.#watch(hello.policy.tickIntervalMs);
    this.#maxFrameBytes = hello.policy.maxPayload;
    const isOpen = () => this.#socket.readyState === WebSocket.OPEN;
    return {
      hello,
      closed: this.closed,
      get isOpen() {
        return isOpen();
      },
      call: toTypedCall((method, params, options) => this.request(method, params, options)),
      request: (method, params, options) => this.request(method, params, options),
      runAgent: (params, options = {}) =>
        this.request('agent', params, { onAccepted: () => {}, ...options }),
      on: (listener) => {
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
      },
      close: () => {
        this.#socket.close(1000);
        return this.closed;
      },
    };
  }

  request<Answer>(
    method: string,
    params: object = {},
    options: RunAgentOptions = {},
  ): Promise<Answer> {
    if (this.#socket.readyState !== WebSocket.OPEN) return Promise.reject(this.#gone());
    const id = String(this.#nextId++);
    const frame = toText({ type: 'req', id, method, params });
    if (frame === undefined) return Promise.reject(notJson(method));
    if (isLonger(frame, this.#maxFrameBytes))
      return Promise.reject(tooLarge(method, this.#maxFrameBytes));
    if (isDeeperThan(frame, MAX_JSON_DEPTH)) return Promise.reject(tooDeep(method));
    const answer = new Promise<unknown>((resolve, reject) =>
      this.#pending.set(id, { resolve, reject, ...options }),
    );
    this.#socket.send(frame);
    return this.#within(answer, { id, method, timeoutMs: options.timeoutMs }) as Promise<Answer>;
  }

  fail(error: unknown): void {
    this.#failure ??= toGatewayError(error);
    if (this.#socket.readyState === WebSocket.CLOSED) return;
    this.#socket.close();
    this.#end({ code: 1006, reason: '' });
  }

  async #within(
    answer: Promise<unknown>,
    { id, method, timeoutMs }: { id: string; method: string; timeoutMs: number | undefined },
  ): Promise<unknown> {
    if (timeoutMs === undefined) return answer;
    const timer = setTimeout(() => {
      const pending = this.#pending.get(id);
      this.#pending.delete(id);
      pending?.reject(
        new GatewayError('unavailable', `${method} was not answered within ${timeoutMs} ms`),
      );
    }, timeoutMs);
    return answer.finally(() => clearTimeout(timer));
  }

  #receive(data: unknown): void {
    this.#heardAt = Date.now();
    const frame = toFrame(data);
    if (frame === undefined) return this.fail(lost(`what ${this.#url} sends is no gateway's`));
    if (frame.type === 'res') return this.#settle(frame);
    if (frame.event === 'connect.challenge') return this.#challenge.resolve();
    for (const listener of this.#listeners) listener(frame);
  }

  #settle(frame: ResponseFrame): void {
    const pending = this.#pending.get(frame.id);
    if (pending === undefined) return;
    if (frame.ok && pending.onAccepted !== undefined && isAccepted(frame.payload)) {
      pending.onAccepted(frame.payload);
      return;
    }
    this.#pending.delete(frame.id);
    if (frame.ok) pending.onAnswer?.(frame.payload);
    if (frame.ok) pending.resolve(frame.payload);
    else pending.reject(fromWireError(frame.error));
  }

  #watch(tickIntervalMs: number): void {
    this.#watchdog = setInterval(() => {
      const silentMs = Date.now() - this.#heardAt;
      if (silentMs < SILENT_TICKS * tickIntervalMs) return;
      this.fail(lost(`the gateway at ${this.#url} fell silent`));
    }, tickIntervalMs);
  }

  #end(info: CloseInfo): void {
    clearInterval(this.#watchdog);
    this.#failure ??= closedError(this.#url, { ...info, wasOpen: this.#wasOpen });
    this.#challenge.reject(this.#failure);
    for (const pending of this.#pending.values()) pending.reject(this.#failure);
    this.#pending.clear();
    // what a connection still brings that was given up is nobody's
    this.#listeners.clear();
    this.#closing.resolve(info);
  }

  #gone(): GatewayError {
    return this.#failure ?? lost(`the connection to ${this.#url} is closed`);
  }
}

function toText(frame: object): string | undefined {
  try {
    return JSON.stringify(frame);
  } catch {
    return undefined;
  }
}

function notJson(method: string): GatewayError {
  return new GatewayError('invalid_request', `${method}: the parameters are no JSON`);
}

/** Whether a text has more bytes; counted only where its characters leave it open. */
function isLonger(text: string, maxBytes: number): boolean {
  if (text.length * 3 <= maxBytes) return false;
  return text.length > maxBytes || new TextEncoder().encode(text).length > maxBytes;
}

function tooLarge(method: string, maxBytes: number): GatewayError {
  return new GatewayError(
    'too_large',
    `${method} was not sent: its frame is larger than ${maxBytes} bytes`,
  );
}

function tooDeep(method: string): GatewayError {
  return new GatewayError(
    'invalid_request',
    `${method} was not sent: its frame is nested deeper than ${MAX_JSON_DEPTH} levels`,
  );
}

/** Returns a frame, or undefined: text is all that a gateway sends. */
function toFrame(data: unknown): ServerFrame | undefined {
  try {
    const frame: unknown = typeof data === 'string' ? JSON.parse(data) : undefined;
    return typeof frame === 'object' && frame !== null ? (frame as ServerFrame) : undefined;
  } catch {
    return undefined;
  }
}

const CONNECTION_LOST = 'CONNECTION_LOST';

function lost(message: string, details: { closeCode?: number } = {}): GatewayError {
  return new GatewayError('unavailable', message, {
    details: { code: CONNECTION_LOST, ...details },
  });
}

/** Close codes of a gateway that took no more because of what it was sent. */
const NOT_TAKEN: readonly unknown[] = [1007, 1009];

/** Whether the connection ended because of a frame that this side had sent. */
export function isFrameRefused({ details }: GatewayError): boolean {
  return NOT_TAKEN.includes(details?.['closeCode']);
}

/** Whether a call failed with its connection: nobody knows whether the gateway has done it. */
export function isConnectionLost(error: GatewayError): boolean {
  return error.details?.['code'] === CONNECTION_LOST;
}

function isAccepted(payload: unknown): payload is AgentAccepted {
  return (
    typeof payload === 'object' &&
    payload !== null &&
    'status' in payload &&
    payload.status === 'accepted'
  );
}

function closedError(
  url: string,
  { code, reason, wasOpen }: CloseInfo & { wasOpen: boolean },
): GatewayError {
  const message = wasOpen
    ? `the connection to the gateway at ${url} ended: ${code}${reason === '' ? '' : ` ${reason}`}`
    : `cannot connect to the gateway at ${url}: it is not running there or takes no connections now; start it with "trunkline gateway"`;
  return lost(message, { closeCode: code });
}

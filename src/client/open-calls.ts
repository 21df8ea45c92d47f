/**
 * The calls of a client, across its connections. A call is held while there is none, sent on the next,
 * and sent again after a loss when that is the same job (A13). Each settles: by its answer, by a refusal,
 * by a loss that leaves its outcome unknown, by its limit, or by the end of the client.
 */
import { GatewayError, toGatewayError } from '../protocol/errors.ts';
import { isConnectionLost, isFrameRefused } from './gateway-client.ts';
import type { GatewayClient, RunAgentOptions } from './gateway-client.ts';
import { isRepeatable, waitMsOf } from './repeatable.ts';

export interface NewCall {
  method: string;
  params: object;
  options: RunAgentOptions;
  /** resolves with the last answer of two, not with the first */
  isTwofold: boolean;
}
export interface OpenCalls {
  /** Contract: settles, whatever becomes of connections. */
  add(call: NewCall): Promise<unknown>;
  /** From now on calls go out on this connection; those that were held go first. */
  sendOn(connection: GatewayClient): void;
  /** From now on calls are held. */
  hold(): void;
  /** Rejects all calls, and those that are still made. */
  end(error: GatewayError): void;
}

interface Call extends NewCall {
  resolve(answer: unknown): void;
  reject(error: unknown): void;
  isRepeatable: boolean;
  isOver: boolean;
  /** connections that ended because of a frame while it was open: it may be the one */
  suspicions: number;
  /** when its wait is over, by the monotonic clock */
  waitsUntil: number | undefined;
  /** of the whole call, by its options */
  limit: ReturnType<typeof setTimeout> | undefined;
  /** how long it is held for */
  patience: ReturnType<typeof setTimeout> | undefined;
}

/** So often a call is sent that a connection may have ended because of. */
const MAX_SUSPICIONS = 3;
/** Calls that are held at one time; more are refused. */
const MAX_HELD = 1000;

export interface OpenCallsOptions {
  /** how long a call that is held now waits for a connection */
  patienceMs: () => number;
  /** why there is no connection */
  why: () => GatewayError | undefined;
}

/** Returns no calls yet, and no connection. */
export function createOpenCalls({ patienceMs, why }: OpenCallsOptions): OpenCalls {
  const held = new Set<Call>();
  let connection: GatewayClient | undefined;
  let ended: GatewayError | undefined;

  function hold(call: Call): void {
    if (ended !== undefined) return call.reject(ended);
    if (held.size >= MAX_HELD) return call.reject(notHeld());
    held.add(call);
    const waitMs = leftOf(call) ?? 0;
    call.patience = setTimeout(
      () => call.reject(notConnected(call.method, why())),
      Math.max(patienceMs(), waitMs),
    );
  }

  function start(call: Call): void {
    if (call.isOver) return;
    if (connection?.isOpen === true) void send(call, connection);
    else hold(call);
  }

  async function send(call: Call, on: GatewayClient): Promise<void> {
    try {
      call.resolve(await request(call, on));
    } catch (thrown) {
      const error = toGatewayError(thrown);
      const isRefused = error.details?.['code'] === 'DRAINING';
      if (!isConnectionLost(error) && !isRefused) return call.reject(thrown);
      if (!isRefused && !call.isRepeatable) return call.reject(outcomeUnknown(call.method, error));
      if (isFrameRefused(error)) call.suspicions += 1;
      if (call.suspicions >= MAX_SUSPICIONS) return call.reject(notTaken(call.method, error));
      // a gateway that goes away refuses before it closes: this connection takes no more
      if (connection === on) connection = undefined;
      start(call);
    }
  }

  return {
    add: (given) =>
      new Promise((resolve, reject) => {
        const call = toCall(given, { resolve, reject, forget: (done) => held.delete(done) });
        start(call);
      }),
    sendOn: (next) => {
      connection = next;
      const waiting = [...held];
      held.clear();
      for (const call of waiting) {
        clearTimeout(call.patience);
        start(call);
      }
    },
    hold: () => {
      connection = undefined;
    },
    end: (error) => {
      ended = error;
      connection = undefined;
      for (const call of held) call.reject(error);
      held.clear();
    },
  };
}

function toCall(
  given: NewCall,
  ends: {
    resolve: (answer: unknown) => void;
    reject: (error: unknown) => void;
    forget: (call: Call) => void;
  },
): Call {
  const { method, params } = given;
  const waitMs = waitMsOf(method, params);
  const over =
    <Value>(settle: (value: Value) => void) =>
    (value: Value): void => {
      call.isOver = true;
      clearTimeout(call.limit);
      clearTimeout(call.patience);
      ends.forget(call);
      settle(value);
    };
  const call: Call = {
    ...given,
    resolve: over(ends.resolve),
    reject: over(ends.reject),
    isRepeatable: isRepeatable(method, params),
    isOver: false,
    suspicions: 0,
    waitsUntil: waitMs === undefined ? undefined : performance.now() + waitMs,
    limit: undefined,
    patience: undefined,
  };
  const { timeoutMs } = given.options;
  if (timeoutMs !== undefined)
    call.limit = setTimeout(() => call.reject(tooSlow(method, timeoutMs)), timeoutMs);
  return call;
}

function request(call: Call, on: GatewayClient): Promise<unknown> {
  const { method, options } = call;
  const leftMs = leftOf(call);
  const params = leftMs === undefined ? call.params : { ...call.params, timeoutMs: leftMs };
  // the limit is the call's, whatever connections it takes
  const { timeoutMs: _limit, ...rest } = options;
  if (!call.isTwofold) return on.request<unknown>(method, params, rest);
  const onAccepted: RunAgentOptions['onAccepted'] = (accepted) => {
    // it is told once
    call.options = { ...options, onAccepted: undefined };
    options.onAccepted?.(accepted);
  };
  return on.runAgent(params, { ...rest, onAccepted });
}

/** A call that waits goes on with what is left of its time. */
function leftOf({ waitsUntil }: Call): number | undefined {
  if (waitsUntil === undefined) return undefined;
  return Math.max(0, Math.ceil(waitsUntil - performance.now()));
}

function tooSlow(method: string, timeoutMs: number): GatewayError {
  return new GatewayError('unavailable', `${method} was not answered within ${timeoutMs} ms`);
}

function notConnected(method: string, cause: GatewayError | undefined): GatewayError {
  const why = cause?.message ?? 'the gateway cannot be reached; try again';
  return new GatewayError('unavailable', `${method} was not sent: ${why}`, {
    details: { code: 'NOT_CONNECTED' },
    cause,
  });
}

function notHeld(): GatewayError {
  return new GatewayError(
    'unavailable',
    `${MAX_HELD} calls wait for the gateway already; try again later`,
    { details: { code: 'TOO_MANY_HELD' } },
  );
}

/** A call that ends each connection it is sent on would end them for all calls, and for ever. */
function notTaken(method: string, cause: GatewayError): GatewayError {
  return new GatewayError(
    'invalid_request',
    `${method} was given up: ${MAX_SUSPICIONS} connections ended while it was open, as ${cause.message}`,
    { details: { code: 'NOT_TAKEN' }, cause },
  );
}

function outcomeUnknown(method: string, cause: GatewayError): GatewayError {
  return new GatewayError(
    'unavailable',
    `${method} was sent and not answered, because the connection ended: it may have been done or not; look before you call it again`,
    { details: { code: 'OUTCOME_UNKNOWN' }, cause },
  );
}

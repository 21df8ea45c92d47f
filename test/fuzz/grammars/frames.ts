/** Frames at a connection, before and after it is let in, and bodies of HTTP calls. */
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import type { WebSocket } from 'ws';
import { createAuthLimiter } from '../../../src/gateway/auth-limiter.ts';
import { createSharedSecret } from '../../../src/gateway/authenticate.ts';
import { Connection } from '../../../src/gateway/connection.ts';
import { DEFAULT_LIMITS, DEFAULT_RATE_LIMIT } from '../../../src/gateway/limits.ts';
import { parseJson } from '../../../src/gateway/parse-json.ts';
import { refuseUnsafeNames } from '../../../src/gateway/unsafe-names.ts';
import { ERROR_CODES, GatewayError } from '../../../src/protocol/errors.ts';
import type { ServerFrame } from '../../../src/protocol/frames.ts';
import { parseMethodParams } from '../../../src/protocol/methods.ts';
import { systemClock } from '../../../src/util/clock.ts';
import { silentLogger } from '../../../src/util/logger.ts';
import type { Grammar } from '../grammar.ts';
import { type FuzzWorld, SECRET } from '../fuzz-world.ts';
import { oddObject, oddText, oddValue } from '../odd-values.ts';
import { assertErrorText, assertRefusal } from '../oracles.ts';
import { suitingValue } from '../suiting-values.ts';
import { methodCalls } from './methods.ts';

type FrameInput =
  | { type: 'frames'; frames: string[]; isLetIn: boolean }
  | { type: 'body'; text: string };

const request = fc
  .tuple(
    methodCalls,
    fc.oneof(fc.constantFrom('1', '2', '3'), oddValue),
    oddObject(['extra'], () => oddValue),
  )
  .map(([[method, params], id, extra]) =>
    JSON.stringify({ type: 'req', id, method, params, ...extra }),
  );
const connect = oddObject(
  ['minProtocol', 'maxProtocol', 'client', 'role', 'scopes', 'caps', 'auth', 'device'],
  (name) => fc.oneof(CONNECT[name] ?? oddValue, oddValue),
).map((params) => JSON.stringify({ type: 'req', id: 'c', method: 'connect', params }));
const CONNECT: Record<string, fc.Arbitrary<unknown>> = {
  minProtocol: fc.constant(3),
  maxProtocol: fc.constant(4),
  client: fc.constant({ id: 't', version: '1', platform: 'linux', mode: 'test' }),
  role: fc.constant('operator'),
  auth: fc.constantFrom({ token: SECRET }, { token: 'wrong' }, { deviceToken: 'x' }),
  device: fc.record({
    id: oddText,
    publicKey: oddText,
    signature: oddText,
    signedAt: fc.integer(),
    nonce: oddText,
  }),
};
const broken = fc.oneof(
  oddText,
  oddValue.map((value) => JSON.stringify(value)),
  fc.tuple(request, fc.nat({ max: 100 })).map(([text, at]) => text.slice(0, at)),
  fc
    .nat({ max: 5000 })
    .map((depth) => `{"type":"req","id":"d","method":"status","params":${'['.repeat(depth)}`),
);
const frame = fc.oneof(
  { weight: 6, arbitrary: request },
  { weight: 1, arbitrary: connect },
  { weight: 1, arbitrary: broken },
);
const body = oddObject(['tool', 'args', 'sessionKey', 'idempotencyKey'], suitingValue).map(
  (value) => JSON.stringify(value),
);

const inputs: fc.Arbitrary<FrameInput> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('frames' as const),
      frames: fc.array(frame, { minLength: 1, maxLength: 4 }),
      isLetIn: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ type: fc.constant('body' as const), text: fc.oneof(body, broken) }),
  },
);

export function framesGrammar(world: FuzzWorld): Grammar<FrameInput> {
  return {
    inputs,
    feed: (input) =>
      input.type === 'body' ? feedBody(world, input.text) : feedFrames(world, input),
  };
}

/** The steps of `POST /tools/invoke` behind the credential. */
async function feedBody(world: FuzzWorld, text: string): Promise<void> {
  let given: unknown;
  try {
    given = parseJson(text, DEFAULT_LIMITS.maxJsonDepth);
    refuseUnsafeNames(given, text);
    if (typeof given !== 'object' || given === null || Array.isArray(given)) return;
    const params = parseMethodParams('tools.invoke', { ...given });
    await world.call('tools.invoke', { ...params, args: { ...params.args, timeoutSeconds: 0 } });
  } catch (error) {
    assertRefusal(error, { input: given ?? text, secrets: [SECRET] });
  }
  assert.deepEqual(world.takeFaults(), []);
}

/** A socket without a network. */
class FakeSocket extends EventEmitter {
  readonly OPEN = 1;
  readyState = 1;
  bufferedAmount = 0;
  readonly sent: ServerFrame[] = [];
  closed: { code: number; reason: string } | undefined;
  send(text: string, onSent?: () => void): void {
    this.sent.push(JSON.parse(text) as ServerFrame);
    onSent?.();
  }
  close(code: number, reason: string): void {
    this.closed ??= { code, reason };
    if (this.readyState === 1) {
      this.readyState = 3;
      this.emit('close');
    }
  }
  pause(): void {}
  ping(): void {}
  terminate(): void {
    this.close(1006, '');
  }
}

const CLOSE_CODES = [1000, 1002, 1003, 1006, 1007, 1008, 1009];
const WIRE_CODES: ReadonlySet<string> = new Set(Object.values(ERROR_CODES).map(({ wire }) => wire));
const LET_IN = JSON.stringify({
  type: 'req',
  id: 'let-in',
  method: 'connect',
  params: {
    minProtocol: 3,
    maxProtocol: 4,
    client: { id: 't', version: '1', platform: 'linux', mode: 'test' },
    role: 'operator',
    auth: { token: SECRET },
  },
});

const NO_FEEDS = { open: () => {}, stop: () => false, close: () => {} };

function connectionTo(world: FuzzWorld, socket: FakeSocket): Connection {
  const secret = createSharedSecret({ mode: 'token', token: SECRET });
  const faults = { ...silentLogger, error: (fields: object) => world.reportFault(fields) };
  const deps = {
    services: world.services,
    secret,
    limiter: createAuthLimiter(() => DEFAULT_RATE_LIMIT, systemClock),
    dispatch: world.dispatch,
    presence: world.presence,
    limits: DEFAULT_LIMITS,
    logger: faults,
    clock: systemClock,
    version: 'fuzz',
    startedAt: 0,
    isReady: () => true,
    feeds: { connect: () => NO_FEEDS, close: () => {} },
    onWatcher: () => {},
    onGone: () => {},
  };
  return new Connection(socket as unknown as WebSocket, { deps, peer: { address: '127.0.0.1' } });
}

async function feedFrames(
  world: FuzzWorld,
  { frames, isLetIn }: { frames: string[]; isLetIn: boolean },
): Promise<void> {
  const socket = new FakeSocket();
  connectionTo(world, socket);
  const before = world.watch.version();
  if (isLetIn) {
    socket.emit('message', Buffer.from(LET_IN), false);
    await until(() => socket.sent.length > 1 || socket.closed !== undefined);
    assert.equal(socket.closed, undefined, 'the right token is let in');
  }
  for (const text of frames) socket.emit('message', Buffer.from(text), false);
  // calls that wait end with the connection; all others are answered
  for (let turn = 0; turn < 20; turn += 1) await nextTurn();
  socket.close(1000, 'over');
  await nextTurn();
  for (const answer of socket.sent) assertFrame(answer, frames);
  assert.ok(CLOSE_CODES.includes(socket.closed?.code ?? 1000), `closed ${socket.closed?.code}`);
  assertErrorText(socket.closed?.reason ?? '', { input: frames.map(parsed), secrets: [SECRET] });
  assert.deepEqual(world.takeFaults(), [], 'a frame caused a fault');
  const hasWritten = socket.sent.some(
    (sent) => sent.type === 'res' && sent.ok && sent.id !== 'let-in',
  );
  if (!isLetIn && !hasWritten && socket.sent.length <= 2)
    world.watch.assertUnchanged(before, 'frames before connect');
}

function assertFrame(answer: ServerFrame, frames: string[]): void {
  assert.ok(answer.type === 'res' || answer.type === 'event');
  if (answer.type === 'event' || answer.ok) return;
  assert.ok(WIRE_CODES.has(answer.error.code), answer.error.code);
  assert.notEqual(answer.error.code, 'INTERNAL');
  assertErrorText(JSON.stringify(answer.error), { input: frames.map(parsed), secrets: [SECRET] });
}

/** The id of a request comes back as it is, so only what else is in a frame is looked for. */
function parsed(text: string): unknown {
  try {
    const { id: _id, ...rest } = JSON.parse(text) as Record<string, unknown>;
    return rest;
  } catch {
    return text;
  }
}

async function until(isSo: () => boolean): Promise<void> {
  for (let turn = 0; turn < 10_000 && !isSo(); turn += 1) await nextTurn();
  if (!isSo()) throw new GatewayError('internal', 'nothing came');
}

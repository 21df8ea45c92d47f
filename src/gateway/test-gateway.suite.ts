/** A gateway on a free loopback port with the other side of its contract played by the test. */
import { once } from 'node:events';
import { after } from 'node:test';
import { WebSocket } from 'ws';
import type { ClientOptions } from 'ws';
import type { SessionCaller } from '../core/caller.ts';
import { GatewayError } from '../protocol/errors.ts';
import type { SessionsWaited } from '../protocol/tools/session-tool-answers.ts';
import type { EventFrame, ResponseFrame, ServerFrame } from '../protocol/frames.ts';
import { createRunEvents } from '../service/run-events.ts';
import type { RunEvents } from '../service/run-events.ts';
import type { AdmitDevice, DeviceAdmission } from '../service/devices/device-views.ts';
import { grantScopes } from '../protocol/scopes.ts';
import type { AcceptMessage, Accepted } from '../service/messages/accepted-message.ts';
import type { RunWaitAnswer } from '../protocol/answers/run-answers.ts';
import type { Services } from '../service/services.ts';
import { must } from '../util/assert.ts';
import { silentLogger } from '../util/logger.ts';
import { createGateway } from './create-gateway.ts';
import type { Gateway, GatewayOptions } from './create-gateway.ts';

export const TOKEN = 'the-shared-token';

const onDesk = (deliveryId: string) => ({
  deliveryId,
  from: 'failed' as const,
  deliveryIds: [deliveryId],
});

/** The runs of the test: accepted by key, waited for, ended by hand. */
export class PlayedServices {
  readonly calls: { method: string; input: unknown }[] = [];
  readonly waiting: AbortSignal[] = [];
  readonly #crowds: { count: number; resolve: () => void }[] = [];
  readonly #runs = new Map<string, { request: AcceptMessage; accepted: Accepted }>();
  readonly #ended = new Map<string, PromiseWithResolvers<RunWaitAnswer>>();

  readonly services: Services = {
    acceptMessage: async (_caller, request) => this.#accept(request),
    waitForRun: (runId, options) => this.#wait(runId, options),
    listAllSessions: async (query) => this.#note('sessions.list', query, noSessions),
    readChatHistory: async (query) =>
      this.#note('chat.history', query, {
        sessionKey: query.sessionKey,
        sessionId: 's1',
        ...noMessages,
      }),
    readSession: async (query) =>
      this.#note('sessions.get', query, {
        sessionKey: query.sessionKey,
        sessionId: 's1',
        ...noMessages,
      }),
    previewSessions: async (query) =>
      this.#note('sessions.preview', query, { ts: 1, previews: [] }),
    resolveSession: async (query) =>
      this.#note('sessions.resolve', query, { key: 'agent:main:main', agentId: 'main' }),
    injectNote: async (_caller, note) =>
      this.#note('chat.inject', note, {
        messageId: 'n1',
        sessionKey: note.sessionKey,
        state: 'appended',
      }),
    listConfiguredModels: async () => this.#note('models.list', {}, []),
    openClientSession: async (request) =>
      this.#note('sessions.create', request, { key: 'k', sessionId: 's', created: true }),
    patchSession: async (_caller, patch) =>
      this.#note('sessions.patch', patch, { key: patch.key, entry: {} }),
    resetSession: async (_caller, reset) =>
      this.#note('sessions.reset', reset, { key: reset.key, sessionId: 's2', stopped: [] }),
    deleteSession: async (_caller, deletion) =>
      this.#note('sessions.delete', deletion, { key: deletion.key, deleted: true, archived: [] }),
    startFeed: async (query) =>
      this.#note('sessions.messages.subscribe', query, {
        sessionKey: 'agent:main:main',
        at: { sessionId: 's1', seq: 0, startedAt: 0 },
      }),
    readFeed: async ({ at }) => ({ messages: [], at, hasMore: false }),
    listWindows: async (query) =>
      this.#note('sessions.windows', query, {
        key: query.key,
        windows: [],
        count: 0,
        limitApplied: 50,
        hasMore: false,
      }),
    listConfiguredAgents: async () => ({
      defaultId: 'main',
      mainKey: 'main',
      scope: 'per-sender',
      agents: [{ id: 'main' }],
    }),
    status: async () => this.#note('status', {}, { sessions: 0 }),
    resolveCaller: async (sessionKey) => toCaller(sessionKey),
    admitDevice: async (request) => {
      this.calls.push({ method: 'admitDevice', input: request });
      return this.admit(request);
    },
    listPairings: async () => this.#note('device.pair.list', {}, []),
    approvePairing: (_caller, input) => this.#noDevice('device.pair.approve', input),
    rejectPairing: (_caller, input) => this.#noDevice('device.pair.reject', input),
    listDevices: async () => this.#note('device.list', {}, []),
    revokeDevice: (_caller, input) => this.#noDevice('device.revoke', input),
    rotateDeviceToken: (_caller, input) => this.#noDevice('device.token.rotate', input),
    listSessions: notPlayed,
    readHistory: notPlayed,
    sendMessage: notPlayed,
    spawnSession: notPlayed,
    listAgents: notPlayed,
    waitForSessions: notPlayed,
    stopSession: notPlayed,
    searchSessions: notPlayed,
    readInbox: notPlayed,
    takeInboxNews: notPlayed,
    deferCall: notPlayed,
    readCall: notPlayed,
    listCalls: notPlayed,
    cancelCall: notPlayed,
    searchAllSessions: notPlayed,
    waitForRuns: async (wait) => this.#note('runs.wait', wait, noneWaited),
    stopRuns: async (_caller, stop) =>
      this.#note('runs.stop', stop, { status: 'ok', stopped: [], runIds: [] }),
    getRun: async (runId) => {
      throw new GatewayError('not_found', `unknown runId ${runId}`);
    },
    sendDirect: async (_caller, send) =>
      this.#note('send', send, { channel: 'webchat', state: 'sent', deliveryIds: ['d1'] }),
    listDeliveries: async (query) =>
      this.#note('deliveries.list', query, {
        deliveries: [],
        count: 0,
        limitApplied: 50,
        hasMore: false,
      }),
    listAudit: async (query) =>
      this.#note('audit.list', query, { lines: [], count: 0, limitApplied: 50, hasMore: false }),
    retryDelivery: async (_caller, deliveryId) =>
      this.#note('deliveries.retry', { deliveryId }, { ...onDesk(deliveryId), state: 'queued' }),
    dropDelivery: async (_caller, deliveryId) =>
      this.#note('deliveries.drop', { deliveryId }, { ...onDesk(deliveryId), state: 'dropped' }),
    listRuns: async (query) =>
      this.#note('runs.list', query, { runs: [], count: 0, limitApplied: 50, hasMore: false }),
    explainPolicy: notPlayed,
    getExchange: notPlayed,
    listExchanges: notPlayed,
    readUsage: notPlayed,
  };

  /** what becomes of a device that has proved its key */
  admit: (request: AdmitDevice) => Promise<DeviceAdmission> = async ({ grant, asked }) => {
    if (grant.type === 'token') return { type: 'wrong_token' };
    return { type: 'admitted', scopes: grantScopes({ asked, held: grant.scopes }) };
  };

  end(runId: string, answer: Partial<RunWaitAnswer> = {}): void {
    must(this.#ended.get(runId), `run ${runId} was not accepted`).resolve({
      runId,
      sessionKey: 'agent:main:main',
      status: 'ok',
      messageState: 'done',
      outcome: 'ok',
      reply: 'done',
      ...answer,
    });
    must(
      [...this.#runs.values()].find((run) => run.accepted.runId === runId),
      runId,
    ).accepted.state = answer.outcome ?? 'ok';
  }

  /** Resolves when that many waits have reached the use case. */
  whenWaiting(count: number): Promise<void> {
    if (this.waiting.length >= count) return Promise.resolve();
    return new Promise((resolve) => this.#crowds.push({ count, resolve }));
  }

  #accept(request: AcceptMessage): Accepted {
    this.calls.push({ method: request.method, input: request });
    const known = this.#runs.get(request.idempotencyKey);
    if (known !== undefined) return { ...known.accepted, isNew: false };
    const runId = `run-${this.#runs.size + 1}`;
    const accepted: Accepted = {
      runId,
      sessionKey: 'agent:main:main',
      acceptedAt: 1000,
      isNew: true,
      state: 'queued',
    };
    this.#runs.set(request.idempotencyKey, { request, accepted });
    this.#ended.set(runId, Promise.withResolvers());
    return { ...accepted };
  }

  async #wait(
    runId: string,
    { timeoutMs, signal }: { timeoutMs: number; signal?: AbortSignal },
  ): Promise<RunWaitAnswer> {
    const ended = this.#ended.get(runId);
    if (ended === undefined) throw new GatewayError('not_found', `unknown runId ${runId}`);
    const open: RunWaitAnswer = {
      runId,
      sessionKey: 'agent:main:main',
      status: 'timeout',
      messageState: 'running',
    };
    const elapsed = timeoutMs === 0 ? [Promise.resolve(open)] : [];
    if (signal === undefined) return Promise.race([ended.promise, ...elapsed]);
    this.waiting.push(signal);
    for (const { count, resolve } of this.#crowds) if (this.waiting.length >= count) resolve();
    const gone = once(signal, 'abort').then(() => open);
    return Promise.race([ended.promise, ...elapsed, gone]);
  }

  async #noDevice(method: string, input: unknown): Promise<never> {
    this.calls.push({ method, input });
    throw new GatewayError('not_found', 'no such device');
  }

  #note<Answer>(method: string, input: unknown, answer: Answer): Answer {
    this.calls.push({ method, input });
    return answer;
  }
}

const noneWaited: SessionsWaited = { status: 'ok', done: [], pending: [] };
const noSessions = { ts: 1, count: 0, sessions: [], limitApplied: 100, hasMore: false };
const noMessages = {
  messages: [],
  pending: [],
  limitApplied: 50,
  truncated: false,
  droppedMessages: 0,
  contentTruncated: false,
  contentRedacted: false,
  bytes: 2,
  hasMore: false,
};

async function notPlayed(): Promise<never> {
  throw new Error('a door calls this through the tools only');
}

function toCaller(sessionKey: string): SessionCaller {
  if (sessionKey === 'main')
    return { type: 'session', sessionKey: 'agent:main:main', agentId: 'main' };
  throw new GatewayError('not_found', `session ${sessionKey} not found`);
}

export interface TestGateway {
  gateway: Gateway;
  played: PlayedServices;
  events: RunEvents;
  port: number;
  url: string;
  /** Opens a socket that has not connected yet. */
  open(
    headers?: Record<string, string>,
    options?: { autoPong: boolean; path?: string },
  ): Promise<TestSocket>;
  /** Opens a socket and connects. */
  connect(params?: Record<string, unknown>): Promise<TestSocket>;
}

const started = new Set<Gateway>();
// a failed test leaves its gateway open, which must not keep the process going
after(() => Promise.all([...started].map((gateway) => gateway.close())));

/** Starts a gateway; the caller closes it. */
export async function startGateway(options: Partial<GatewayOptions> = {}): Promise<TestGateway> {
  const played = new PlayedServices();
  const events = createRunEvents((error) => {
    throw error;
  });
  const gateway = createGateway({
    services: played.services,
    events,
    invokeTool: async ({ tool, args, caller: { gone: _gone, ...caller } }) => ({
      tool,
      args,
      caller,
    }),
    listTools: async () => [],
    startCall: async () => ({ result: {} }),
    auth: { mode: 'token', token: TOKEN },
    reloadConfig: async () => ({ applied: [], needsRestart: [], unchanged: [] }),
    host: '127.0.0.1',
    port: 0,
    logger: silentLogger,
    health: { isReady: () => true, probe: () => Promise.resolve(true) },
    ...options,
  });
  started.add(gateway);
  const { port, url } = await gateway.listen();
  const open: TestGateway['open'] = (headers = {}, options = { autoPong: true }) =>
    openSocket(port, { headers, ...options });
  const connect = async (params?: Record<string, unknown>) => {
    const socket = await open();
    await socket.connect(params);
    return socket;
  };
  return { gateway, played, events, port, url, open, connect };
}

/** A client without manners: it sends what it is told and keeps what comes. */
export interface TestSocket {
  ws: WebSocket;
  frames: ServerFrame[];
  send(text: string): void;
  /** Resolves with the first frame that fits, also one that has come already. */
  next<Frame extends ServerFrame>(fits: (frame: ServerFrame) => frame is Frame): Promise<Frame>;
  connect(params?: Record<string, unknown>): Promise<ResponseFrame>;
  request(method: string, params?: object): Promise<ResponseFrame>;
  /** Resolves with the close code. */
  closed: Promise<{ code: number; reason: string }>;
}

async function openSocket(
  port: number,
  { path = '/', ...options }: ClientOptions & { path?: string },
): Promise<TestSocket> {
  const ws = new WebSocket(`ws://127.0.0.1:${port}${path}`, options);
  const frames: ServerFrame[] = [];
  const waiters = new Set<() => void>();
  let nextId = 1;
  ws.on('message', (data: Buffer) => {
    frames.push(JSON.parse(data.toString()) as ServerFrame);
    for (const wake of waiters) wake();
  });
  ws.on('error', () => {});
  const closed = new Promise<{ code: number; reason: string }>((resolve) =>
    ws.on('close', (code, reason) => resolve({ code, reason: reason.toString() })),
  );
  const next = <Frame extends ServerFrame>(
    fits: (frame: ServerFrame) => frame is Frame,
  ): Promise<Frame> =>
    new Promise((resolve, reject) => {
      const look = () => {
        const found = frames.find(fits);
        if (found === undefined) return;
        waiters.delete(look);
        resolve(found);
      };
      waiters.add(look);
      void closed.then(({ code }) => reject(new Error(`closed ${code} before the frame came`)));
      look();
    });
  const request = (method: string, params?: object) => {
    const id = `t${nextId++}`;
    ws.send(
      JSON.stringify({ type: 'req', id, method, ...(params === undefined ? {} : { params }) }),
    );
    return next(isResponseTo(id));
  };
  const socket: TestSocket = {
    ws,
    frames,
    closed,
    next,
    request,
    send: (text) => ws.send(text),
    connect: (params = {}) => request('connect', { ...connectParams(), ...params }),
  };
  await new Promise<void>((resolve, reject) => {
    ws.on('open', resolve);
    ws.on('unexpected-response', (_request, response) =>
      reject(
        Object.assign(new Error('refused'), {
          status: response.statusCode,
          retryAfter: response.headers['retry-after'],
        }),
      ),
    );
    ws.on('error', reject);
  });
  return socket;
}

/** Parameters of a client that is let in. */
export function connectParams(): Record<string, unknown> {
  return {
    minProtocol: 3,
    maxProtocol: 4,
    client: { id: 'test', version: '1', platform: 'linux', mode: 'test' },
    role: 'operator',
    caps: [],
    auth: { token: TOKEN },
  };
}

export function isResponseTo(id: string): (frame: ServerFrame) => frame is ResponseFrame {
  return (frame): frame is ResponseFrame => frame.type === 'res' && frame.id === id;
}

export function isEvent(event: string): (frame: ServerFrame) => frame is EventFrame {
  return (frame): frame is EventFrame => frame.type === 'event' && frame.event === event;
}

/** Returns the events of that name that have come. */
export function eventsOf(socket: TestSocket, event: string): Record<string, unknown>[] {
  return socket.frames
    .filter(isEvent(event))
    .map((frame) => frame.payload as Record<string, unknown>);
}

/** Resolves when everything that was sent to this socket before has come: a later answer has. */
export async function settle(socket: TestSocket): Promise<void> {
  await socket.request('health');
}

/** A whole gateway in this process, over a real socket, a real store and a scripted model endpoint. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import {
  type RunningGateway,
  startGateway,
  type StartOptions,
} from '../../src/app/start-gateway.ts';
import type { ChannelAdapter } from '../../src/channels/channel.ts';
import { connectGateway, type GatewayClient } from '../../src/client/gateway-client.ts';
import type { Message, UserMessage } from '../../src/protocol/message.ts';
import { textOf, toolCallsOf } from '../../src/protocol/message.ts';
import type { ReadTx, Store } from '../../src/store/store.ts';
import { assert } from '../../src/util/assert.ts';
import { type Clock, systemClock } from '../../src/util/clock.ts';
import { type Logger, silentLogger } from '../../src/util/logger.ts';
import { type FakeModel, type FakeModelOptions, startFakeModel } from './fake-model.ts';
import { PATIENCE_MS } from './patience.ts';

type Json = Record<string, unknown>;

export interface TestWorld {
  gateway: RunningGateway;
  client: GatewayClient;
  model: FakeModel;
  store: Store;
  /** Sends a person's message by `chat.send` and resolves when its run has ended. */
  say(sessionKey: string, message: string): Promise<Json>;
  /** Calls a session tool as a session, from outside a run. */
  tool(name: string, args: Json, sessionKey?: string): Promise<Json>;
  history(sessionKey: string): Promise<Message[]>;
  /** JSON answers of the session's tool calls, oldest first. */
  toolAnswers(sessionKey: string): Promise<Json[]>;
  /** Resolves when no run is queued or going and no job is due. */
  quiet(): Promise<void>;
  /** Moves the clock of a world that has one to move. */
  passTime(ms: number): Promise<void>;
}

export interface WorldOptions {
  config?: Json;
  /** the model answers agent-to-agent steps instead of declining them */
  talk?: boolean;
  rewrite?: FakeModelOptions['rewrite'];
  careless?: boolean;
  /** false: only what `config` says, on top of the defaults of the program */
  agents?: false;
  /** how the model is spoken to */
  provider?: { api: string; path: string };
  logger?: Logger;
  /** names the database, where it is not the state directory's own */
  env?: Record<string, string>;
  /** the time stands still but for what `passTime` adds */
  clock?: 'movable';
  /** what the client shows instead of the token of the gateway */
  connect?: { password: string };
  watchIntervalMs?: number;
  /** fills the state directory before the gateway starts on it */
  prepare?: (stateDir: string) => Promise<void>;
  /** chat services beside webchat */
  channels?: readonly ChannelAdapter[];
  /** what clients of `/mcp` are offered beside the session tools */
  extendMcp?: StartOptions['extendMcp'];
  /** stands between the gateway and its store */
  wrapStore?: (store: Store, stateDir: string) => Store;
}

/** Stands still until it is moved; begins at the time that it is. */
class MovableClock implements Clock {
  #at = Date.now();
  readonly now = (): number => this.#at;
  move(ms: number): void {
    this.#at += ms;
  }
}

/** Agents a, b, c that may all reach each other. */
const OPEN: Json = {
  agents: {
    list: [{ id: 'a', default: true, subagents: { allowAgents: ['*'] } }, { id: 'b' }, { id: 'c' }],
  },
  tools: { sessions: { visibility: 'all' }, agentToAgent: { enabled: true } },
};

/** Starts a world that ends with the test. */
export async function startWorld(t: TestContext, options: WorldOptions = {}): Promise<TestWorld> {
  const stateDir = mkdtempSync(join(tmpdir(), 'world-'));
  const { talk = false, careless = false, rewrite } = options;
  const model = await startFakeModel({
    talk,
    careless,
    ...(rewrite === undefined ? {} : { rewrite }),
  });
  const { api, path } = options.provider ?? { api: 'openai-completions', path: '/v1' };
  const models = [{ id: 'fake-1' }, { id: 'fake-2' }];
  const providers = { fake: { baseUrl: `${model.url}${path}`, apiKey: 'k', api, models } };
  const base = options.agents === false ? {} : OPEN;
  const config = merge(merge(base, { models: { providers } }), options.config ?? {});
  writeFileSync(join(stateDir, 'trunkline.json'), JSON.stringify(config));
  await options.prepare?.(stateDir);
  const clock = options.clock === undefined ? systemClock : new MovableClock();
  let store: Store | undefined;
  const gateway = await startGateway({
    stateDir,
    port: 0,
    env: options.env ?? {},
    logger: options.logger ?? silentLogger,
    channels: options.channels,
    extendMcp: options.extendMcp,
    ...(options.clock === undefined ? {} : { clock }),
    watchIntervalMs: options.watchIntervalMs,
    wrapStore: (opened) => (store = options.wrapStore?.(opened, stateDir) ?? opened),
  }).catch(async (error: unknown) => {
    await model.close();
    throw error;
  });
  const client = await connectGateway({
    url: gateway.url,
    token: gateway.token,
    timeoutMs: PATIENCE_MS,
    ...options.connect,
    clientName: 'test',
  });
  t.after(async () => {
    await client.close();
    await gateway.stop();
    await model.close();
    rmSync(stateDir, { recursive: true });
  });
  return worldOf({ gateway, client, model, store: store!, clock });
}

function worldOf({
  clock,
  ...parts
}: Pick<TestWorld, 'gateway' | 'client' | 'model' | 'store'> & { clock: Clock }): TestWorld {
  const { client, store } = parts;
  const history = async (sessionKey: string): Promise<Message[]> => {
    const page = await client.request<{ messages: Message[] }>('chat.history', {
      sessionKey,
      limit: 1000,
    });
    return page.messages;
  };
  return {
    ...parts,
    history,
    say: async (sessionKey, message) => {
      const sent = await client.request('chat.send', {
        sessionKey,
        message,
        idempotencyKey: randomUUID(),
      });
      return client.request('agent.wait', { runId: sent['runId'], timeoutMs: 30_000 });
    },
    tool: async (tool, args, sessionKey = 'main') => {
      const params = { tool, args, sessionKey };
      return (await client.request<{ result: Json }>('tools.invoke', params)).result;
    },
    toolAnswers: async (sessionKey) =>
      (await history(sessionKey))
        .filter((message) => message.role === 'toolResult')
        .map((message) => JSON.parse(textOf(message)) as Json),
    quiet: () => quiet(store, clock.now),
    passTime: async (ms) => {
      assert(clock instanceof MovableClock, 'give startWorld the option clock: "movable"');
      clock.move(ms);
      // whoever waits for a time looks again
      await store.write('time passes', async (tx) => tx.signal({ type: 'job' }));
    },
  };
}

/** Looks so far ahead; epoch ms, and a time that every database knows. */
const FAR_AHEAD = 8_000_000_000_000;

/** Whether there is work to be done now or tried again; what waits for its day is none. */
export async function hasOpenJobs(tx: ReadTx, now: number): Promise<boolean> {
  const next = await tx.jobs.nextRunAt();
  // also what is being done at the moment
  if (next === undefined || next <= now) return next !== undefined;
  const jobs = await tx.jobs.due(FAR_AHEAD, 1000);
  return jobs.some(({ kind }) => !DATED.has(kind));
}
const DATED: ReadonlySet<string> = new Set(['archive-session', 'maintain-sessions']);

/** Waits on commits, not on time: after each one the rows are looked at again. */
async function quiet(store: Store, now: () => number): Promise<void> {
  for (;;) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const stop = store.onSignal(() => resolve());
    const isQuiet = await store.read(async (tx) => {
      const { queued = 0, running = 0, waiting = 0 } = await tx.runs.countByState();
      return queued + running + waiting === 0 && !(await hasOpenJobs(tx, now()));
    });
    if (!isQuiet) await Promise.race([promise, new Promise((again) => setTimeout(again, 50))]);
    stop();
    if (isQuiet) return;
  }
}

function merge(base: Json, over: Json): Json {
  const merged = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    const before = merged[key];
    merged[key] =
      isObject && typeof before === 'object' && before !== null
        ? merge(before as Json, value as Json)
        : value;
  }
  return merged;
}

/** Returns a script line that calls a tool. */
export function call(tool: string, args: Json): string {
  return `TOOL: ${tool} ${JSON.stringify(args)}`;
}

/** Returns the user messages that a session was sent, as stored. */
export function usersOf(messages: readonly Message[]): UserMessage[] {
  return messages.filter((message) => message.role === 'user');
}

/** Returns role and text of each message, tool calls as `→name`. */
export function outlineOf(messages: readonly Message[]): string[] {
  return messages.map((message) => {
    const calls =
      message.role === 'assistant' ? toolCallsOf(message).map(({ name }) => `→${name}`) : [];
    return `${message.role}: ${[textOf(message), ...calls].filter((part) => part !== '').join(' ')}`;
  });
}

/** Returns the keys of an answer of `sessions_list`. */
export function keysOf(list: Json | undefined): string[] {
  return (list?.['sessions'] as { key: string }[] | undefined)?.map(({ key }) => key) ?? [];
}

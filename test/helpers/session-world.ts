/** A real store in a folder of its own, with sessions made to order, for the tests of the use cases. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { SessionCaller } from '../../src/core/caller.ts';
import type { Message } from '../../src/protocol/message.ts';
import { defaultConfig } from '../../src/protocol/options/config.ts';
import type { ConfigInput } from '../../src/protocol/options/config.ts';
import type { ServiceContext } from '../../src/service/context.ts';
import { createRunEvents } from '../../src/service/run-events.ts';
import { newSessionRow } from '../../src/service/sessions/session-rows.ts';
import type { SessionRow } from '../../src/store/session-repository.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite-store.ts';
import { silentLogger } from '../../src/util/logger.ts';

/** Where the clock of a new world stands. */
export const WORLD_START = 1_800_000_000_000;

export type NewSession = { key: string; agentId?: string } & Partial<SessionRow>;

export interface SessionWorld {
  context: ServiceContext;
  /** the database file, for what no use case would write */
  databasePath: string;
  /** the time it is; move it by writing to it */
  time: { now: number };
  /** replaces the configuration in force */
  configure(written: ConfigInput): void;
  /** adds sessions; each later one is a second older, unless `updatedAt` says otherwise */
  add(...sessions: NewSession[]): Promise<void>;
  append(key: string, messages: readonly Message[]): Promise<void>;
  caller(sessionKey: string, agentId?: string): SessionCaller;
}

/** Returns a world that ends with the test. */
export function createSessionWorld(t: TestContext, written: ConfigInput = {}): SessionWorld {
  const folder = mkdtempSync(join(tmpdir(), 'session-world-'));
  const time = { now: WORLD_START };
  const clock = { now: () => time.now };
  const databasePath = join(folder, 'test.db');
  const store = openSqliteStore({ path: databasePath, clock, logger: silentLogger });
  t.after(async () => {
    await store.close();
    rmSync(folder, { recursive: true });
  });
  let config = defaultConfig(written);
  const events = createRunEvents((error) => {
    throw error;
  });
  const context = {
    store,
    config: () => config,
    clock,
    logger: silentLogger,
    events,
    stateDir: '/state',
    cursorSecret: 'test',
  };
  return {
    context,
    databasePath,
    time,
    configure: (next) => {
      config = defaultConfig(next);
    },
    add: (...sessions) => addSessions(context, sessions),
    append: (key, messages) => appendMessages(context, { key, messages }),
    caller: (sessionKey, agentId = agentOf(sessionKey)) => ({
      type: 'session',
      sessionKey,
      agentId,
    }),
  };
}

function addSessions(context: ServiceContext, sessions: readonly NewSession[]): Promise<void> {
  return context.store.write('add-sessions', async (tx) => {
    for (const [index, session] of sessions.entries()) {
      const updatedAt = context.clock.now() - index * 1000;
      const agentId = session.agentId ?? agentOf(session.key);
      const parent = session.spawnedBy ? await tx.sessions.get(session.spawnedBy) : undefined;
      const lineage = parent ? { rootKey: parent.rootKey, spawnDepth: parent.spawnDepth + 1 } : {};
      await tx.sessions.insert(
        newSessionRow(context.config(), {
          now: tx.now,
          updatedAt,
          ...lineage,
          ...session,
          agentId,
        }),
      );
    }
  });
}

function appendMessages(
  context: ServiceContext,
  { key, messages }: { key: string; messages: readonly Message[] },
): Promise<void> {
  return context.store.write('append-messages', async (tx) => {
    const session = await tx.sessions.get(key);
    if (session === undefined) throw new Error(`no session ${key}`);
    for (const message of messages) {
      await tx.entries.append({
        sessionId: session.sessionId,
        entryId: randomUUID(),
        type: 'message',
        role: message.role,
        runId: null,
        json: JSON.stringify(message),
        createdAt: tx.now,
      });
    }
  });
}

function agentOf(key: string): string {
  return key.split(':')[1] ?? 'main';
}

/** Returns a person's message. */
export function userText(text: string): Message {
  return { role: 'user', content: [{ type: 'text', text }], timestamp: WORLD_START };
}

/** Returns an assistant message. */
export function assistantText(text: string): Message {
  return {
    role: 'assistant',
    content: [{ type: 'text', text }],
    api: 'openai-completions',
    provider: 'test',
    model: 'test',
    stopReason: 'stop',
    timestamp: WORLD_START,
  };
}

/** Returns the result of a tool call. */
export function toolResultText(text: string): Message {
  return {
    role: 'toolResult',
    toolCallId: 'call-1',
    toolName: 'read',
    content: [{ type: 'text', text }],
    isError: false,
    timestamp: WORLD_START,
  };
}

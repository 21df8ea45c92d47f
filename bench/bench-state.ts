/** State directories made for the bench: a configuration and as many sessions as wanted. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Config, type ConfigInput, defaultConfig } from '../src/protocol/options/config.ts';
import { newSessionRow } from '../src/service/sessions/session-rows.ts';
import { openSqliteStore } from '../src/store/sqlite/open-sqlite-store.ts';
import type { Store } from '../src/store/store.ts';
import { systemClock } from '../src/util/clock.ts';
import { silentLogger } from '../src/util/logger.ts';

export interface BenchState {
  stateDir: string;
  /** the database file */
  path: string;
  config: Config;
  openStore(): Store;
  remove(): void;
}

/** The session that all bench calls come from. */
export const CALLER_KEY = 'agent:main:main';
const SEED_UNIT = 1000;

/** Makes an empty state directory whose sessions may all reach each other. */
export function createBenchState(written: ConfigInput = {}): BenchState {
  const state = benchStateAt(mkdtempSync(join(tmpdir(), 'trunkline-bench-')), written);
  // also when the bench gives up in the middle
  process.once('exit', state.remove);
  writeFileSync(join(state.stateDir, 'trunkline.json'), JSON.stringify(openTo(written)));
  return state;
}

/** Returns the state directory that another process of the bench has made. */
export function benchStateAt(stateDir: string, written: ConfigInput = {}): BenchState {
  const path = join(stateDir, 'trunkline.db');
  return {
    stateDir,
    path,
    config: defaultConfig(openTo(written)),
    openStore: () => openSqliteStore({ path, clock: systemClock, logger: silentLogger }),
    remove: () => rmSync(stateDir, { recursive: true, force: true, maxRetries: 3 }),
  };
}

function openTo(written: ConfigInput): ConfigInput {
  const tools = { sessions: { visibility: 'all' as const }, agentToAgent: { enabled: true } };
  // Acceptance is measured without runs, so that the messages of all rounds wait.
  const messages = { queue: { cap: 500 } };
  return { messages, ...written, tools };
}

/** Returns the key of a group session; groups are what there are many of. */
export function groupKey(at: number): string {
  return `agent:main:telegram:group:${at}`;
}

/** Adds the caller's session and `count` groups. */
export async function seedSessions(
  store: Store,
  { config }: BenchState,
  count: number,
): Promise<void> {
  const keys = [CALLER_KEY, ...Array.from({ length: count }, (_, at) => groupKey(at))];
  for (let from = 0; from < keys.length; from += SEED_UNIT) {
    await store.write('seed', async (tx) => {
      for (const [at, key] of keys.slice(from, from + SEED_UNIT).entries()) {
        const updatedAt = tx.now - (from + at) * 1000;
        await tx.sessions.insert(
          newSessionRow(config, { key, agentId: 'main', now: tx.now, updatedAt }),
        );
      }
    });
  }
}

/** Appends `count` messages of a chat, about 200 characters each, to a session's transcript. */
export async function seedMessages(store: Store, key: string, count: number): Promise<string> {
  return store.write('seed', async (tx) => {
    const session = await tx.sessions.get(key);
    if (session === undefined) throw new Error(`no session ${key}`);
    for (let at = 0; at < count; at += 1) {
      const text = `message ${at} `.padEnd(200, 'of an ordinary length ');
      const said = { content: [{ type: 'text', text }], timestamp: tx.now };
      const role = at % 2 === 0 ? 'user' : 'assistant';
      const about = { api: 'bench', provider: 'bench', model: 'bench', stopReason: 'stop' };
      await tx.entries.append({
        sessionId: session.sessionId,
        entryId: randomUUID(),
        type: 'message',
        role,
        runId: null,
        json: JSON.stringify(role === 'user' ? { role, ...said } : { role, ...said, ...about }),
        createdAt: tx.now,
      });
    }
    return session.sessionId;
  });
}

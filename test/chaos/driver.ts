/**
 * The people and programs of a campaign: they send, lose the connection, come back, ask again under
 * the same key, and wait for outcomes. What they asked and what they were told stands in the ledger.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { connectGateway, type GatewayClient } from '../../src/client/gateway-client.ts';
import { ERROR_CODES, toGatewayError } from '../../src/protocol/errors.ts';
import { AGENTS, type Desk, type Job, makeJob } from './jobs.ts';
import { writeLedger } from './ledger.ts';
import { markOf } from './marks.ts';
import { createRandom, randomOf } from './random.ts';

export interface Driver {
  /** Sends one message to each of these sessions, and resolves with the last of them accepted. */
  poke(sessionKeys: readonly string[]): Promise<void>;
  /** Starts nothing new, and resolves when every job was answered and every outcome told, or at the limit. */
  finish(limitMs: number): Promise<void>;
  jobs(): number;
}

export interface DriverOptions {
  address: { url: string; token: string };
  ledger: string;
  seed: number;
  /** folder of an agent's files */
  workspaceOf: (agentId: string) => string;
}

/** Jobs that are asked for at a time. */
const CALLERS = 10;
/** Accepted jobs without an outcome; more would only make the lanes longer. */
const MAX_OPEN = 40;
const OPEN_SESSIONS = 8;
const JOBS_PER_SESSION = 20;
const CALL_LIMIT_MS = 8000;

/** Starts the work, which goes on until `finish`. */
export function startDriver(options: DriverOptions): Driver {
  const { ledger, seed } = options;
  const lines = Array.from({ length: 4 }, () => createLine(options.address));
  const chance = createRandom(seed);
  const desk: Desk = { open: [], known: [] };
  const used = new Map<string, number>();
  const waiting = new Set<Promise<void>>();
  let [jobs, sessions, isStopping, isOver] = [0, 0, false, false];

  /** Resolves with the runId once the job is accepted, undefined when it was refused or time is over. */
  const ask = async (job: Job): Promise<string | undefined> => {
    const { key, method, params } = job;
    while (!isOver) {
      writeLedger(ledger, { type: 'call', key });
      try {
        const answer = await chance.pick(lines).request(method, params);
        const said = readAnswer(answer);
        if ('error' in said) writeLedger(ledger, { type: 'refusal', key, error: said.error });
        else writeLedger(ledger, { type: 'answer', key, runId: said.runId });
        return 'error' in said ? undefined : said.runId;
      } catch (cause) {
        const { code, message } = toGatewayError(cause);
        const isRefusal = !ERROR_CODES[code].retryable;
        writeLedger(ledger, { type: isRefusal ? 'refusal' : 'unanswered', key, error: message });
        if (isRefusal) return undefined;
        await delay(chance.between(20, 120));
      }
    }
    return undefined;
  };
  const learnOutcome = async ({ key }: Job, runId: string): Promise<void> => {
    while (!isOver) {
      const told = await chance
        .pick(lines)
        .request('agent.wait', { runId, timeoutMs: CALL_LIMIT_MS / 2 })
        .catch((cause: unknown) => toGatewayError(cause));
      if (told instanceof Error) {
        if (ERROR_CODES[told.code].retryable) await delay(chance.between(20, 120));
        else
          return writeLedger(ledger, {
            type: 'outcome',
            key,
            runId,
            outcome: told.code,
            reply: null,
          });
      } else if (typeof told['outcome'] === 'string') {
        const reply = typeof told['reply'] === 'string' ? told['reply'] : null;
        return writeLedger(ledger, {
          type: 'outcome',
          key,
          runId,
          outcome: told['outcome'],
          reply,
        });
      }
    }
  };
  const perform = async (job: Job): Promise<string | undefined> => {
    const { key, kind, sessionKey, text, expects } = job;
    writeLedger(ledger, { type: 'job', key, kind, sessionKey, text, expects });
    if (job.needs !== undefined) putFile(options, job.needs);
    const runId = await ask(job);
    if (runId === undefined) return undefined;
    if (expects.isNote !== true) {
      const wait = learnOutcome(job, runId).finally(() => waiting.delete(wait));
      waiting.add(wait);
    }
    // Somebody presses twice.
    if (chance.chance(0.15)) await ask(job);
    return runId;
  };
  const openSession = async (): Promise<void> => {
    const sessionKey = `agent:${AGENTS[sessions % AGENTS.length]}:direct:p${(sessions += 1)}`;
    const nth = (jobs += 1);
    const accepted = await perform(pokeJob(nth, sessionKey));
    if (accepted === undefined) return;
    desk.open.push(sessionKey);
    desk.known = [...desk.known, sessionKey].slice(-2 * OPEN_SESSIONS);
  };
  const caller = async (): Promise<void> => {
    while (!isStopping) {
      if (waiting.size >= MAX_OPEN) {
        await Promise.race(waiting);
        continue;
      }
      if (desk.open.length < OPEN_SESSIONS || desk.known.length < 3) {
        await openSession();
        continue;
      }
      const nth = (jobs += 1);
      const job = makeJob(nth, { random: randomOf(seed, `job ${nth}`), desk });
      const count = (used.get(job.sessionKey) ?? 0) + 1;
      used.set(job.sessionKey, count);
      if (count >= JOBS_PER_SESSION) desk.open = desk.open.filter((key) => key !== job.sessionKey);
      await perform(job);
    }
  };
  const callers = Array.from({ length: CALLERS }, caller);

  return {
    jobs: () => jobs,
    poke: async (sessionKeys) => {
      await Promise.all(sessionKeys.map((sessionKey) => perform(pokeJob((jobs += 1), sessionKey))));
    },
    finish: async (limitMs) => {
      isStopping = true;
      const timer = setTimeout(() => (isOver = true), limitMs);
      await Promise.all(callers);
      while (waiting.size > 0) await Promise.all(waiting);
      clearTimeout(timer);
    },
  };
}

function pokeJob(nth: number, sessionKey: string): Job {
  const key = `job-${nth}`;
  const text = `${markOf(nth)}\nSAY: reply ${markOf(nth)}`;
  const params = { sessionKey, message: text, idempotencyKey: key };
  return { key, kind: 'open', method: 'chat.send', params, sessionKey, text, expects: {} };
}

function readAnswer(answer: Record<string, unknown>): { runId: string } | { error: string } {
  const said = (answer['result'] ?? answer) as Record<string, unknown>;
  if (typeof said['runId'] === 'string') return { runId: said['runId'] };
  return { error: JSON.stringify(said) };
}

function putFile(
  { workspaceOf }: DriverOptions,
  { path, content }: { path: string; content: string },
): void {
  const [agentId = '', ...rest] = path.split('/');
  const file = join(workspaceOf(agentId), ...rest);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}

interface Line {
  request(method: string, params: object): Promise<Record<string, unknown>>;
}

/** A connection that is made again when it is needed and gone. */
function createLine(address: DriverOptions['address']): Line {
  let connecting: Promise<GatewayClient> | undefined;
  const connect = async (): Promise<GatewayClient> => {
    const current = await connecting?.catch(() => undefined);
    if (current?.isOpen === true) return current;
    const fresh = connectGateway({ ...address, clientName: 'chaos', timeoutMs: CALL_LIMIT_MS });
    connecting = fresh;
    return fresh;
  };
  return {
    request: async (method, params) =>
      (await connect()).request(method, params, { timeoutMs: CALL_LIMIT_MS }),
  };
}

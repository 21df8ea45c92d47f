/**
 * The people and programs of a campaign: they send, lose the connection, come back, ask again under
 * the same key, and wait for outcomes. What they asked and what they were told stands in the ledger.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { AGENTS, type Desk, type Job, makeJob, queueSettings } from './jobs.ts';
import { writeLedger } from './ledger.ts';
import { markOf } from './marks.ts';
import { createPatientCaller, type GatewayAddress, type PatientCaller } from './patient-caller.ts';
import { createRandom, type Random, randomOf } from './random.ts';

export interface DriverOptions {
  /** of all gateways; each may be asked anything */
  addresses: readonly GatewayAddress[];
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
/** Of the turns of a caller. */
const STOP_SHARE = 0.03;
/** Accepted runs that somebody may stop. */
const STOPPABLE_RUNS = 12;

/** Works from the moment it is made until `finish`. */
export class Driver {
  readonly #options: DriverOptions;
  readonly #chance: Random;
  readonly #caller: PatientCaller;
  readonly #desk: Desk = { open: [], known: [] };
  readonly #jobsOf = new Map<string, number>();
  readonly #waiting = new Set<Promise<void>>();
  readonly #callers: Promise<void>[];
  /** accepted lately */
  readonly #recent: string[] = [];
  #jobs = 0;
  #sessions = 0;
  #isStopping = false;

  constructor(options: DriverOptions) {
    this.#options = options;
    this.#chance = createRandom(options.seed);
    this.#caller = createPatientCaller({ ...options, chance: this.#chance });
    this.#callers = Array.from({ length: CALLERS }, () => this.#work());
  }

  /** how many it has begun */
  get jobs(): number {
    return this.#jobs;
  }

  /** Sends one message to each of these sessions, and resolves when all are answered. */
  async poke(sessionKeys: readonly string[]): Promise<void> {
    await Promise.all(sessionKeys.map((key) => this.#perform(pokeJob((this.#jobs += 1), key))));
  }

  /** Starts nothing new, and resolves when every job was answered and every outcome told, or at the limit. */
  async finish(limitMs: number): Promise<void> {
    this.#isStopping = true;
    const timer = setTimeout(() => this.#caller.giveUp(), limitMs);
    await Promise.all(this.#callers);
    while (this.#waiting.size > 0) await Promise.all(this.#waiting);
    clearTimeout(timer);
  }

  async #work(): Promise<void> {
    while (!this.#isStopping) {
      if (this.#waiting.size >= MAX_OPEN) await Promise.race(this.#waiting);
      else if (this.#isDeskSmall()) await this.#openSession();
      else if (this.#chance.chance(STOP_SHARE)) await this.#stopSomething();
      else await this.#perform(this.#nextJob());
    }
  }

  #isDeskSmall(): boolean {
    return this.#desk.open.length < OPEN_SESSIONS || this.#desk.known.length < 3;
  }

  /** A session is written to by others only once it is known to be there. */
  async #openSession(): Promise<void> {
    const agent = AGENTS[this.#sessions % AGENTS.length];
    const key = `agent:${agent}:direct:p${(this.#sessions += 1)}`;
    const accepted = await this.#perform(pokeJob((this.#jobs += 1), key));
    if (accepted === undefined) return;
    const settings = queueSettings(randomOf(this.#options.seed, `session ${key}`));
    if (Object.keys(settings).length > 0) await this.#caller.patch({ key, ...settings });
    this.#desk.open.push(key);
    this.#desk.known = [...this.#desk.known, key].slice(-2 * OPEN_SESSIONS);
  }

  async #stopSomething(): Promise<void> {
    const isRun = this.#recent.length > 0 && this.#chance.chance(0.6);
    await this.#caller.stop(
      isRun
        ? { runId: this.#chance.pick(this.#recent) }
        : { sessionKey: this.#chance.pick(this.#desk.open) },
    );
  }

  #nextJob(): Job {
    const nth = (this.#jobs += 1);
    const random = randomOf(this.#options.seed, `job ${nth}`);
    const job = makeJob(nth, { random, desk: this.#desk });
    const count = (this.#jobsOf.get(job.sessionKey) ?? 0) + 1;
    this.#jobsOf.set(job.sessionKey, count);
    if (count >= JOBS_PER_SESSION)
      this.#desk.open = this.#desk.open.filter((key) => key !== job.sessionKey);
    return job;
  }

  async #perform(job: Job): Promise<string | undefined> {
    const { key, kind, sessionKey, text, expects } = job;
    writeLedger(this.#options.ledger, { type: 'job', key, kind, sessionKey, text, expects });
    if (job.needs !== undefined) putFile(this.#options, job.needs);
    const runId = await this.#caller.ask(job);
    if (runId === undefined) return undefined;
    if (expects.isNote !== true) {
      this.#recent.push(runId);
      if (this.#recent.length > STOPPABLE_RUNS) this.#recent.shift();
      const wait = this.#caller.learnOutcome(job, runId).finally(() => this.#waiting.delete(wait));
      this.#waiting.add(wait);
    }
    // Somebody presses twice.
    if (this.#chance.chance(0.15)) await this.#caller.ask(job);
    return runId;
  }
}

function pokeJob(nth: number, sessionKey: string): Job {
  const key = `job-${nth}`;
  const text = `${markOf(nth)}\nSAY: reply ${markOf(nth)}`;
  const params = { sessionKey, message: text, idempotencyKey: key };
  return { key, kind: 'open', method: 'chat.send', params, sessionKey, text, expects: {} };
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

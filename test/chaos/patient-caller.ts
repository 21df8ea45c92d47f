/** Calls that outlive their gateway: made again under the same key until somebody answers, all of it in the ledger. */
import { setTimeout as delay } from 'node:timers/promises';
import { connectGateway, type GatewayClient } from '../../src/client/gateway-client.ts';
import { ERROR_CODES, toGatewayError } from '../../src/protocol/errors.ts';
import type { Job } from './jobs.ts';
import { writeLedger } from './ledger.ts';
import type { Random } from './random.ts';

export interface PatientCaller {
  /** Resolves with the runId once the job is accepted, undefined when it was refused or nobody may try again. */
  ask(job: Job): Promise<string | undefined>;
  /** Resolves once the outcome of the run was told, or nobody may ask again. */
  learnOutcome(job: Job, runId: string): Promise<void>;
  /** Changes the settings of a session, until somebody says that it is done. */
  patch(settings: { key: string } & Record<string, unknown>): Promise<void>;
  /** Stops a run, or what a session is at, and writes down what that ended. Not tried again: the next try would stop more. */
  stop(target: { runId: string } | { sessionKey: string }): Promise<void>;
  /** No more tries from now on. */
  giveUp(): void;
}

export interface GatewayAddress {
  url: string;
  token: string;
}

const CONNECTIONS = 4;
/** A gateway that is paused takes a call and says nothing. */
const CALL_LIMIT_MS = 8000;

/** Returns a caller with a few connections to each gateway, any of which carries any try. */
export function createPatientCaller({
  addresses,
  ledger,
  chance,
}: {
  addresses: readonly GatewayAddress[];
  ledger: string;
  chance: Random;
}): PatientCaller {
  const lines = addresses.flatMap((address) =>
    Array.from({ length: CONNECTIONS }, () => createLine(address)),
  );
  let isOver = false;
  const pickLine = (): Line => {
    const ready = lines.filter((line) => line.isReady());
    return chance.pick(ready.length > 0 ? ready : lines);
  };
  const pause = (): Promise<void> => delay(chance.between(20, 120));

  const tryOnce = async ({ key, method, params }: Job): Promise<Answer | 'unanswered'> => {
    writeLedger(ledger, { type: 'call', key });
    try {
      return readAnswer(await pickLine().request(method, params));
    } catch (cause) {
      const { code, message: error } = toGatewayError(cause);
      if (!ERROR_CODES[code].retryable) return { error };
      writeLedger(ledger, { type: 'unanswered', key, error });
      return 'unanswered';
    }
  };
  return {
    ask: async (job) => {
      while (!isOver) {
        const answer = await tryOnce(job);
        if (answer === 'unanswered') {
          await pause();
          continue;
        }
        const { key } = job;
        if ('error' in answer) writeLedger(ledger, { type: 'refusal', key, error: answer.error });
        else writeLedger(ledger, { type: 'answer', key, runId: answer.runId });
        return 'error' in answer ? undefined : answer.runId;
      }
      return undefined;
    },
    learnOutcome: async ({ key }, runId) => {
      while (!isOver) {
        const ask = chance.chance(0.25) ? askRuns : askOutcome;
        const told = await ask(pickLine(), runId);
        if (told !== undefined)
          return writeLedger(ledger, { type: 'outcome', key, runId, ...told });
        await pause();
      }
    },
    patch: async (settings) => {
      while (!isOver) {
        const isDone = await chance
          .pick(lines)
          .request('sessions.patch', settings)
          .then(
            () => true,
            (cause: unknown) => !ERROR_CODES[toGatewayError(cause).code].retryable,
          );
        if (isDone) return;
        await pause();
      }
    },
    stop: async (target) => {
      const answer = await chance
        .pick(lines)
        .request('runs.stop', target)
        .catch(() => undefined);
      if (answer === undefined) return;
      const runIds = answer['runIds'] as string[];
      writeLedger(ledger, { type: 'stop', target: Object.values(target).join(), runIds });
    },
    giveUp: () => {
      isOver = true;
    },
  };
}

type Answer = { runId: string } | { error: string };

function readAnswer(answer: Record<string, unknown>): Answer {
  const said = (answer['result'] ?? answer) as Record<string, unknown>;
  if (typeof said['runId'] === 'string') return { runId: said['runId'] };
  return { error: JSON.stringify(said) };
}

interface Told {
  outcome: string;
  reply: string | null;
}

/** As `askOutcome`, by the wait for several. */
async function askRuns(line: Line, runId: string): Promise<Told | undefined> {
  const limits = { runIds: [runId], mode: 'any', timeoutMs: CALL_LIMIT_MS / 2 };
  const answer = await line.request('runs.wait', limits).catch(() => undefined);
  const [done] = (answer?.['done'] ?? []) as { outcome: string; reply?: string }[];
  return done === undefined ? undefined : { outcome: done.outcome, reply: done.reply ?? null };
}

/** Returns undefined when the run goes on, or nobody answered. */
async function askOutcome(line: Line, runId: string): Promise<Told | undefined> {
  try {
    const told = await line.request('agent.wait', { runId, timeoutMs: CALL_LIMIT_MS / 2 });
    if (typeof told['outcome'] !== 'string') return undefined;
    const reply = typeof told['reply'] === 'string' ? told['reply'] : null;
    return { outcome: told['outcome'], reply };
  } catch (cause) {
    const { code } = toGatewayError(cause);
    return ERROR_CODES[code].retryable ? undefined : { outcome: code, reply: null };
  }
}

interface Line {
  /** false for a while after a call that nobody answered: the longer it hung, the longer */
  isReady(): boolean;
  request(method: string, params: object): Promise<Record<string, unknown>>;
}

/** A connection that is made again when it is needed and gone. */
function createLine(address: GatewayAddress): Line {
  let connecting: Promise<GatewayClient> | undefined;
  const connect = async (): Promise<GatewayClient> => {
    const current = await connecting?.catch(() => undefined);
    if (current?.isOpen === true) return current;
    const fresh = connectGateway({ ...address, clientName: 'chaos', timeoutMs: CALL_LIMIT_MS });
    connecting = fresh;
    return fresh;
  };
  let restsUntil = 0;
  return {
    isReady: () => performance.now() >= restsUntil,
    request: async (method, params) => {
      const startedAt = performance.now();
      try {
        return await (await connect()).request(method, params, { timeoutMs: CALL_LIMIT_MS });
      } catch (cause) {
        const now = performance.now();
        if (ERROR_CODES[toGatewayError(cause).code].retryable) restsUntil = 2 * now - startedAt;
        throw cause;
      }
    },
  };
}

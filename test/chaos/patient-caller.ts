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
  /** No more tries from now on. */
  giveUp(): void;
}

export interface GatewayAddress {
  url: string;
  token: string;
}

const CONNECTIONS = 4;
const CALL_LIMIT_MS = 8000;

/** Returns a caller with a few connections, any of which carries any try. */
export function createPatientCaller({
  address,
  ledger,
  chance,
}: {
  address: GatewayAddress;
  ledger: string;
  chance: Random;
}): PatientCaller {
  const lines = Array.from({ length: CONNECTIONS }, () => createLine(address));
  let isOver = false;
  const pause = (): Promise<void> => delay(chance.between(20, 120));

  const tryOnce = async ({ key, method, params }: Job): Promise<Answer | 'unanswered'> => {
    writeLedger(ledger, { type: 'call', key });
    try {
      return readAnswer(await chance.pick(lines).request(method, params));
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
        const told = await askOutcome(chance.pick(lines), runId);
        if (told !== undefined)
          return writeLedger(ledger, { type: 'outcome', key, runId, ...told });
        await pause();
      }
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

/** Returns undefined when the run goes on, or nobody answered. */
async function askOutcome(
  line: Line,
  runId: string,
): Promise<{ outcome: string; reply: string | null } | undefined> {
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
  return {
    request: async (method, params) =>
      (await connect()).request(method, params, { timeoutMs: CALL_LIMIT_MS }),
  };
}

/**
 * Two or three agents that message each other and wait, from roots of their own, at moments of
 * chance: whatever comes together, nobody waits for ever, and who may not wait is told why.
 */
import type { GatewayClient } from '../../src/client/gateway-client.ts';
import { createRandom, type Random } from './random.ts';
import { inDatabase, type Row } from './store-state.ts';

export interface InterleavingsOptions {
  client: GatewayClient;
  database: string;
  seed: number;
  count: number;
  /** at a time, each on sessions of its own */
  atOnce: number;
}

export interface InterleavingsReport {
  interleavings: number;
  sends: number;
  refused: number;
  /** how long the cycles were that refused waits named, and how many of each */
  cycles: Record<number, number>;
  /** what hung, or was refused without a cycle that was there */
  problems: string[];
}

const AGENTS = ['a', 'b', 'c'];
/** Of the gateway that plays the interleavings: no model, so that the scripted runtime stands in. */
export const INTERLEAVING_CONFIG = {
  agents: {
    defaults: { maxConcurrent: 8 },
    list: AGENTS.map((id, at) => ({ id, default: at === 0 })),
  },
  tools: { sessions: { visibility: 'all' }, agentToAgent: { enabled: true } },
  messages: { queue: { mode: 'followup', debounceMs: 0, cap: 500 } },
};
/** A wait that lasts that long has hung, even on a machine that has much else to do. */
const WAIT_SECONDS = 90;

/** Plays the interleavings and judges every send. */
export async function playInterleavings(
  options: InterleavingsOptions,
): Promise<InterleavingsReport> {
  const problems: string[] = [];
  let next = 0;
  const play = async (): Promise<void> => {
    while (next < options.count) problems.push(...(await playOne(options, (next += 1))));
  };
  await Promise.all(Array.from({ length: options.atOnce }, play));
  const judged = await inDatabase({ kind: 'sqlite', path: options.database }, async (query) => ({
    calls: await query(
      'select c.*, r.session_key from tool_calls c join runs r on r.run_id = c.run_id',
    ),
    waits: await query('select waiter_key, target_key from waits'),
  }));
  const refusals = judged.calls.flatMap((call) => toRefusal(call));
  const edges = new Set(judged.waits.map((row) => `${row['waiter_key']} ${row['target_key']}`));
  problems.push(...judged.calls.flatMap((call) => judgeCall(call)));
  problems.push(...refusals.flatMap((refusal) => judgeCycle(refusal, edges)));
  return {
    interleavings: options.count,
    sends: judged.calls.length,
    refused: refusals.length,
    cycles: countBy(refusals.map(({ path }) => path.length - 1)),
    problems,
  };
}

/** Starts the roots together and returns what did not end. */
async function playOne({ client, seed }: InterleavingsOptions, nth: number): Promise<string[]> {
  const random = createRandom(seed + nth);
  const agents = AGENTS.slice(0, random.pick([2, 3]));
  const keys = agents.map((agent) => `agent:${agent}:direct:i${nth}`);
  const request = (sessionKey: string, message: string, idempotencyKey: string) =>
    client.request<{ runId: string }>('chat.send', { sessionKey, message, idempotencyKey });
  // An agent can only send to a session that is there.
  await Promise.all(keys.map((key, at) => request(key, 'SAY: here', `${nth}-open-${at}`)));
  const roots = keys.flatMap((key, at) =>
    random.chance(0.9) || at < 2 ? [{ key, script: scriptOf(random, { keys, self: key }) }] : [],
  );
  const sent = await Promise.all(
    roots.map(({ key, script }, at) => request(key, script, `${nth}-root-${at}`)),
  );
  const told = await Promise.all(
    sent.map(({ runId }) =>
      client.request('agent.wait', { runId, timeoutMs: 2 * WAIT_SECONDS * 1000 }),
    ),
  );
  return told.flatMap(({ status, runId }) =>
    status === 'ok' ? [] : [`interleaving ${nth}: run ${String(runId)} ended ${String(status)}`],
  );
}

/** One or two sends with a wait, each of which may make its target send on, with pauses in between. */
function scriptOf(
  random: Random,
  { keys, self, depth = 0 }: { keys: readonly string[]; self: string; depth?: number },
): string {
  const sends = depth === 0 ? random.between(1, 2) : random.between(0, 1);
  const lines = Array.from({ length: sends }, () => {
    const target = random.pick(keys.filter((key) => key !== self));
    const message =
      depth < 2 ? scriptOf(random, { keys, self: target, depth: depth + 1 }) : 'SAY: end';
    const args = { sessionKey: target, message, timeoutSeconds: WAIT_SECONDS };
    return `${pause(random)}TOOL: sessions_send ${JSON.stringify(args)}`;
  });
  return [...lines, `${pause(random)}SAY: done`].join('\n');
}

function pause(random: Random): string {
  return random.chance(0.5) ? `SLEEP: ${random.between(1, 15)}\n` : '';
}

interface Answer {
  status: string;
  outcome?: string;
  error?: string;
}

function answerOf(call: Row): Answer {
  const result = JSON.parse(String(call['result_json'])) as { details: Answer };
  return result.details;
}

function nameOf(call: Row): string {
  return `call ${call['run_id']}:${call['position']} of ${call['session_key']}`;
}

/** Every send is answered, or refused for its cycle. */
function judgeCall(call: Row): string[] {
  if (call['state'] !== 'finished') return [`${nameOf(call)} is ${call['state']}`];
  const { status, error } = answerOf(call);
  if (status === 'ok') return [];
  if (toRefusal(call).length > 0 || /loop stopped/.test(error ?? '')) return [];
  return [`${nameOf(call)} was answered ${status}: ${error}`];
}

interface Refusal {
  call: Row;
  path: string[];
}

function toRefusal(call: Row): Refusal[] {
  const { error = '' } = call['state'] === 'finished' ? answerOf(call) : { error: '' };
  const cycle = /would never end: (?<path>.*?)\. Nothing was sent/.exec(error)?.groups?.['path'];
  return cycle === undefined ? [] : [{ call, path: cycle.split(' waits for ') }];
}

/** The cycle begins and ends with who asked, and all but its first step are waits that there were. */
function judgeCycle({ call, path }: Refusal, edges: ReadonlySet<string>): string[] {
  const self = call['session_key'];
  const { sessionKey } = JSON.parse(String(call['args_json'])) as { sessionKey: string };
  const isClosed = path[0] === self && path.at(-1) === self && path[1] === sessionKey;
  const isReal = path.slice(1, -1).every((key, at) => edges.has(`${key} ${path[at + 2]}`));
  return isClosed && isReal ? [] : [`${nameOf(call)} names a cycle that is none: ${path.join()}`];
}

function countBy(lengths: readonly number[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const length of lengths) counts[length] = (counts[length] ?? 0) + 1;
  return counts;
}

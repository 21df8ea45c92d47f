/** What reached the outside beside the chats: files of the agents, requests to the model. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { toolCallsOf } from '../../src/protocol/message.ts';
import { type Entry, type Evidence, type Problem, textIn } from './evidence.ts';
import { countProblem } from './judge-follow-ups.ts';
import type { DriverEntry } from './ledger.ts';
import type { Row } from './store-state.ts';

/** Returns effects that happened twice, that are missing, or that nobody asked for. */
export function judgeEffects(evidence: Evidence): Problem[] {
  const jobs = evidence.driver.filter((entry) => entry.type === 'job');
  const answers = new Map(
    evidence.driver.flatMap((entry) => (entry.type === 'answer' ? [[entry.key, entry.runId]] : [])),
  );
  return [
    ...jobs.flatMap((job) => {
      const run = evidence.run(answers.get(job.key));
      if (run === undefined) return [];
      return [...judgeFiles(evidence, { job, run }), ...judgeDelivered(evidence, { job, run })];
    }),
    ...judgeModel(evidence),
  ];
}

type JobEntry = Extract<DriverEntry, { type: 'job' }>;

/** Each file has one sign per effect; what the transcript calls unknown may have happened or not. */
function judgeFiles(evidence: Evidence, { job, run }: { job: JobEntry; run: Row }): Problem[] {
  const entries = evidence.entriesOf(evidence.turnOf(run)['run_id']);
  return (job.expects.effects ?? []).flatMap((path) => {
    const result = resultAt(entries, path);
    const count = signsIn(evidence, path);
    const isError = result?.message.role === 'toolResult' && result.message.isError;
    if (count > 1) return [{ kind: 'doubled', what: `${job.key}: ${path} has ${count} effects` }];
    if (result !== undefined && !isError)
      return countProblem(`${job.key}: effects in ${path}`, { count, expected: 1 });
    const isUnknown = result === undefined || textIn(result).includes('outcome unknown');
    // what was stopped or broken off says so in its result
    if (isUnknown || run['state'] !== 'ok') return [];
    return [{ kind: 'wrong', what: `${job.key}: ${path}: ${textIn(result)}` }];
  });
}

/** Returns the result of the call that works on this file of a workspace. */
function resultAt(entries: readonly Entry[], path: string): Entry | undefined {
  const file = path.split('/').slice(1).join('/');
  const calls = entries.flatMap(({ message }) =>
    message.role === 'assistant' ? toolCallsOf(message) : [],
  );
  const id = calls.find((call) => JSON.stringify(call.arguments).includes(file))?.id;
  return entries.find(({ message }) => message.role === 'toolResult' && message.toolCallId === id);
}

function signsIn({ workspaceOf }: Evidence, path: string): number {
  const [agentId = '', ...rest] = path.split('/');
  const file = join(workspaceOf(agentId), ...rest);
  return existsSync(file) ? readFileSync(file, 'utf8').split('+').length - 1 : 0;
}

/** A reply that was to be delivered is in the outbox once, and only when there is one. */
function judgeDelivered(evidence: Evidence, { job, run }: { job: JobEntry; run: Row }): Problem[] {
  if (job.expects.deliveredTo === undefined) return [];
  const count = evidence.rows.deliveries.filter(
    (row) => row['delivery_id'] === `reply:${run['run_id']}:0`,
  ).length;
  const expected = run['state'] === 'ok' ? 1 : 0;
  return countProblem(`${job.key}: deliveries of its reply`, { count, expected });
}

/** The model was never told a message twice in one request, and no reply is stored that it did not give. */
function judgeModel(evidence: Evidence): Problem[] {
  const given = new Set(evidence.model.flatMap(({ text }) => (text === undefined ? [] : [text])));
  const doubled = evidence.model.flatMap((entry) => entry.doubled);
  return [
    ...[...new Set(doubled)].map((mark): Problem => ({
      kind: 'doubled',
      what: `the model was told ${mark} twice at once`,
    })),
    ...evidence.rows.runs
      .filter(
        (run) => run['state'] === 'ok' && run['reply'] !== '' && !given.has(String(run['reply'])),
      )
      .map((run): Problem => ({
        kind: 'wrong',
        what: `run ${run['run_id']}: nobody said its reply`,
      })),
  ];
}

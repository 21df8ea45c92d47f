/** What reached the outside: files of the agents, texts in the chats, requests to the model. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Evidence, type Problem, repeated, textIn } from './evidence.ts';
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
    ...evidence.rows.deliveries.flatMap((delivery) => judgeDelivery(evidence, delivery)),
    ...judgeChats(evidence),
    ...judgeModel(evidence),
  ];
}

type JobEntry = Extract<DriverEntry, { type: 'job' }>;

/** Each file has one sign per effect; what the transcript calls unknown may have happened or not. */
function judgeFiles(evidence: Evidence, { job, run }: { job: JobEntry; run: Row }): Problem[] {
  const results = evidence
    .entriesOf(run['run_id'])
    .filter(({ message }) => message.role === 'toolResult');
  return (job.expects.effects ?? []).flatMap((path, at) => {
    const result = results[at];
    const count = signsIn(evidence, path);
    const isError = result?.message.role === 'toolResult' && result.message.isError;
    if (count > 1) return [{ kind: 'doubled', what: `${job.key}: ${path} has ${count} effects` }];
    if (result !== undefined && !isError)
      return countProblem(`${job.key}: effects in ${path}`, { count, expected: 1 });
    const isUnknown = result === undefined || textIn(result).includes('outcome unknown');
    if (isUnknown) return [];
    return [{ kind: 'wrong', what: `${job.key}: ${path}: ${textIn(result)}` }];
  });
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

/** The outbox against the chats: sent is shown once, failed and unknown at most once. */
function judgeDelivery({ channel }: Evidence, row: Row): Problem[] {
  const name = `delivery ${row['delivery_id']} to ${row['channel']}`;
  const state = String(row['state']);
  if (state === 'queued' || state === 'sending')
    return [{ kind: 'open', what: `${name} ${state}` }];
  if (row['channel'] !== 'keyed' && row['channel'] !== 'plain') return [];
  const isShown = channel.some(
    (part) => part.isShown && part.to === row['route_to'] && part.text === row['text'],
  );
  if (state === 'sent' && !isShown) return [{ kind: 'lost', what: `${name}: not shown` }];
  const mayFail = row['channel'] === 'plain';
  if (state !== 'sent' && !mayFail) return [{ kind: 'lost', what: `${name}: ${state}` }];
  return [];
}

/** No two texts of a campaign are the same, so the same text twice in a chat is a double. */
function judgeChats({ channel, rows }: Evidence): Problem[] {
  const shown = channel.filter(({ isShown }) => isShown);
  const nameOf = (name: string, to: string, text: string): string => `${name} ${to}: ${text}`;
  const owed = new Set(
    rows.deliveries.map((row) =>
      nameOf(String(row['channel']), String(row['route_to']), String(row['text'])),
    ),
  );
  const names = shown.map((part) => nameOf(part.channel, String(part.to), part.text));
  return [
    ...repeated(names).map((name): Problem => ({ kind: 'doubled', what: `shown: ${name}` })),
    ...names
      .filter((name) => !owed.has(name))
      .map((name): Problem => ({ kind: 'lost', what: `shown, but not in the outbox: ${name}` })),
  ];
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

/** What the driver was told, held against the store: nothing that was accepted or told may be gone. */
import { type Evidence, hasOutcome, type Problem, repeated } from './evidence.ts';
import type { DriverEntry } from './ledger.ts';

type Of<T extends DriverEntry['type']> = Extract<DriverEntry, { type: T }>;

/** Returns what is wrong with the driver's own jobs. */
export function judgeAnswers(evidence: Evidence): Problem[] {
  const jobs = entriesOf(evidence, 'job');
  const answers = Map.groupBy(entriesOf(evidence, 'answer'), ({ key }) => key);
  const refusals = new Map(entriesOf(evidence, 'refusal').map((entry) => [entry.key, entry]));
  const outcomes = Map.groupBy(entriesOf(evidence, 'outcome'), ({ key }) => key);
  return jobs.flatMap((job) => {
    const told = answers.get(job.key) ?? [];
    const runIds = [...new Set(told.map(({ runId }) => runId))];
    const stored = inputsOf(evidence, job);
    if (runIds.length === 0) {
      const isRefused = refusals.has(job.key);
      if (isRefused && stored.length === 0) return [];
      if (isRefused) return [{ kind: 'wrong', what: `${job.key} was refused and is stored` }];
      return [{ kind: 'open', what: `${job.key} was never answered` }];
    }
    return [
      ...doubles(job, { runIds, stored }),
      ...runIds.flatMap((runId) => judgeAccepted(evidence, { job, runId })),
      ...(outcomes.get(job.key) ?? []).flatMap((outcome) => judgeTold(evidence, outcome)),
      ...(outcomes.has(job.key) || job.expects.isNote === true
        ? []
        : [{ kind: 'open' as const, what: `${job.key}: no outcome was told` }]),
    ];
  });
}

function entriesOf<T extends DriverEntry['type']>({ driver }: Evidence, type: T): Of<T>[] {
  return driver.filter((entry): entry is Of<T> => entry.type === type);
}

function inputsOf({ accepted }: Evidence, { text }: Of<'job'>): unknown[] {
  return accepted(text.split('\n', 1)[0] ?? '');
}

function doubles(
  { key }: Of<'job'>,
  { runIds, stored }: { runIds: readonly string[]; stored: readonly unknown[] },
): Problem[] {
  const problems: Problem[] = [];
  if (runIds.length > 1)
    problems.push({ kind: 'doubled', what: `${key} was accepted as ${runIds.join(' and ')}` });
  if (stored.length > 1)
    problems.push({ kind: 'doubled', what: `${key} is stored ${stored.length} times` });
  return problems;
}

function judgeAccepted(
  evidence: Evidence,
  { job, runId }: { job: Of<'job'>; runId: string },
): Problem[] {
  const { key, text, sessionKey, expects } = job;
  const input = evidence.input(runId);
  if (input === undefined)
    return [{ kind: 'lost', what: `${key}: accepted ${runId} is not stored` }];
  if (input['text'] !== text || input['session_key'] !== sessionKey)
    return [{ kind: 'wrong', what: `${key}: ${runId} holds another message` }];
  const isDone =
    expects.isNote === true ? input['state'] === 'appended' : hasOutcome(evidence.run(runId));
  return isDone ? [] : [{ kind: 'open', what: `${key}: ${runId} has no outcome` }];
}

/** An outcome that somebody was told stays true. */
function judgeTold(evidence: Evidence, { key, runId, outcome, reply }: Of<'outcome'>): Problem[] {
  const run = evidence.run(runId);
  if (run === undefined)
    return [{ kind: 'lost', what: `${key}: asked for the outcome of ${runId}: ${outcome}` }];
  const isSame = run['state'] === outcome && (outcome !== 'ok' || run['reply'] === reply);
  if (isSame) return [];
  return [{ kind: 'wrong', what: `${key}: told ${outcome}, stored is ${run['state']}` }];
}

/** Returns idempotency keys that name more than one accepted message. */
export function judgeKeys({ rows }: Evidence): Problem[] {
  const names = rows.inputs
    .filter((row) => row['idempotency_key'] !== null)
    .map((row) => `${row['idempotency_scope']} ${row['idempotency_key']}`);
  return repeated(names).map((name) => ({ kind: 'doubled', what: `key ${name}` }));
}

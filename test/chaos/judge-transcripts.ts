/** The transcripts by themselves, and against what was accepted: no gap, nothing twice, nothing missing. */
import { toolCallsOf } from '../../src/protocol/message.ts';
import {
  type Entry,
  type Evidence,
  hasOutcome,
  type Problem,
  repeated,
  textIn,
} from './evidence.ts';
import { countProblem } from './judge-follow-ups.ts';
import { isWithdrawn, placeOf } from './judge-stops.ts';
import { ownMark } from './marks.ts';
import type { Row } from './store-state.ts';

/** Returns what is wrong with the windows and the runs that wrote them. */
export function judgeTranscripts(evidence: Evidence): Problem[] {
  const windows = Map.groupBy(evidence.entries, ({ sessionId }) => sessionId);
  return [
    ...evidence.rows.windows.flatMap((row) =>
      judgeWindow(evidence, row, windows.get(String(row['session_id'])) ?? []),
    ),
    ...evidence.rows.runs.flatMap((run) => judgeRun(evidence, run)),
    ...evidence.rows.inputs.flatMap((input) => judgeInput(evidence, input)),
    ...judgeMarks(evidence),
  ];
}

function judgeWindow(evidence: Evidence, window: Row, entries: Entry[]): Problem[] {
  const problems: Problem[] = [];
  const name = `window ${window['session_id']}`;
  entries.forEach((entry, at) => {
    if (entry.seq !== at + 1)
      problems.push({ kind: 'lost', what: `${name}: seq ${entry.seq} follows ${at}` });
    if (entry.parentId !== (entries[at - 1]?.entryId ?? null))
      problems.push({ kind: 'lost', what: `${name}: entry ${entry.seq} has another parent` });
  });
  if (window['next_seq'] !== entries.length + 1)
    problems.push({ kind: 'lost', what: `${name}: next seq is ${window['next_seq']}` });
  if (isOutOfOrder(evidence, entries))
    problems.push({ kind: 'wrong', what: `${name}: runs out of the order of their acceptance` });
  return problems;
}

/** Turns begin in the order of acceptance, but for a message that interrupts: it goes before all that waits. */
function isOutOfOrder(evidence: Evidence, entries: readonly Entry[]): boolean {
  const places = entries
    .filter(({ message }) => message.role === 'user')
    .map(({ runId }) => evidence.run(runId))
    .filter((run) => run?.['queue_mode'] !== 'interrupt')
    .map(placeOf);
  return places.some((place, at) => place < (places[at - 1] ?? 0));
}

function judgeRun(evidence: Evidence, run: Row): Problem[] {
  const { run_id: runId, state } = run;
  if (!hasOutcome(run)) return [{ kind: 'open', what: `run ${runId} is ${state}` }];
  const own = evidence.input(runId);
  const isDropped = own?.['state'] === 'dropped';
  const turn = evidence.turnOf(run);
  const entries = evidence.entriesOf(turn['run_id']);
  const said = entries.filter(
    (entry) => entry.message.role === 'user' && textIn(entry) === own?.['text'],
  ).length;
  const problems = countProblem(`run ${runId}: its message in its transcript`, {
    count: said,
    expected: isDropped ? 0 : 1,
  });
  if (isDropped) return [...problems, ...judgeDropped(run)];
  if (turn !== run) return [...problems, ...judgeMerged(run, turn)];
  const finals = entries.filter(
    ({ message }) => message.role === 'assistant' && toolCallsOf(message).length === 0,
  );
  if (finals.length > 1)
    problems.push({ kind: 'doubled', what: `run ${runId} has ${finals.length} last messages` });
  if (state === 'ok' && finals.length === 0)
    problems.push({ kind: 'lost', what: `run ${runId}: its reply is in no transcript` });
  return [...problems, ...judgeCalls(evidence, { runId: String(runId), entries })];
}

/** A message never begins that was stopped before, or gave way to newer ones. */
function judgeDropped(run: Row): Problem[] {
  const { run_id: runId, state, error, stopped_by: stoppedBy } = run;
  const isStopped = state === 'aborted' && stoppedBy !== null;
  const gaveWay = state === 'error' && String(error).startsWith('dropped:');
  if (isStopped || gaveWay || isWithdrawn(run)) return [];
  return [{ kind: 'lost', what: `run ${runId} never began and is ${state}: ${error}` }];
}

/** A message that joined the turn of another run has the outcome of that, or was stopped by itself. */
function judgeMerged(run: Row, turn: Row): Problem[] {
  const isSame = run['state'] === turn['state'] && run['reply'] === turn['reply'];
  if (isSame && run['session_key'] === turn['session_key']) return [];
  const what = `run ${run['run_id']} is ${run['state']}, its turn ${turn['run_id']} ${turn['state']}`;
  return [{ kind: 'wrong', what }];
}

/** Each call that a model planned has one result, in the order of the calls. */
function judgeCalls(
  evidence: Evidence,
  { runId, entries }: { runId: string; entries: Entry[] },
): Problem[] {
  const planned = entries.flatMap(({ message }) =>
    message.role === 'assistant' ? toolCallsOf(message).map(({ id }) => id) : [],
  );
  const results = entries.flatMap(({ message }) =>
    message.role === 'toolResult' ? [message.toolCallId] : [],
  );
  if (results.join() === planned.join()) return [];
  // A run that was stopped leaves what it had not begun.
  const isCut = evidence.run(runId)?.['state'] !== 'ok';
  if (isCut && planned.join().startsWith(results.join())) return [];
  const kind = results.length > planned.length ? 'doubled' : 'lost';
  return [{ kind, what: `run ${runId}: ${planned.length} calls, ${results.length} results` }];
}

function judgeInput(evidence: Evidence, input: Row): Problem[] {
  const { input_id: inputId, state, kind } = input;
  const isNote = kind === 'note' || kind === 'announce' || kind === 'summary';
  if (state !== 'appended' && (isNote || state !== 'dropped'))
    return [{ kind: 'open', what: `${kind} ${inputId} is ${state}` }];
  if (!isNote && evidence.run(inputId) === undefined)
    return [{ kind: 'lost', what: `${kind} ${inputId} has no run` }];
  if (!isNote) return [];
  const times = evidence
    .entriesOf(input['run_id'])
    .filter((entry) => entry.message.role === 'user' && textIn(entry) === input['text']).length;
  if (times === 1) return [];
  return [{ kind: times === 0 ? 'lost' : 'doubled', what: `${kind} ${inputId}: ${times} times` }];
}

/** A mark at the beginning of a message names that message alone, over all transcripts. */
function judgeMarks({ entries }: Evidence): Problem[] {
  const marks = entries.flatMap((entry) =>
    entry.message.role === 'user' ? (ownMark(textIn(entry)) ?? []) : [],
  );
  return repeated(marks).map((mark) => ({
    kind: 'doubled',
    what: `message ${mark} stands in the transcripts more than once`,
  }));
}

/** What follows from a run: messages between agents with their exchanges, children with their announces. */
import { type Evidence, hasOutcome, type Problem } from './evidence.ts';
import { marksIn, ownMark } from './marks.ts';
import type { Row } from './store-state.ts';

/** Returns what is wrong with sends, exchanges, spawns, lanes and waits. */
export function judgeFollowUps(evidence: Evidence): Problem[] {
  const { rows } = evidence;
  return [
    ...rows.tool_calls.flatMap((call) => judgeCall(evidence, call)),
    ...rows.exchanges.flatMap((exchange) => judgeExchange(evidence, exchange)),
    ...rows.spawns.flatMap((spawn) => judgeSpawn(evidence, spawn)),
    ...rows.lanes.flatMap(judgeLane),
    ...rows.waits
      .filter((wait) => wait['state'] === 'open')
      .map((wait): Problem => ({ kind: 'open', what: `wait ${wait['wait_id']}` })),
    ...rows.jobs.map((job): Problem => ({ kind: 'open', what: `job ${job['job_key']}` })),
  ];
}

function judgeLane(lane: Row): Problem[] {
  const isIdle =
    lane['state'] === 'idle' &&
    lane['owner'] === null &&
    lane['pending'] === 0 &&
    lane['current_run_id'] === null;
  return isIdle ? [] : [{ kind: 'open', what: `lane ${lane['session_key']} is ${lane['state']}` }];
}

/** A session tool that said "accepted" has its message stored once; one that refused has none. */
function judgeCall(evidence: Evidence, call: Row): Problem[] {
  const name = `call ${call['run_id']}:${call['position']}:${call['call_index']} of ${call['name']}`;
  if (call['state'] !== 'finished') {
    const isCut = evidence.run(call['run_id'])?.['state'] !== 'ok';
    return isCut ? [] : [{ kind: 'lost', what: `${name} is ${call['state']}` }];
  }
  if (call['name'] === 'sessions_wait') return judgeWaited(evidence, { call, name });
  if (call['name'] !== 'sessions_send' && call['name'] !== 'sessions_spawn') return [];
  const args = JSON.parse(String(call['args_json'])) as { message?: string; task?: string };
  const mark = ownMark(args.message ?? args.task ?? '') ?? '';
  const stored = evidence.accepted(mark).length;
  const result = JSON.parse(String(call['result_json'])) as {
    details?: { status: string; runId?: string };
  };
  const isAccepted = result.details?.runId !== undefined;
  if (stored > 1) return [{ kind: 'doubled', what: `${name}: ${mark} is stored ${stored} times` }];
  if (isAccepted && stored === 0) return [{ kind: 'lost', what: `${name}: ${mark} is not stored` }];
  if (!isAccepted && stored > 0) return [{ kind: 'wrong', what: `${name}: refused, but stored` }];
  if (isAccepted && evidence.input(result.details?.runId) !== evidence.accepted(mark)[0])
    return [{ kind: 'wrong', what: `${name}: answers with the id of another message` }];
  return [];
}

/** What a wait says of runs that have ended is how they ended. */
function judgeWaited(evidence: Evidence, { call, name }: { call: Row; name: string }): Problem[] {
  const result = JSON.parse(String(call['result_json'])) as {
    details?: { done?: { runId: string; outcome: string; reply?: string }[] };
  };
  return (result.details?.done ?? []).flatMap(({ runId, outcome, reply }) => {
    const run = evidence.run(runId);
    const isSame = run?.['state'] === outcome && (reply === undefined || run['reply'] === reply);
    return isSame ? [] : [{ kind: 'wrong', what: `${name}: ${runId} was told as ${outcome}` }];
  });
}

function judgeExchange(evidence: Evidence, exchange: Row): Problem[] {
  const { exchange_id: id, state, turns } = exchange;
  const name = `exchange ${id}`;
  if (state !== 'done') return [{ kind: 'open', what: `${name} is ${state}` }];
  const problems: Problem[] = [];
  const has = (suffix: string): boolean => hasOutcome(evidence.run(`${id}:${suffix}`));
  for (let turn = 1; turn <= Number(turns); turn += 1) {
    if (!has(`turn:${turn}`)) problems.push({ kind: 'lost', what: `${name}: turn ${turn}` });
  }
  if (exchange['end_reason'] === null)
    problems.push({ kind: 'lost', what: `${name}: why it ended` });
  const isStopped = String(exchange['end_detail']).startsWith('stopped by');
  const isOwed = exchange['first_reply'] !== null && !isStopped && !isReplaced(evidence, exchange);
  if (isOwed && !has('announce')) problems.push({ kind: 'lost', what: `${name}: its announce` });
  return problems;
}

/** A newer message between the same two may have closed it at any step. */
function isReplaced({ rows }: Evidence, exchange: Row): boolean {
  const pair = pairOf(exchange);
  return rows.exchanges.some(
    (other) =>
      other !== exchange &&
      pairOf(other) === pair &&
      Number(other['created_at']) >= Number(exchange['created_at']) &&
      Number(other['created_at']) <= Number(exchange['ended_at']),
  );
}

function pairOf(exchange: Row): string {
  return [String(exchange['requester_key']), String(exchange['target_key'])].toSorted().join(' ');
}

/** A child is announced once: one note for its requester, one text for its requester's chat, or neither. */
function judgeSpawn(evidence: Evidence, spawn: Row): Problem[] {
  const { child_key: child, run_id: runId, state } = spawn;
  const name = `child ${child}`;
  if (state !== 'settled') return [{ kind: 'open', what: `${name} is ${state}` }];
  const turn = evidence.run(`${runId}:announce`);
  const isSkipped =
    turn?.['state'] === 'ok' &&
    evidence
      .entriesOf(turn['run_id'])
      .some(({ message }) => JSON.stringify(message).includes('ANNOUNCE_SKIP'));
  const expected = isSkipped ? 0 : 1;
  const mark = marksIn(String(spawn['task']))[0] ?? '';
  const notes = evidence.input(`${runId}:result`) === undefined ? 0 : 1;
  const texts = evidence.rows.deliveries.filter((row) =>
    String(row['delivery_id']).startsWith(`announce:${child}:`),
  ).length;
  return [
    ...countProblem(`${name} (${mark}): notes`, { count: notes, expected }),
    ...countProblem(`${name} (${mark}): announces`, { count: texts, expected }),
  ];
}

/** Returns what is wrong with a number of things that should be that many. */
export function countProblem(
  what: string,
  { count, expected }: { count: number; expected: number },
): Problem[] {
  if (count === expected) return [];
  return [{ kind: count < expected ? 'lost' : 'doubled', what: `${what}: ${count}` }];
}

/** The verdict of a campaign: what was accepted, what became of it, and everything that is wrong. */
import { type Evidence, gatherEvidence, type Problem } from './evidence.ts';
import { judgeAnswers, judgeKeys } from './judge-answers.ts';
import { cutHandOvers, judgeDeliveries } from './judge-deliveries.ts';
import { judgeEffects } from './judge-effects.ts';
import { judgeFollowUps } from './judge-follow-ups.ts';
import { judgeStops } from './judge-stops.ts';
import { judgeTranscripts } from './judge-transcripts.ts';

export interface Verdict {
  /** messages, tasks, turns and notes that the gateways accepted */
  accepted: number;
  counts: Record<string, number>;
  lost: number;
  doubled: number;
  /** without an outcome */
  open: number;
  /** contradictions */
  wrong: number;
  problems: Problem[];
}

/** Judges a state that no gateway works on any more. */
export async function judge(from: Parameters<typeof gatherEvidence>[0]): Promise<Verdict> {
  const evidence = await gatherEvidence(from);
  const problems = [
    ...judgeAnswers(evidence),
    ...judgeKeys(evidence),
    ...judgeTranscripts(evidence),
    ...judgeFollowUps(evidence),
    ...judgeStops(evidence),
    ...judgeEffects(evidence),
    ...judgeDeliveries(evidence),
  ];
  const count = (kind: Problem['kind']): number =>
    problems.filter((problem) => problem.kind === kind).length;
  return {
    accepted: evidence.rows.inputs.length,
    counts: countsOf(evidence),
    lost: count('lost'),
    doubled: count('doubled'),
    open: count('open'),
    wrong: count('wrong'),
    problems,
  };
}

function countsOf(evidence: Evidence): Record<string, number> {
  const { driver, model, channel, rows } = evidence;
  const told = (type: string): number => driver.filter((entry) => entry.type === type).length;
  const runsIn = (state: string): number =>
    rows.runs.filter((run) => run['state'] === state).length;
  return {
    jobs: told('job'),
    calls: told('call'),
    unanswered: told('unanswered'),
    refused: told('refusal'),
    runs: rows.runs.length,
    ok: runsIn('ok'),
    error: runsIn('error'),
    timeout: runsIn('timeout'),
    aborted: runsIn('aborted'),
    'stopped runs': rows.runs.filter((run) => run['stopped_by'] !== null).length,
    'merged runs': rows.runs.filter((run) => run['merged_into'] !== null).length,
    'dropped messages': rows.inputs.filter(({ state }) => state === 'dropped').length,
    notes: rows.inputs.filter(({ kind }) => kind === 'note').length,
    exchanges: rows.exchanges.length,
    spawns: rows.spawns.length,
    waits: rows.waits.length,
    'tool calls': rows.tool_calls.length,
    'interrupted tool calls': rows.tool_calls.filter((call) =>
      String(call['result_json']).includes('outcome unknown'),
    ).length,
    deliveries: rows.deliveries.length,
    'unknown deliveries': rows.deliveries.filter(({ state }) => state === 'unknown').length,
    'hand-overs cut': cutHandOvers(evidence).size,
    'hand-overs cut before a chat': channel.filter(({ isCut }) => isCut === true).length,
    'parts shown': channel.filter(({ isShown }) => isShown).length,
    'model requests': model.length,
  };
}

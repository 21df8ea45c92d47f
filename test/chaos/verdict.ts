/** The verdict of a campaign: what was accepted, what became of it, and everything that is wrong. */
import { type Evidence, gatherEvidence, type Problem } from './evidence.ts';
import { workspaceFolder } from './jobs.ts';
import { judgeAnswers, judgeKeys } from './judge-answers.ts';
import { judgeEffects } from './judge-effects.ts';
import { judgeFollowUps } from './judge-follow-ups.ts';
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

/** Judges a state directory that no gateway works on any more. */
export function judge(from: {
  database: string;
  stateDir: string;
  ledgers: Record<'driver' | 'model' | 'channel', string>;
}): Verdict {
  const evidence = gatherEvidence({
    ...from,
    workspaceOf: (agentId) => workspaceFolder(from.stateDir, agentId),
  });
  const problems = [
    ...judgeAnswers(evidence),
    ...judgeKeys(evidence),
    ...judgeTranscripts(evidence),
    ...judgeFollowUps(evidence),
    ...judgeEffects(evidence),
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

function countsOf({ driver, model, channel, rows }: Evidence): Record<string, number> {
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
    exchanges: rows.exchanges.length,
    spawns: rows.spawns.length,
    waits: rows.waits.length,
    'tool calls': rows.tool_calls.length,
    'interrupted tool calls': rows.tool_calls.filter((call) =>
      String(call['result_json']).includes('outcome unknown'),
    ).length,
    deliveries: rows.deliveries.length,
    'unknown deliveries': rows.deliveries.filter(({ state }) => state === 'unknown').length,
    'parts shown': channel.filter(({ isShown }) => isShown).length,
    'model requests': model.length,
  };
}

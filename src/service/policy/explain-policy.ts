/**
 * `policy.explain`: may this session do that, by which rule, and which setting says so. It asks the
 * functions that the tools ask, on a snapshot, and does nothing. Only an operator may ask, to whom no
 * session is a secret.
 */
import { closureOf } from '../../core/access.ts';
import type { SessionCaller } from '../../core/caller.ts';
import { saysOf } from '../../core/refusals.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { Config } from '../../protocol/options/config.ts';
import type { ReadTx } from '../../store/store.ts';
import type { ServiceContext } from '../context.ts';
import { unknownRun } from '../runs/wait-for-run.ts';
import { callerClosedRefusal, lookUpForOperator } from '../sessions/resolve-caller.ts';
import { decideMessage } from './decide-message.ts';
import { checkQuestion, toolOf } from './check-question.ts';
import { decideVerb, type Verdict } from './decide-verb.ts';
import type { ExplainPolicy, PolicyExplanation } from './policy-answers.ts';
import { settingValues } from './setting-values.ts';

/**
 * Returns what the tool of the verb would answer, and why. Rejects `not_found` for an `as` or a run that is none,
 * and `invalid_request` for a question that the tool could not be asked.
 */
export async function explainPolicy(
  { store, config: current, clock }: Pick<ServiceContext, 'store' | 'config' | 'clock'>,
  query: ExplainPolicy,
): Promise<PolicyExplanation> {
  checkQuestion(query);
  const config = current();
  return store.read(async (tx) => {
    if (query.verb === 'message') {
      const verdict = await decideMessage(tx, { config, query, now: clock.now() });
      const told = await withDeleted(tx, { config, query, verdict });
      return toExplanation(config, { query, verdict: told, caller: undefined });
    }
    const { caller, closed } = await actingAs(tx, config, query);
    const verdict = closed ?? (await decideVerb(tx, { config, caller, query }));
    const told = await withDeleted(tx, { config, query, verdict });
    return toExplanation(config, { query, verdict: told, caller });
  });
}

/** As a call of a run of that session, when one is named: its place in the tree of messages counts. */
async function actingAs(
  tx: ReadTx,
  config: Config,
  { as = 'main', inRun }: ExplainPolicy,
): Promise<{ caller: SessionCaller; closed: Verdict | undefined }> {
  const { key: sessionKey, agentId, closure } = await lookUpForOperator(tx, config, as);
  const caller = { type: 'session', sessionKey, agentId } as const;
  const closed = closure && callerClosedRefusal(sessionKey, closure);
  if (inRun === undefined) return { caller, closed };
  const run = await tx.runs.get(inRun);
  if (run === undefined) throw unknownRun(inRun);
  if (run.sessionKey !== sessionKey) {
    throw new GatewayError('invalid_request', `run ${run.runId} is not one of ${sessionKey}`);
  }
  const { runId, rootRunId, hops } = run;
  const { signal } = new AbortController();
  const call = { runId, rootRunId, hops, position: 0, callIndex: 0, signal };
  return { caller: { ...caller, run: call }, closed };
}

/** To the session a deleted one was never there; the operator is told what it is. */
async function withDeleted(
  tx: ReadTx,
  { config, query, verdict }: { config: Config; query: ExplainPolicy; verdict: Verdict },
): Promise<Verdict> {
  const isMissing = 'error' in verdict && verdict.rule === 'not_found';
  if (!isMissing || query.to === undefined) return verdict;
  const session = await tx.sessions.get(await keyOf(tx, config, query.to));
  return closureOf(session) === 'deleted' ? { ...verdict, rule: 'deleted' } : verdict;
}

async function keyOf(tx: ReadTx, config: Config, text: string): Promise<string> {
  try {
    return (await lookUpForOperator(tx, config, text)).key;
  } catch (error) {
    if (error instanceof GatewayError) return '';
    throw error;
  }
}

function toExplanation(
  config: Config,
  asked: { query: ExplainPolicy; verdict: Verdict; caller: SessionCaller | undefined },
): PolicyExplanation {
  const { query, verdict, caller } = asked;
  const { verb } = query;
  const tool = toolOf(verb);
  const as = caller?.sessionKey ?? 'operator';
  const about = { as, verb, ...(tool === undefined ? {} : { tool }) };
  const { agentId } = caller ?? {};
  if ('error' in verdict) {
    const { status, error, rule, setting } = verdict;
    const settings = settingValues(config, { allowed: false, rule, setting, agentId });
    const says = saysOf({ allowed: false, rule });
    return { allowed: false, ...about, rule, says, settings, status, error };
  }
  const { grantedBy: rule, key } = verdict;
  const settings = settingValues(config, { allowed: true, rule, agentId });
  const says = saysOf({ allowed: true, rule });
  const to = key === undefined ? {} : { to: key };
  return { allowed: true, ...about, ...to, rule, says, settings };
}

/** One question of `policy.explain`, put to the checks that the tool of the verb makes. */
import type { SessionCaller } from '../../core/caller.ts';
import type { GrantRule, Refusal } from '../../core/refusals.ts';
import { isOutcome } from '../../core/run-state.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { Config } from '../../protocol/options/config.ts';
import type { ReadTx } from '../../store/store.ts';
import { exchangeRefusal } from '../exchange/exchange-obstacles.ts';
import { findRecipient, sendRefusal } from '../messages/check-send.ts';
import { findStoppable } from '../runs/stop-session.ts';
import { cycleRefusal } from '../runs/wait-cycle.ts';
import { sessionTargets } from '../runs/wait-targets.ts';
import { closedTool } from '../sessions/closed-tool.ts';
import {
  type ResolvedTarget,
  resolveTarget,
  type TargetAddress,
} from '../sessions/resolve-target.ts';
import { attachmentsOf, missingRequester, planSpawn } from '../spawn/plan-spawn.ts';
import { parsedArgs, toolOf } from './check-question.ts';
import type { ExplainPolicy } from './policy-answers.ts';

/** The rule that refuses or lets through, with the session that it is about. */
export type Verdict = Refusal | { grantedBy: GrantRule; key?: string };

interface Asked {
  config: Config;
  caller: SessionCaller;
  query: ExplainPolicy;
}

/** Returns what a session would meet. */
export async function decideVerb(tx: ReadTx, asked: Asked): Promise<Verdict> {
  const { config, caller, query } = asked;
  const tool = toolOf(query.verb);
  const closed = tool === undefined ? undefined : await closedTool(tx, config, { caller, tool });
  if (closed !== undefined) return closed;
  switch (query.verb) {
    case 'spawn':
      return decideSpawn(tx, asked);
    case 'send':
      return decideSend(tx, asked);
    case 'exchange':
      return decideExchange(tx, asked);
    case 'stop':
      return findStoppable(tx, config, {
        caller,
        args: parsedArgs('sessions_stop', { ...query.args, ...namedBy(query) }),
      });
    case 'wait':
      return decideWait(tx, asked);
    case 'message':
      throw new GatewayError('invalid_request', 'policy.explain: a message is the operator’s');
    default: {
      const { verb, needs } = VISIBLE[query.verb];
      if (tool !== undefined) parsedArgs(tool, { ...query.args, ...needs });
      return resolveTarget(tx, { config, caller, address: addressOf(query), verb });
    }
  }
}

/** What only sees a session, with what its tool cannot do without. */
const VISIBLE = {
  list: { verb: 'list', needs: {} },
  read: { verb: 'history', needs: { sessionKey: '?' } },
  search: { verb: 'search', needs: { query: '?' } },
  ask: { verb: 'ask', needs: {} },
} as const;

async function decideSend(
  tx: ReadTx,
  { config, caller, query }: Asked,
): Promise<ResolvedTarget | Refusal> {
  const target = await findRecipient(tx, config, { caller, address: addressOf(query) });
  if ('error' in target) return target;
  const named = { message: '?', ...query.args, sessionKey: target.key };
  const { mode, timeoutSeconds } = parsedArgs('sessions_send', named);
  // outside a run a send is a root of its own, under which nothing was sent yet
  const { rootRunId = '', hops = 0 } = caller.run ?? {};
  const place = { caller, target, rootRunId, hops: hops + 1, isNote: mode === 'note' };
  const refusal = await sendRefusal(tx, config, place);
  if (refusal !== undefined) return refusal;
  const isWaiting = mode !== 'note' && timeoutSeconds !== 0;
  return (isWaiting && (await waitRefusal(tx, { caller, to: target.key }))) || target;
}

/** An exchange follows a send, when a run sent it and both ends can speak (A10). */
async function decideExchange(tx: ReadTx, asked: Asked): Promise<Verdict> {
  const target = await decideSend(tx, asked);
  if ('error' in target) return target;
  return exchangeRefusal(asked.config, { caller: asked.caller, target }) ?? target;
}

async function decideWait(tx: ReadTx, { config, caller, query }: Asked): Promise<Verdict> {
  const { runId, sessionKey } = namedBy(query);
  const named = runId === undefined ? { sessionKeys: [sessionKey] } : { runIds: [runId] };
  const args = parsedArgs('sessions_wait', { ...query.args, ...named });
  const found = await sessionTargets(tx, { config: () => config }, { caller, args });
  if ('error' in found) return found;
  const [{ key, runId: waitedFor } = { key: '', runId: '' }] = found.targets;
  const run = await tx.runs.get(waitedFor);
  const isWaiting = args.timeoutSeconds !== 0 && run !== undefined && !isOutcome(run.state);
  const cycle = isWaiting ? await waitRefusal(tx, { caller, to: key }) : undefined;
  return cycle ?? resolveTarget(tx, { config, caller, address: { sessionKey: key }, verb: 'wait' });
}

/** Only a run waits in its lane. */
async function waitRefusal(
  tx: ReadTx,
  { caller, to }: { caller: SessionCaller; to: string },
): Promise<Refusal | undefined> {
  if (caller.run === undefined) return undefined;
  return cycleRefusal(tx, { from: caller.sessionKey, to });
}

async function decideSpawn(tx: ReadTx, { config, caller, query }: Asked): Promise<Verdict> {
  const requester = await tx.sessions.get(caller.sessionKey);
  if (requester === undefined) return missingRequester(caller);
  const { agentId } = query;
  const args = parsedArgs('sessions_spawn', {
    task: '?',
    ...query.args,
    ...(agentId === undefined ? {} : { agentId }),
  });
  const attached = attachmentsOf(config, args);
  const plan = await planSpawn(tx, config, { caller, requester, args, attached });
  if ('status' in plan) return plan;
  return { grantedBy: plan.agent.id === caller.agentId ? 'own_agent' : 'allowed_agent' };
}

function addressOf({ to, label, agentId }: ExplainPolicy): TargetAddress {
  if (to !== undefined) return { sessionKey: to };
  if (label !== undefined) return { label, agentId };
  if (agentId !== undefined) return { agentId };
  throw new GatewayError('invalid_request', 'policy.explain: give to, label or agentId');
}

/** What stop and wait name: a run, or a session by key or sessionId. */
function namedBy({ to, runId }: ExplainPolicy): { sessionKey?: string; runId?: string } {
  if (runId !== undefined) return { runId };
  if (to !== undefined) return { sessionKey: to };
  throw new GatewayError('invalid_request', 'policy.explain: give to or runId');
}

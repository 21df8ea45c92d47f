/** What keeps an exchange from its next turn, or its words from a chat (A10). Read in the unit of the step. */
import { closureOf } from '../../core/access.ts';
import { findAgent } from '../../core/agents.ts';
import type { SessionCaller } from '../../core/caller.ts';
import { nextSpeaker, type TurnObstacle } from '../../core/exchange.ts';
import { loopRefusal } from '../../core/loops.ts';
import type { Refusal } from '../../core/refusals.ts';
import { isClientKey } from '../../core/keys.ts';
import type { Config } from '../../protocol/options/config.ts';
import type { NoAnnounceReason } from '../../protocol/words.ts';
import type { ExchangeRow } from '../../store/follow-up-repository.ts';
import type { ReadTx } from '../../store/store.ts';
import type { RunContext } from '../context.ts';
import { isChatRoute, routeOf } from '../delivery/outbox.ts';

/** The two sides of the next reply-back turn. */
export interface TurnSides {
  speakerKey: string;
  /** whose words the speaker is told */
  sourceKey: string;
  /** of the turn's message */
  hops: number;
}

/** Returns who speaks next, and whose words that side is told. */
export function nextSides({ requesterKey, targetKey, turns, hops }: ExchangeRow): TurnSides {
  return nextSpeaker(turns) === 'requester'
    ? { speakerKey: requesterKey, sourceKey: targetKey, hops: hops + 1 }
    : { speakerKey: targetKey, sourceKey: requesterKey, hops: hops + 1 };
}

/** Returns why the next turn cannot be: a limit, a side that is gone, or one whose agent is not configured. */
export async function turnObstacleOf(
  tx: ReadTx,
  context: RunContext,
  exchange: ExchangeRow,
): Promise<TurnObstacle | undefined> {
  const { rootRunId } = exchange;
  const { speakerKey, sourceKey, hops } = nextSides(exchange);
  for (const key of [speakerKey, sourceKey]) {
    const obstacle = await sideObstacleOf(tx, context, key);
    if (obstacle !== undefined) return obstacle;
  }
  const loop = loopRefusal(
    { from: sourceKey, to: speakerKey, rootRunId },
    {
      limits: context.config().session.agentToAgent,
      // Edges count primary messages only (A11).
      counts: { hops, edgeRepeats: 0, messages: await tx.inputs.countUnderRoot(rootRunId) },
    },
  );
  return loop === undefined ? undefined : { endReason: 'error', detail: loop.text };
}

async function sideObstacleOf(
  tx: ReadTx,
  context: RunContext,
  key: string,
): Promise<TurnObstacle | undefined> {
  const session = await tx.sessions.get(key);
  if (session === undefined) return { endReason: 'error', detail: `session ${key} is gone` };
  const closure = closureOf(session);
  if (closure !== undefined) {
    return { endReason: 'error', detail: `session ${key} is ${closure}` };
  }
  const detail = noRuntimeOf(context.config(), session);
  return detail === undefined ? undefined : { endReason: 'no_runtime', detail };
}

/** Returns why no exchange follows a message, or why it is over as it begins; undefined = it may begin. */
export function exchangeRefusal(
  config: Config,
  { caller, target }: { caller: SessionCaller; target: { key: string; agentId: string } },
): Refusal | undefined {
  if (caller.run === undefined) {
    const error = 'an exchange follows only what an agent sends in a run';
    return { status: 'error', error, rule: 'outside_run' };
  }
  const ends = [{ key: caller.sessionKey, agentId: caller.agentId }, target];
  const [error] = ends.flatMap((end) => noRuntimeOf(config, end) ?? []);
  return error === undefined ? undefined : { status: 'error', error, rule: 'no_runtime' };
}

/** Returns what an exchange says of a side that has no runtime, undefined = it has one. */
function noRuntimeOf(
  config: Config,
  { agentId, key }: { agentId: string; key: string },
): string | undefined {
  if (isClientKey(key)) return `session ${key} is a client's, which answers from its inbox`;
  if (findAgent(config, agentId) !== undefined) return undefined;
  return `agent ${agentId} of session ${key} is not configured (agents.list)`;
}

/** Returns why the target's words about the exchange could reach nobody, or undefined when they can. */
export async function noAnnounceOf(
  tx: ReadTx,
  context: RunContext,
  { targetKey, firstReply }: ExchangeRow,
): Promise<NoAnnounceReason | undefined> {
  if (firstReply === null) return 'no_reply';
  const target = await tx.sessions.get(targetKey);
  if (target === undefined || closureOf(target) === 'deleted') return 'session_gone';
  if (closureOf(target) === 'archived') return 'session_archived';
  if (noRuntimeOf(context.config(), target) !== undefined) return 'no_runtime';
  const route = routeOf(target);
  if (!isChatRoute(route)) return 'no_route';
  return context.channels.has(route.channel) ? undefined : 'no_channel';
}

/** One step of an exchange: queues the next turn, the announce turn, or ends it (A10). */
import { nextSpeaker } from '../../core/exchange.ts';
import { loopRefusal } from '../../core/loops.ts';
import { EXCHANGE_ANNOUNCE_TEXT } from '../../core/prompts.ts';
import { isOutcome } from '../../core/run-state.ts';
import type { Provenance } from '../../protocol/message.ts';
import type { ExchangeRow } from '../../store/rows.ts';
import type { WriteTx } from '../../store/store.ts';
import { acceptRun } from '../runs/accept-run.ts';
import type { RunContext } from '../context.ts';
import { isChatRoute, routeOf } from '../delivery/outbox.ts';

/** Handles the job `advance-exchange`: the step and the end of the job are one transaction. */
export function advanceExchange(context: RunContext, exchangeId: string): Promise<void> {
  return context.store.write('advance-exchange', async (tx) => {
    await tx.jobs.remove(`advance-exchange:${exchangeId}`);
    const exchange = await tx.exchanges.get(exchangeId);
    if (exchange?.state !== 'due') return;
    if (exchange.endReason !== null) return announce(tx, context, exchange);
    const requesterRun = await tx.runs.get(exchange.requesterRunId);
    // The end of that run adds this job again.
    if (requesterRun !== undefined && !isOutcome(requesterRun.state)) return;
    const stopped = await turn(tx, context, exchange);
    if (stopped === undefined) return;
    const ended = { endReason: 'error' as const, endDetail: stopped };
    await tx.exchanges.update(exchangeId, ended);
    await announce(tx, context, { ...exchange, ...ended });
  });
}

/** Queues the next reply-back turn; returns why not when a limit stops it. */
async function turn(
  tx: WriteTx,
  context: RunContext,
  exchange: ExchangeRow,
): Promise<string | undefined> {
  const { exchangeId, requesterKey, targetKey, rootRunId } = exchange;
  const isRequester = nextSpeaker(exchange.turns) === 'requester';
  const speakerKey = isRequester ? requesterKey : targetKey;
  const sourceSessionKey = isRequester ? targetKey : requesterKey;
  const hops = exchange.hops + 1;
  const refusal = loopRefusal(
    { from: sourceSessionKey, to: speakerKey, rootRunId },
    {
      limits: context.config().session.agentToAgent,
      // Edges count primary messages only (A11).
      counts: { hops, edgeRepeats: 0, messages: await tx.inputs.countUnderRoot(rootRunId) },
    },
  );
  if (refusal !== undefined) return refusal;
  if ((await tx.sessions.get(speakerKey)) === undefined) return `session ${speakerKey} is gone`;
  await acceptRun(tx, {
    runId: `${exchangeId}:turn:${exchange.turns + 1}`,
    sessionKey: speakerKey,
    kind: 'exchange',
    text: exchange.latestReply ?? '',
    provenance: provenanceOf(exchange, { sourceSessionKey, hops }),
    purpose: 'exchange_turn',
    runClass: 'nested',
    rootRunId,
    hops,
    exchangeId,
    timeoutMs: context.config().agents.defaults.timeoutSeconds * 1000,
  });
  await tx.exchanges.update(exchangeId, { state: 'turn', hops });
  return undefined;
}

/** Queues the target's announce turn, or ends the exchange when its words could go nowhere. */
async function announce(tx: WriteTx, context: RunContext, exchange: ExchangeRow): Promise<void> {
  const { exchangeId, targetKey, rootRunId } = exchange;
  const target = await tx.sessions.get(targetKey);
  const route = target === undefined ? undefined : routeOf(target);
  const isReachable = isChatRoute(route) && context.channels.has(route.channel);
  if (!isReachable || exchange.firstReply === null) {
    return tx.exchanges.update(exchangeId, { state: 'done', endedAt: tx.now });
  }
  await acceptRun(tx, {
    runId: `${exchangeId}:announce`,
    sessionKey: targetKey,
    kind: 'prompt',
    text: EXCHANGE_ANNOUNCE_TEXT,
    provenance: provenanceOf(exchange, {
      sourceSessionKey: exchange.requesterKey,
      hops: exchange.hops,
    }),
    purpose: 'exchange_announce',
    runClass: 'nested',
    rootRunId,
    hops: exchange.hops,
    exchangeId,
    deliver: true,
    route,
    timeoutMs: context.config().agents.defaults.timeoutSeconds * 1000,
  });
  await tx.exchanges.update(exchangeId, { state: 'announce' });
}

function provenanceOf(
  exchange: ExchangeRow,
  from: { sourceSessionKey: string; hops: number },
): Provenance {
  return {
    kind: 'inter_session',
    ...from,
    sourceTool: 'sessions_send',
    rootRunId: exchange.rootRunId,
  };
}

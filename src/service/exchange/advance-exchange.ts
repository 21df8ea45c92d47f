/** One step of an exchange: queues the next turn, the announce turn, or ends it (A10). */
import { moveExchange } from '../../core/exchange.ts';
import { announceRunId, turnRunId } from '../../core/exchange-runs.ts';
import { EXCHANGE_ANNOUNCE_TEXT } from '../../core/prompts.ts';
import { isOutcome } from '../../core/run-state.ts';
import type { Provenance } from '../../protocol/message.ts';
import type { ExchangeRow } from '../../store/follow-up-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import { must } from '../../util/assert.ts';
import { acceptRun } from '../runs/accept-run.ts';
import type { RunContext } from '../context.ts';
import { routeOf } from '../delivery/outbox.ts';
import { wordsOfAnother } from '../sessions/words-of-another.ts';
import { applyMove } from './apply-move.ts';
import { nextSides, noAnnounceOf, turnObstacleOf } from './exchange-obstacles.ts';

/** Handles the job `advance-exchange`: the step and the end of the job are one transaction. */
export function advanceExchange(context: RunContext, exchangeId: string): Promise<void> {
  return context.store.write('advance-exchange', async (tx) => {
    await tx.jobs.remove(`advance-exchange:${exchangeId}`);
    const exchange = await tx.exchanges.get(exchangeId);
    if (exchange?.state !== 'due') return;
    const move = moveExchange(exchange, {
      type: 'advance',
      hasRequesterRunEnded: await hasEnded(tx, exchange.requesterRunId),
      turnObstacle: await turnObstacleOf(tx, context, exchange),
      noAnnounce: await noAnnounceOf(tx, context, exchange),
    });
    if (move === undefined) return;
    if (move.follow === 'turn') await queueTurn(tx, context, exchange);
    if (move.follow === 'announce') await queueAnnounce(tx, context, exchange);
    await applyMove(tx, exchangeId, move);
  });
}

async function hasEnded(tx: WriteTx, runId: string): Promise<boolean> {
  const run = await tx.runs.get(runId);
  return run === undefined || isOutcome(run.state);
}

async function queueTurn(tx: WriteTx, context: RunContext, exchange: ExchangeRow): Promise<void> {
  const { exchangeId, rootRunId } = exchange;
  const { speakerKey, sourceKey, hops } = nextSides(exchange);
  await acceptRun(tx, {
    runId: turnRunId(exchangeId, exchange.turns + 1),
    sessionKey: speakerKey,
    kind: 'exchange',
    text: wordsOfAnother(context.config(), exchange.latestReply ?? ''),
    provenance: provenanceOf(exchange, { sourceSessionKey: sourceKey, hops }),
    purpose: 'exchange_turn',
    runClass: 'nested',
    rootRunId,
    hops,
    exchangeId,
    timeoutMs: context.config().agents.defaults.timeoutSeconds * 1000,
  });
  await tx.exchanges.update(exchangeId, { hops });
}

/** The announce is the target's: its words go to its chat. */
async function queueAnnounce(
  tx: WriteTx,
  context: RunContext,
  exchange: ExchangeRow,
): Promise<void> {
  const { exchangeId, requesterKey, targetKey, rootRunId, hops } = exchange;
  const target = must(await tx.sessions.get(targetKey), `session ${targetKey} is gone`);
  const route = must(routeOf(target), `session ${targetKey} has no chat`);
  await acceptRun(tx, {
    runId: announceRunId(exchangeId),
    sessionKey: targetKey,
    kind: 'prompt',
    text: EXCHANGE_ANNOUNCE_TEXT,
    provenance: provenanceOf(exchange, { sourceSessionKey: requesterKey, hops }),
    purpose: 'exchange_announce',
    runClass: 'nested',
    rootRunId,
    hops,
    exchangeId,
    deliver: true,
    route,
    timeoutMs: context.config().agents.defaults.timeoutSeconds * 1000,
  });
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

/** Opening an exchange with the message that starts it (A10). */
import type { SessionCaller } from '../../core/caller.ts';
import type { SessionsSendArgs } from '../../protocol/tools/session-tool-args.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import type { RunServices } from '../context.ts';
import { exchangeRefusal } from './exchange-obstacles.ts';
import { supersedeExchanges } from './supersede-exchanges.ts';

/** The message that may start an exchange. */
export interface ExchangeOpening {
  caller: SessionCaller;
  session: SessionRow;
  args: SessionsSendArgs;
  runId: string;
  rootRunId: string;
  hops: number;
}

export interface OpenedExchange {
  /** undefined when no exchange follows: the caller is no run */
  exchangeId: string | undefined;
  /** turns of older exchanges of the pair that now never begin */
  withdrawn: RunRow[];
}

/**
 * Adds the exchange of a message between two agents and closes the older ones of the pair. Where an end has no
 * runtime the exchange is over at once, and says so.
 */
export async function openExchange(
  tx: WriteTx,
  services: RunServices,
  opening: ExchangeOpening,
): Promise<OpenedExchange> {
  const { caller, session, args, runId, rootRunId, hops } = opening;
  if (caller.run === undefined) return { exchangeId: undefined, withdrawn: [] };
  const pair = { requesterKey: caller.sessionKey, targetKey: session.key };
  const withdrawn = await supersedeExchanges(tx, pair);
  const { maxPingPongTurns } = services.config().session.agentToAgent;
  const refusal = exchangeRefusal(services.config(), { caller, target: session });
  await tx.exchanges.insert({
    ...pair,
    exchangeId: runId,
    requesterRunId: caller.run.runId,
    rootRunId,
    hops,
    maxTurns: Math.min(args.maxTurns ?? maxPingPongTurns, maxPingPongTurns),
    turns: 0,
    requestText: args.message,
    firstReply: null,
    latestReply: null,
    createdAt: tx.now,
    ...(refusal === undefined
      ? { state: 'primary', endReason: null, endDetail: null, noAnnounce: null, endedAt: null }
      : {
          state: 'done',
          endReason: 'no_runtime',
          endDetail: refusal.error,
          noAnnounce: 'no_runtime',
          endedAt: tx.now,
        }),
  });
  return { exchangeId: runId, withdrawn };
}

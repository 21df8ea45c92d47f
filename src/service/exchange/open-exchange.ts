/** Opening an exchange with the message that starts it (A10). */
import { findAgent } from '../../core/agents.ts';
import type { SessionCaller } from '../../core/caller.ts';
import type { SessionsSendArgs } from '../../protocol/tools/session-tools.ts';
import type { SessionRow } from '../../store/rows.ts';
import type { WriteTx } from '../../store/store.ts';
import type { RunServices } from '../context.ts';

/**
 * Adds the exchange of a message between two agents and closes the older ones of the pair. Returns
 * its id, or undefined when no exchange follows: the caller is no run, or an end has no runtime.
 */
export async function openExchange(
  tx: WriteTx,
  services: RunServices,
  {
    caller,
    session,
    args,
    runId,
    rootRunId,
    hops,
  }: {
    caller: SessionCaller;
    session: SessionRow;
    args: SessionsSendArgs;
    runId: string;
    rootRunId: string;
    hops: number;
  },
): Promise<string | undefined> {
  const config = services.config();
  const haveRuntime = [caller.agentId, session.agentId].every(
    (agentId) => findAgent(config, agentId) !== undefined,
  );
  if (caller.run === undefined || !haveRuntime) return undefined;
  for (const older of await tx.exchanges.openOfPair(caller.sessionKey, session.key)) {
    await tx.exchanges.update(older.exchangeId, {
      state: 'done',
      endReason: older.endReason ?? 'superseded',
      endedAt: tx.now,
    });
  }
  const { maxPingPongTurns } = config.session.agentToAgent;
  await tx.exchanges.insert({
    exchangeId: runId,
    requesterKey: caller.sessionKey,
    targetKey: session.key,
    requesterRunId: caller.run.runId,
    rootRunId,
    hops,
    state: 'primary',
    maxTurns: Math.min(args.maxTurns ?? maxPingPongTurns, maxPingPongTurns),
    turns: 0,
    requestText: args.message,
    firstReply: null,
    latestReply: null,
    endReason: null,
    endDetail: null,
    createdAt: tx.now,
    endedAt: null,
  });
  return runId;
}

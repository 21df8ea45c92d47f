import type { ReadTx, WriteTx } from '../../store/store.ts';

/**
 * Returns what a session still has to do or is owed, undefined = nothing (A21). Notes do not count:
 * they wait without limit (A12).
 */
export async function openWorkOf(tx: ReadTx | WriteTx, key: string): Promise<string | undefined> {
  const lane = await tx.lanes.get(key);
  if (lane !== undefined && (lane.pending > 0 || lane.currentRunId !== null)) return 'run';
  if ((await tx.exchanges.openOf(key)).length > 0) return 'exchange';
  if (await tx.deliveries.hasOpen(key)) return 'delivery';
  const own = await tx.spawns.get(key);
  if (own !== undefined && own.state !== 'settled') return 'announce';
  if ((await tx.spawns.unsettledOf(key)).length > 0) return 'child';
  return undefined;
}

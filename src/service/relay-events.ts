/**
 * Tells the watchers of this gateway what happened on another one, from the rows that its signals
 * name: how a run stands and ended, texts for channels that reach only the clients of one gateway,
 * changed sessions. Text that streams stays where the run is.
 */
import { isOutcome } from '../core/run-state.ts';
import type { RunRow } from '../store/run-repository.ts';
import type { StoreSignal } from '../store/store.ts';
import type { RunContext } from './context.ts';
import { offerToOwnClients } from './delivery/hand-over.ts';

/** Ends that were told and are not told again; the oldest are forgotten. */
const MAX_TOLD = 1000;

/** Starts to relay; returns the way to stop. Does nothing where there is one gateway. */
export function relayEvents(context: RunContext): () => void {
  const told = new Set<string>();
  // One after the other: what a gateway told first is told first.
  let last: Promise<void> = Promise.resolve();
  const stop = context.store.shared?.onRemoteSignal((signal) => {
    last = last
      .then(() => relay(context, { signal, told }))
      .catch((err: unknown) => context.logger.warn({ err }, 'not told what another gateway did'));
  });
  return () => stop?.();
}

async function relay(
  context: RunContext,
  { signal, told }: { signal: StoreSignal; told: Set<string> },
): Promise<void> {
  if (signal.type === 'run') return relayRun(context, { runId: signal.runId, told });
  if (signal.type === 'delivery') return offerToOwnClients(context, signal.deliveryId);
  if (signal.type !== 'session') return;
  context.events.emit({ type: 'session_changed', sessionKey: signal.sessionKey });
}

async function relayRun(
  context: RunContext,
  { runId, told }: { runId: string; told: Set<string> },
): Promise<void> {
  const { run, reply } = await context.store.read(async (tx) => ({
    run: await tx.runs.get(runId),
    reply: await tx.deliveries.get(`reply:${runId}:0`),
  }));
  if (run === undefined || told.has(runId)) return;
  if (run.state === 'running') return tellStart(context, run);
  if (!isOutcome(run.state)) return;
  told.add(runId);
  const oldest = told.values().next().value;
  if (told.size > MAX_TOLD && oldest !== undefined) told.delete(oldest);
  context.events.emit({
    type: 'ended',
    runId,
    sessionKey: run.sessionKey,
    state: run.state,
    reply: run.reply ?? '',
    ...(run.error === null ? {} : { error: run.error }),
    ...(run.startedAt === null ? {} : { startedAt: run.startedAt }),
    endedAt: run.endedAt ?? context.clock.now(),
    delivered: reply !== undefined && reply.state !== 'suppressed',
  });
}

function tellStart(context: RunContext, run: RunRow): void {
  const { runId, sessionKey, attempts } = run;
  const startedAt = run.startedAt ?? context.clock.now();
  context.events.emit({ type: 'started', runId, sessionKey, startedAt, attempt: attempts + 1 });
}

/** Wherever a stop was accepted, the process that plays the run hears of it and ends it. */
import type { Store } from '../../store/store.ts';
import type { Logger } from '../../util/logger.ts';
import type { ActiveRuns } from './active-runs.ts';

/** Aborts active runs that were stopped; returns the function that ends the watch. */
export function watchStops({
  store,
  activeRuns,
  logger,
}: {
  store: Store;
  activeRuns: ActiveRuns;
  logger: Logger;
}): () => void {
  return store.onSignal((signal) => {
    if (signal.type === 'stop') activeRuns.get(signal.runId)?.abort('aborted');
    if (signal.type !== 'resync') return;
    // A stop may have been missed; the mark in the row says so.
    lookAtRows(store, activeRuns).catch((error: unknown) =>
      logger.warn({ err: error }, 'stops could not be looked for'),
    );
  });
}

async function lookAtRows(store: Store, activeRuns: ActiveRuns): Promise<void> {
  for (const active of activeRuns.all()) {
    const run = await store.read((tx) => tx.runs.get(active.runId));
    if (run !== undefined && run.stoppedBy !== null) active.abort('aborted');
  }
}

/**
 * The mirror of transcripts as files (A25): written after the commit by one background writer, one
 * session after the other. A file that cannot be written is logged and never fails a run.
 */
import { workspaceOf } from '../../core/agents.ts';
import { isOutcome } from '../../core/run-state.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { ReadTx } from '../../store/store.ts';
import type { ServiceContext } from '../context.ts';
import { transcriptPathOf } from '../sessions/session-row-view.ts';
import { flushWindow, type MirroredWindow } from './flush-window.ts';
import { removeFiles } from './remove-mirror.ts';

export interface Mirror {
  /** Watches for runs that end, and looks after the sessions that an earlier process left last. */
  start(): void;
  /** Writes what is due and stops. */
  stop(): Promise<void>;
}

type MirrorContext = Pick<ServiceContext, 'store' | 'config' | 'clock' | 'logger' | 'stateDir'>;

/** A crash leaves a handful of files short: those of the sessions that were active last. */
const MAX_LOOKED_AT = 200;

/** Returns the mirror of a store, not yet started. */
export function createMirror(context: MirrorContext): Mirror {
  /** ids of ended runs; what their transcripts are is read when it is their turn */
  const due = new Set<string>();
  let stopSignals: (() => void) | undefined;
  let working: Promise<void> | undefined;
  let isStopping = false;

  const drain = async (): Promise<void> => {
    for (const runId of due) {
      due.delete(runId);
      await safely(context, () => flushRun(context, runId));
    }
    working = undefined;
  };
  const repair = async (): Promise<void> => {
    await safely(context, () => repairNewest(context, () => isStopping));
    return drain();
  };
  return {
    start: () => {
      stopSignals = context.store.onSignal((signal) => {
        if (signal.type !== 'run') return;
        due.add(signal.runId);
        working ??= drain();
      });
      working = repair();
    },
    stop: async () => {
      isStopping = true;
      stopSignals?.();
      while (working !== undefined) await working;
    },
  };
}

/** Returns a window as it is mirrored. */
export function mirroredWindow(
  { config, stateDir }: Pick<MirrorContext, 'config' | 'stateDir'>,
  { window, agentId }: { window: MirroredWindow['window']; agentId: string },
): MirroredWindow {
  const { sessionId } = window;
  return {
    window,
    path: transcriptPathOf(stateDir, { agentId, sessionId }),
    cwd: workspaceOf(config(), { agentId, stateDir }),
  };
}

async function flushRun(context: MirrorContext, runId: string): Promise<void> {
  const target = await context.store.read(async (tx) => {
    const run = await tx.runs.get(runId);
    if (run === undefined || run.sessionId === null || !isOutcome(run.state)) return undefined;
    const session = await tx.sessions.get(run.sessionKey);
    return session && (await targetOf(context, { tx, session, sessionId: run.sessionId }));
  });
  if (target !== undefined) await safely(context, () => flush(context, target));
}

/**
 * Newest first, until one is complete: files are written in the order of the commits, so that what an
 * earlier process did not come to is on top.
 */
async function repairNewest(context: MirrorContext, isOver: () => boolean): Promise<void> {
  const rows = await context.store.read((tx) =>
    tx.sessions.scan({
      scope: { type: 'everything' },
      archived: false,
      cursor: undefined,
      limit: MAX_LOOKED_AT,
    }),
  );
  for (const session of rows) {
    if (isOver()) return;
    const { sessionId } = session;
    const target = await context.store.read((tx) => targetOf(context, { tx, session, sessionId }));
    if (target === undefined) continue;
    if ((await safely(context, () => flush(context, target))) === 'complete') return;
  }
}

/** Undefined for a transcript that nobody has written to: it needs no file. */
async function targetOf(
  context: MirrorContext,
  { tx, session, sessionId }: { tx: ReadTx; session: SessionRow; sessionId: string },
): Promise<MirroredWindow | undefined> {
  const window = await tx.windows.get(sessionId);
  if (window === undefined || window.nextSeq === 1 || window.purgeAt !== null) return undefined;
  return mirroredWindow(context, { window, agentId: session.agentId });
}

async function flush(
  context: MirrorContext,
  target: MirroredWindow,
): Promise<'complete' | 'extended' | 'rewritten'> {
  const stamp = new Date(context.clock.now()).toISOString().replaceAll(':', '-');
  const result = await flushWindow(context.store, target, { stamp });
  // what was purged meanwhile has removed its file before this one was written
  const { sessionId } = target.window;
  const window = await context.store.read((tx) => tx.windows.get(sessionId));
  if (window === undefined || window.purgeAt !== null) await removeFiles(target.path);
  return result;
}

async function safely<T>(context: MirrorContext, work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    context.logger.error(
      { err: error },
      'a transcript file was not written; the transcript is in the database, "trunkline doctor --fix" writes the file',
    );
    return undefined;
  }
}

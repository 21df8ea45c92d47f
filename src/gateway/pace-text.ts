import type { RunEvent } from '../service/run-events.ts';

type Delta = Extract<RunEvent, { type: 'delta' }>;

export interface TextPacer {
  /** Tells a piece of a run's text, at once or together with those that follow soon. */
  add(piece: Delta): void;
  /** Tells what is held back of a run: something else is to be told of it. */
  flush(runId: string): void;
  /** The same for a run that has ended. */
  end(runId: string): void;
  close(): void;
}

/** A frame around a piece has some 215 bytes: so much text is worth one. */
const WORTH_A_FRAME = 240;
/** ms after which less is told too, so that a slow model is seen at work */
const LONGEST_HOLD_MS = 300;
/** Runs that stream at one time; beyond it the oldest is told at once and forgotten. */
const MAX_RUNS = 10_000;

interface Pace {
  /** characters of the text that were told */
  told: number;
  held: Delta | undefined;
  timer: NodeJS.Timeout | undefined;
}

/**
 * Returns a pacer before `tell`: models stream words, and a frame for each would cost more than the
 * text. The first piece, and one that replaces the text, are told at once.
 */
export function createTextPacer(tell: (piece: Delta) => void): TextPacer {
  const runs = new Map<string, Pace>();

  function tellNow(piece: Delta, pace: Pace): void {
    clearTimeout(pace.timer);
    pace.held = undefined;
    pace.timer = undefined;
    pace.told = piece.text.length;
    tell(piece);
  }

  function flush(runId: string): void {
    const pace = runs.get(runId);
    if (pace?.held !== undefined) tellNow(pace.held, pace);
  }

  function paceOf(runId: string): Pace {
    const known = runs.get(runId);
    if (known !== undefined) return known;
    const pace: Pace = { told: 0, held: undefined, timer: undefined };
    runs.set(runId, pace);
    const oldest = runs.keys().next().value;
    if (runs.size > MAX_RUNS && oldest !== undefined) end(oldest);
    return pace;
  }

  function end(runId: string): void {
    flush(runId);
    runs.delete(runId);
  }

  return {
    add: (piece) => {
      const { runId, text, replace } = piece;
      const pace = paceOf(runId);
      if (replace || pace.told === 0 || text.length - pace.told >= WORTH_A_FRAME)
        return tellNow(piece, pace);
      pace.held = piece;
      pace.timer ??= setTimeout(() => flush(runId), LONGEST_HOLD_MS).unref();
    },
    flush,
    end,
    close: () => {
      for (const { timer } of runs.values()) clearTimeout(timer);
      runs.clear();
    },
  };
}

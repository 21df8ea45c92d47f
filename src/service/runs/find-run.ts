import type { InputRow } from '../../store/input-repository.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { ReadTx } from '../../store/store.ts';
import { isNote } from './accept-run.ts';

/** Returns the run whose outcome an accepted message takes: its own, or the one it was merged into. A note has none. */
export async function findRun(tx: ReadTx, runId: string): Promise<RunRow | undefined> {
  const run = await tx.runs.get(runId);
  if (run !== undefined) return run;
  const input = await tx.inputs.get(runId);
  if (input === undefined || input.runId === null || isNote(input)) return undefined;
  return tx.runs.get(input.runId);
}

/** Returns what to say to whoever takes a note for a run. */
export function noteText({ inputId, sessionKey }: InputRow): string {
  return `${inputId} is a note of session ${sessionKey}: it joins the next turn there and has no outcome of its own`;
}

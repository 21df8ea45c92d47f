import type { InputRow } from '../../store/input-repository.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { ReadTx } from '../../store/store.ts';
import { isNote } from './accept-run.ts';

/** Returns the run whose outcome an accepted message takes: its own, or the one it was merged into. A note has none. */
export async function findRun(tx: ReadTx, runId: string): Promise<RunRow | undefined> {
  return (await findRunOrNote(tx, runId)).run;
}

/** The same, with the note that has this id instead. Asks the same of the store whatever there is (AC7). */
export async function findRunOrNote(
  tx: ReadTx,
  runId: string,
): Promise<{ run: RunRow | undefined; note: InputRow | undefined }> {
  const run = await tx.runs.get(runId);
  const input = await tx.inputs.get(runId);
  const isOfNote = input !== undefined && isNote(input);
  const taker = await tx.runs.get(isOfNote ? '' : (input?.runId ?? ''));
  return { run: run ?? taker, note: run === undefined && isOfNote ? input : undefined };
}

/** Returns what to say to whoever takes a note for a run. */
export function noteText({ inputId, sessionKey }: InputRow): string {
  return `${inputId} is a note of session ${sessionKey}: it joins the next turn there and has no outcome of its own`;
}

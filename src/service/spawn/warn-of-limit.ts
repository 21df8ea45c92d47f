/** Telling a child once that its time is nearly up, with its next model call (BR-051). */
import { timeNotice } from '../../core/prompts.ts';
import type { UserMessage } from '../../protocol/message.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import { acceptNote } from '../runs/accept-run.ts';
import { appendInput } from '../runs/append-input.ts';
import type { RunContext } from '../context.ts';
import { placeOf, provenanceOf } from './announce-provenance.ts';

/** Most time that is left when a child is told; of a short limit, its last third. */
const LEFT_MS = 60_000;

/** Appends the notice to the transcript of a task whose time is nearly up; returns it for the model. */
export async function warnOfLimit(
  tx: WriteTx,
  context: RunContext,
  run: RunRow,
): Promise<UserMessage[]> {
  const { deadlineAt, timeoutMs, spawnKey } = run;
  if (run.purpose !== 'task' || deadlineAt === null || spawnKey === null) return [];
  if (tx.now < deadlineAt - Math.min(LEFT_MS, timeoutMs / 3)) return [];
  const inputId = `${run.runId}:limit`;
  const spawn = await tx.spawns.get(spawnKey);
  if (spawn === undefined || (await tx.inputs.get(inputId)) !== undefined) return [];
  const announced = { spawn, task: run };
  const input = await acceptNote(tx, {
    inputId,
    kind: 'note',
    sessionKey: run.sessionKey,
    text: timeNotice(deadlineAt - tx.now),
    provenance: provenanceOf(announced, spawn.requesterKey),
    rootRunId: placeOf(announced).rootRunId,
  });
  return [await appendInput(tx, context, { input, run })];
}

import { randomUUID } from 'node:crypto';
import { parseStoredObject } from '../../core/stored-message.ts';
import type { Provenance, UserMessage } from '../../protocol/message.ts';
import type { InputRow, RunRow } from '../../store/rows.ts';
import type { WriteTx } from '../../store/store.ts';
import { must } from '../../util/assert.ts';
import type { ServiceContext } from '../context.ts';
import { unreadableReporter } from '../unreadable-rows.ts';

/** Where a message is appended: the turn of a run, or a transcript that no run writes to any more. */
export type InputPlace = Pick<RunRow, 'sessionId' | 'rootRunId' | 'hops'> & {
  runId: string | null;
};

/** Appends an accepted message to the transcript, and returns it as stored. */
export async function appendInput(
  tx: WriteTx,
  context: ServiceContext,
  { input, run }: { input: InputRow; run: InputPlace },
): Promise<UserMessage> {
  const provenance = provenanceOf(context, { input, run });
  const message: UserMessage = {
    role: 'user',
    content: [{ type: 'text', text: input.text }],
    timestamp: tx.now,
    ...(provenance === undefined ? {} : { provenance }),
  };
  await tx.entries.append({
    sessionId: must(run.sessionId, `run ${run.runId} is not claimed`),
    entryId: randomUUID(),
    type: 'message',
    role: 'user',
    runId: run.runId,
    json: JSON.stringify(message),
    createdAt: tx.now,
  });
  return message;
}

/** A routed message whose provenance cannot be read must not pass for a person's: the row names its source. */
function provenanceOf(
  context: ServiceContext,
  { input, run }: { input: InputRow; run: InputPlace },
): Provenance | undefined {
  if (input.provenanceJson === null) return undefined;
  const stored = parseStoredObject(input.provenanceJson) as Provenance | undefined;
  if (typeof stored?.sourceSessionKey === 'string') return stored;
  unreadableReporter(context)({ column: 'inputs.provenance_json', id: input.inputId });
  const { rootRunId, hops } = run;
  const sourceSessionKey = input.sourceKey ?? 'unknown';
  return { kind: 'inter_session', sourceSessionKey, sourceTool: 'unknown', rootRunId, hops };
}

import { isOperatorNote, toOperatorNote } from '../../core/operator-note.ts';
import { parseStoredObject } from '../../core/stored-message.ts';
import type { Provenance, UserMessage } from '../../protocol/message.ts';
import type { InputRow } from '../../store/input-repository.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import { must } from '../../util/assert.ts';
import type { ServiceContext } from '../context.ts';
import { appendMessage } from '../messages/append-message.ts';
import { unreadableReporter } from '../unreadable-rows.ts';

/** Where a message is appended: the turn of a run, or a transcript that no run writes to any more. */
type InputPlace = Pick<RunRow, 'sessionKey' | 'sessionId' | 'hops'> & {
  runId: string | null;
};

/** Appends an accepted message to the transcript, where it waits no more, and returns it as stored. */
export async function appendInput(
  tx: WriteTx,
  context: ServiceContext,
  { input, run }: { input: InputRow; run: InputPlace },
): Promise<UserMessage> {
  const message = await appendAhead(tx, context, { input, run });
  await tx.inputs.markAppended(input.inputId, run.runId, tx.now);
  return message;
}

/** The same of a message that still waits for a turn of its own. */
export async function appendAhead(
  tx: WriteTx,
  context: ServiceContext,
  { input, run }: { input: InputRow; run: InputPlace },
): Promise<UserMessage> {
  const { runId, sessionKey, hops } = run;
  const sessionId = must(run.sessionId, `run ${runId} is not claimed`);
  const provenance = provenanceOf(context, { input, hops });
  const message: UserMessage = {
    role: 'user',
    content: [{ type: 'text', text: input.text }],
    timestamp: tx.now,
    ...(provenance === undefined ? {} : { provenance }),
  };
  await appendMessage(tx, { sessionKey, sessionId, runId, message });
  return message;
}

/** Appends a note. Words of the operator stand there as the agent's, and are no answer of the turn that they join. */
export async function appendNoteText(
  tx: WriteTx,
  context: ServiceContext,
  { input, run }: { input: InputRow; run: InputPlace },
): Promise<void> {
  if (!isOperatorNote(input)) return void (await appendInput(tx, context, { input, run }));
  const sessionId = must(run.sessionId, `run ${run.runId} is not claimed`);
  const message = toOperatorNote(input.text, tx.now);
  await appendMessage(tx, { sessionKey: run.sessionKey, sessionId, runId: null, message });
  await tx.inputs.markAppended(input.inputId, run.runId, tx.now);
}

/**
 * Appends a note where no turn is going, and returns whether it did. A lane that holds a run keeps it for
 * the end of that turn or the next one: nobody else appends to its transcript.
 */
export async function appendNote(
  tx: WriteTx,
  context: ServiceContext,
  { input, session }: { input: InputRow; session: SessionRow },
): Promise<boolean> {
  const lane = await tx.lanes.hold(session.key);
  // a run that is only queued may be stopped, and then no turn comes
  if (lane !== undefined && (lane.owner !== null || lane.currentRunId !== null)) return false;
  const { key: sessionKey, sessionId } = session;
  const place = { runId: null, sessionKey, sessionId, hops: 1 };
  await appendNoteText(tx, context, { input, run: place });
  tx.signal({ type: 'session', sessionKey });
  return true;
}

/** A routed message whose provenance cannot be read must not pass for a person's: the row names its source. */
function provenanceOf(
  context: ServiceContext,
  { input, hops }: { input: InputRow; hops: number },
): Provenance | undefined {
  if (input.provenanceJson === null) return undefined;
  const stored = parseStoredObject(input.provenanceJson) as Provenance | undefined;
  if (typeof stored?.sourceSessionKey === 'string') return stored;
  unreadableReporter(context)({ column: 'inputs.provenance_json', id: input.inputId });
  const { rootRunId } = input;
  const sourceSessionKey = input.sourceKey ?? 'unknown';
  return { kind: 'inter_session', sourceSessionKey, sourceTool: 'unknown', rootRunId, hops };
}

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
export type InputPlace = Pick<RunRow, 'sessionKey' | 'sessionId' | 'rootRunId' | 'hops'> & {
  runId: string | null;
};

/** Appends an accepted message to the transcript, and returns it as stored. */
export async function appendInput(
  tx: WriteTx,
  context: ServiceContext,
  { input, run }: { input: InputRow; run: InputPlace },
): Promise<UserMessage> {
  const sessionId = must(run.sessionId, `run ${run.runId} is not claimed`);
  const { runId, sessionKey, hops } = run;
  return appendTo(tx, context, { input, runId, sessionKey, sessionId, hops });
}

/**
 * Appends a note to the transcript of a session that will take no turn, as it is archived. A lane that
 * is at work all the same keeps it for its next turn: nobody else appends to its transcript.
 */
export async function appendNote(
  tx: WriteTx,
  context: ServiceContext,
  { input, session }: { input: InputRow; session: SessionRow },
): Promise<void> {
  const lane = await tx.lanes.hold(session.key);
  if (lane !== undefined && (lane.owner !== null || lane.pending > 0)) return;
  const { key: sessionKey, sessionId } = session;
  await appendTo(tx, context, { input, runId: null, sessionKey, sessionId, hops: 1 });
  await tx.inputs.markAppended(input.inputId, null, tx.now);
  tx.signal({ type: 'session', sessionKey: session.key });
}

async function appendTo(
  tx: WriteTx,
  context: ServiceContext,
  place: {
    input: InputRow;
    runId: string | null;
    sessionKey: string;
    sessionId: string;
    hops: number;
  },
): Promise<UserMessage> {
  const { input, runId, sessionKey, sessionId } = place;
  const provenance = provenanceOf(context, place);
  const message: UserMessage = {
    role: 'user',
    content: [{ type: 'text', text: input.text }],
    timestamp: tx.now,
    ...(provenance === undefined ? {} : { provenance }),
  };
  await appendMessage(tx, { sessionKey, sessionId, runId, message });
  return message;
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

/** The answer of `sessions_inbox`. */
import type { SessionCaller } from '../../core/caller.ts';
import { displayKey, parseKey } from '../../core/keys.ts';
import type { Config } from '../../protocol/options/config.ts';
import type {
  SessionsInboxPage,
  InboxMessage,
  InboxSender,
} from '../../protocol/tools/inbox-answer.ts';
import type { InputRow } from '../../store/input-repository.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { ReadTx } from '../../store/store.ts';
import type { HandedOver } from './hand-over-inbox.ts';

/** A client can still answer, or leave, what it has in hand. */
const LOST: Pick<InboxMessage, 'from' | 'text'> = {
  from: { kind: 'gateway' },
  text: '(this message was lost from the store, see "trunkline doctor")',
};

/** Returns what the client has in hand, and the notes that it was handed. */
export async function toInboxPage(
  tx: Pick<ReadTx, 'inputs'>,
  config: Config,
  { caller, handed }: { caller: SessionCaller; handed: HandedOver },
): Promise<SessionsInboxPage> {
  const { open, notes, hasMoreNotes, waiting } = handed;
  const from = (input: InputRow): InboxSender => senderOf(input, { caller, config });
  return {
    messages: open === undefined ? [] : [await toMessage(tx, { run: open, from })],
    notes: notes.map((note) => ({ from: from(note), text: note.text, at: note.acceptedAt })),
    waiting,
    ...(hasMoreNotes ? { hasMoreNotes } : {}),
  };
}

async function toMessage(
  tx: Pick<ReadTx, 'inputs'>,
  { run, from }: { run: RunRow; from: (input: InputRow) => InboxSender },
): Promise<InboxMessage> {
  const { runId, hops, acceptedAt, deadlineAt } = run;
  const input = await tx.inputs.get(runId);
  return {
    messageId: runId,
    ...(input === undefined ? LOST : { from: from(input), text: input.text }),
    acceptedAt,
    state: 'running',
    hops,
    ...(deadlineAt === null ? {} : { answerBy: deadlineAt }),
  };
}

function senderOf(
  { kind, sourceKey }: InputRow,
  { caller, config }: { caller: SessionCaller; config: Config },
): InboxSender {
  if (kind === 'summary') return { kind: 'gateway' };
  if (sourceKey === null) return { kind: 'person' };
  const { mainKey, scope } = config.session;
  const { agentId } = parseKey(sourceKey, { mainKey });
  return {
    kind: 'session',
    sessionKey: displayKey(sourceKey, { agentId: caller.agentId, mainKey, scope }),
    ...(agentId === undefined ? {} : { agentId }),
  };
}

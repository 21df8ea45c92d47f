/** `sessions_inbox`: what a client has in hand, what waits, and its answer to it. */
import type { SessionCaller } from '../../core/caller.ts';
import { isClientKey } from '../../core/keys.ts';
import { INBOX_TOOL } from '../../core/tool-names.ts';
import { faultOf } from '../../core/refusals.ts';
import type { SessionsInboxAnswer, SessionsInboxPage } from '../../protocol/tools/inbox-answer.ts';
import type { SessionsInboxArgs } from '../../protocol/tools/session-tool-args.ts';
import { INBOX_NOTES_MAX } from '../../protocol/tools/tool-limits.ts';
import type { ReadTx } from '../../store/store.ts';
import type { RunContext } from '../context.ts';
import { closedTool } from '../sessions/closed-tool.ts';
import { answerMessage } from './answer-message.ts';
import { mustBeOpen } from './must-be-open.ts';
import { handOverIn, type HandedOver, tellHandedOver } from './hand-over-inbox.ts';
import { heldRun, waitingBehind } from './held-run.ts';
import { toInboxPage } from './inbox-page.ts';

/** Returns what the caller has in hand, handing over the next message when it has none; answers the one it has first. */
export async function readInbox(
  context: RunContext,
  caller: SessionCaller,
  { reply, limit: noteLimit = INBOX_NOTES_MAX }: SessionsInboxArgs,
): Promise<SessionsInboxAnswer> {
  const { sessionKey } = caller;
  if (!isClientKey(sessionKey)) {
    const error = `session ${sessionKey} has no inbox: what is sent to it is a turn of its agent`;
    return faultOf('inbox', error);
  }
  if (reply !== undefined) return answerMessage(context, caller, { reply, noteLimit });
  // a client that only looks writes nothing
  const seen = await context.store.read(async (tx) => {
    const held = await nothingNew(tx, sessionKey);
    return held && toInboxPage(tx, context.config(), { caller, handed: held });
  });
  if (seen !== undefined) return seen;
  return (await handOver(context, { caller, noteLimit })).page;
}

/**
 * Hands over what has come for a client and was not handed over yet; undefined when there is nothing,
 * which costs one search of an index. For a door that shows it beside the answer of another tool.
 */
export async function takeInboxNews(
  context: RunContext,
  caller: SessionCaller,
): Promise<SessionsInboxPage | undefined> {
  const { sessionKey } = caller;
  if (!isClientKey(sessionKey)) return undefined;
  const isNews = await context.store.read(async (tx) => {
    const [first] = await tx.inputs.pending(sessionKey, 1);
    if (first === undefined || (await nothingNew(tx, sessionKey)) !== undefined) return false;
    // whoever may not answer is handed nothing
    const tool = INBOX_TOOL;
    return (await closedTool(tx, context.config(), { caller, tool })) === undefined;
  });
  if (!isNews) return undefined;
  const { page, handed } = await handOver(context, { caller, noteLimit: INBOX_NOTES_MAX });
  const messages = handed.isNew ? page.messages : [];
  return messages.length + page.notes.length === 0 ? undefined : { ...page, messages };
}

/** Undefined = a message or a note can be handed over. */
async function nothingNew(tx: ReadTx, sessionKey: string): Promise<HandedOver | undefined> {
  const lane = await tx.lanes.get(sessionKey);
  const open = await heldRun(tx, lane);
  if (open === undefined && (lane?.pending ?? 0) > 0) return undefined;
  if ((await tx.inputs.pendingNotes(sessionKey, 1)).length > 0) return undefined;
  const waiting = waitingBehind(lane);
  return { open, isNew: false, notes: [], hasMoreNotes: false, waiting, expired: [], lost: [] };
}

async function handOver(
  context: RunContext,
  { caller, noteLimit }: { caller: SessionCaller; noteLimit: number },
): Promise<{ page: SessionsInboxPage; handed: HandedOver }> {
  const done = await context.store.write('hand-over-inbox', async (tx) => {
    const session = await mustBeOpen(tx, caller.sessionKey);
    const handed = await handOverIn(tx, context, { session, noteLimit });
    return { handed, page: await toInboxPage(tx, context.config(), { caller, handed }) };
  });
  tellHandedOver(context, done.handed);
  return done;
}

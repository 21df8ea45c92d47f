/** The end of an announce: a text for the chat and one for the transcript, as decided (A18, A12). */
import { parseKey } from '../../core/keys.ts';
import type { SpawnStep, TranscriptStep } from '../../core/spawn-state.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import type { RunContext } from '../context.ts';
import { putOutgoing } from '../delivery/outbox.ts';
import { acceptNote } from '../runs/accept-run.ts';
import { appendNote } from '../runs/append-input.ts';
import { newSessionRow } from '../sessions/session-rows.ts';
import { announceOf } from './announce-of.ts';
import { placeOf, provenanceOf } from './announce-provenance.ts';
import type { SpawnView } from './read-spawn.ts';

type Settlement = Extract<SpawnStep, { do: 'settle' }>;

/** Writes what the settlement says, in the caller's transaction; what was relayed is told in the same words. */
export async function tellRequester(
  tx: WriteTx,
  context: RunContext,
  { view, step }: { view: SpawnView; step: Settlement },
): Promise<void> {
  if (step.chat === 'none' && step.transcript === 'none') return;
  const relayed =
    view.relayTurn === undefined ? undefined : await tx.inputs.get(view.relayTurn.runId);
  const text = relayed?.text ?? (await announceOf(tx, context, view));
  await putInOutbox(tx, context, { view, chat: step.chat, text });
  await putInTranscript(tx, context, { view, transcript: step.transcript, text });
}

async function putInOutbox(
  tx: WriteTx,
  context: RunContext,
  { view, chat, text }: { view: SpawnView; chat: Settlement['chat']; text: string },
): Promise<void> {
  if (chat === 'none') return;
  const { spawn, requester, route } = view;
  await putOutgoing(tx, context, {
    session: requester.session ?? standIn(context, { view, now: tx.now }),
    route,
    runId: spawn.runId,
    text,
    key: `announce:${spawn.childKey}:${spawn.runId}`,
    ...(chat === 'post' ? {} : { suppressedBy: chat.suppressedBy }),
  });
}

/** The send policy judges the chat that was captured, also when its session is not there any more. */
function standIn(context: RunContext, { view, now }: { view: SpawnView; now: number }): SessionRow {
  const { spawn, child, route } = view;
  const key = spawn.requesterKey;
  const agentId = parseKey(key).agentId ?? child?.agentId ?? 'main';
  const lastChannel = route?.channel ?? null;
  return newSessionRow(context.config(), { key, agentId, now, lastChannel });
}

async function putInTranscript(
  tx: WriteTx,
  context: RunContext,
  { view, transcript, text }: { view: SpawnView; transcript: TranscriptStep; text: string },
): Promise<void> {
  const { spawn, requester } = view;
  if (transcript === 'none' || requester.session === undefined) return;
  const input = await acceptNote(tx, {
    inputId: `${spawn.runId}:result`,
    kind: 'announce',
    sessionKey: requester.session.key,
    text,
    provenance: provenanceOf(view, spawn.childKey),
    rootRunId: placeOf(view).rootRunId,
  });
  if (transcript === 'append') await appendNote(tx, context, { input, session: requester.session });
}

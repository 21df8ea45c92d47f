/**
 * What a requester is owed for a child (A18), as one decision over what is known of it:
 *
 *   the task goes on ──▶ rest                      a turn that goes on ──▶ rest
 *   it ended ok, children of its own are open ──▶ rest, until the last of them is settled
 *   it ended ok, mode post or relay ──▶ announce turn in the child, once
 *   then, or at once in the other modes and for runs that failed:
 *     nothing but a silence word ──▶ settle, nothing is told
 *     requester is a sub-agent, or mode relay and a chat ──▶ relay turn in the requester, once
 *     else ──▶ settle: a text for the chat, a note for the transcript
 *   the relay turn has ended ──▶ settle; what it failed to pass on is posted as it is
 *
 * Whatever rests is asked again when what it waits for has ended. Nothing here knows rows or time.
 */
import type { AnnounceMode } from '../protocol/words.ts';

/** How a turn stands: `failed` also means timed out or interrupted, `stopped` that somebody stopped it. */
export type TurnFact = 'going' | 'ok' | 'failed' | 'stopped';

/** Who is to be told: nobody has a turn in an archived session, and a sub-agent has no chat. */
export type RequesterFact = 'session' | 'subagent' | 'archived' | 'gone';

export interface SpawnFacts {
  mode: AnnounceMode;
  isSettled: boolean;
  /** the child's first run; `gone` = its row is not there any more */
  task: TurnFact | 'gone';
  /** a turn can be queued in the child */
  isChildOpen: boolean;
  /** the child has children that are not settled */
  hasOpenChildren: boolean;
  /** the child's announce turn, undefined = there was none */
  announceTurn: TurnFact | undefined;
  /** what is to be announced is nothing but a silence word */
  isSilent: boolean;
  requester: RequesterFact;
  /** a chat for the announce is known */
  hasChat: boolean;
  relayTurn: RelayFact | undefined;
}

export interface RelayFact {
  turn: TurnFact;
  /** its reply goes to the chat; a sub-agent's goes nowhere */
  isDelivered: boolean;
  /** its reply holds a text or a silence word */
  hasSpoken: boolean;
  /** the announce has entered a transcript as its message */
  wasRead: boolean;
  /** its session is still the one to be told */
  isHere: boolean;
}

/** What a rest waits for; `nothing` = it is settled. */
export type RestUntil = 'nothing' | 'task' | 'children' | 'announce' | 'relay';
/** A row of the outbox, `none` = no row at all. */
export type ChatStep = 'none' | 'post' | { suppressedBy: 'silent' | 'stopped' };
/** `append` = at once, because no turn will ever take a note in. */
export type TranscriptStep = 'none' | 'note' | 'append';

export type SpawnStep =
  | { do: 'rest'; until: RestUntil }
  | { do: 'announce-turn' }
  /** `deliver`: the reply goes to the chat */
  | { do: 'relay-turn'; deliver: boolean }
  | { do: 'settle'; chat: ChatStep; transcript: TranscriptStep };

const NOTHING_TOLD: SpawnStep = { do: 'settle', chat: 'none', transcript: 'none' };

/** Returns what follows now. Asked again about the same facts it is the same, so a crash in between does no harm. */
export function nextSpawnStep(facts: SpawnFacts): SpawnStep {
  if (facts.isSettled) return { do: 'rest', until: 'nothing' };
  if (facts.task === 'going') return { do: 'rest', until: 'task' };
  if (facts.relayTurn !== undefined) return afterRelay(facts, facts.relayTurn);
  if (facts.announceTurn === 'going') return { do: 'rest', until: 'announce' };
  if (facts.announceTurn === undefined && facts.task === 'ok') {
    if (facts.hasOpenChildren) return { do: 'rest', until: 'children' };
    if (hasAnnounceTurn(facts.mode) && facts.isChildOpen) return { do: 'announce-turn' };
  }
  return facts.isSilent ? NOTHING_TOLD : tell(facts);
}

/** Whether the child is asked to sum up: in the other modes its last text is the Result (A18). */
export function hasAnnounceTurn(mode: AnnounceMode): boolean {
  return mode === 'post' || mode === 'relay';
}

function tell(facts: SpawnFacts): SpawnStep {
  const { mode, requester, hasChat } = facts;
  const transcript = transcriptFor(requester);
  if (mode === 'silent') return { do: 'settle', chat: { suppressedBy: 'silent' }, transcript };
  if (isStopped(facts)) return { do: 'settle', chat: { suppressedBy: 'stopped' }, transcript };
  if (requester === 'subagent') return { do: 'relay-turn', deliver: false };
  if (requester === 'session' && mode === 'relay' && hasChat) {
    return { do: 'relay-turn', deliver: true };
  }
  return { do: 'settle', chat: 'post', transcript };
}

function afterRelay(facts: SpawnFacts, relay: RelayFact): SpawnStep {
  if (relay.turn === 'going') return { do: 'rest', until: 'relay' };
  const isLost = !relay.wasRead || !relay.isHere;
  const transcript = isLost ? transcriptFor(facts.requester) : 'none';
  return { do: 'settle', chat: chatAfterRelay(facts, relay), transcript };
}

/** What the relay turn did not pass on goes out as it is; a stop keeps it from the chat, a deletion does not. */
function chatAfterRelay({ requester }: SpawnFacts, relay: RelayFact): ChatStep {
  const { turn, isDelivered, hasSpoken, isHere } = relay;
  if (isDelivered ? turn === 'ok' && hasSpoken : isHere) return 'none';
  return turn === 'stopped' && requester !== 'gone' ? { suppressedBy: 'stopped' } : 'post';
}

function transcriptFor(requester: RequesterFact): TranscriptStep {
  if (requester === 'gone') return 'none';
  return requester === 'archived' ? 'append' : 'note';
}

function isStopped({ task, announceTurn }: SpawnFacts): boolean {
  return task === 'stopped' || announceTurn === 'stopped';
}

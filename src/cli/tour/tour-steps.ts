import { asText, isRecord } from '../output/json-value.ts';

/** What a person asks main for, and what has to come of it. */
export interface TourStep {
  title: string;
  /** the person's words */
  ask: string;
  tool: string;
  args: Record<string, unknown>;
  /** what main says once it has the tool's answer */
  answer: string;
  /** what is shown when it happened */
  holds: string;
  isDone(result: Record<string, unknown>): boolean;
}

const SCOUT = 'agent:scout:main';
const NEWS = 'The harbour is quiet. Two ships are due at noon.';
const TALLY = 'Two ships at noon: berths 4 and 7 are free.';

/** In a script the receiver of a message finds its own lines in the message. */
const askScout = {
  ask: 'Ask scout what is new at the harbour, and wait for the answer.',
  tool: 'sessions_send',
  args: {
    sessionKey: SCOUT,
    message: `What is new at the harbour?\nSAY: ${NEWS}`,
    timeoutSeconds: 20,
  },
};

/** Played on the configuration as it is shipped. */
export const REFUSED_STEP: TourStep = {
  ...askScout,
  title: 'As shipped, agents keep to themselves',
  answer: 'I may not talk to scout.',
  holds: 'refused: by default an agent sees its own tree of sessions and no other agent',
  isDone: ({ status }) => status === 'forbidden',
};

/** Played with the two settings that let main and scout talk. */
export const TOUR_STEPS: readonly TourStep[] = [
  {
    ...askScout,
    title: 'main messages scout and waits for the answer',
    answer: 'Scout says the harbour is quiet until noon.',
    holds: 'scout answered in a run of its own',
    isDone: ({ status, reply }) => status === 'ok' && reply === NEWS,
  },
  {
    title: 'main lists the sessions it may see',
    ask: 'Which sessions are there?',
    tool: 'sessions_list',
    args: { limit: 10 },
    answer: 'Mine and the one of scout.',
    holds: 'its own session and the one of scout',
    isDone: ({ sessions }) => hasKey(sessions, 'main') && hasKey(sessions, SCOUT),
  },
  {
    title: "main reads scout's transcript",
    ask: 'Read what was said there.',
    tool: 'sessions_history',
    args: { sessionKey: SCOUT, limit: 10 },
    answer: 'One question from me, one answer from scout.',
    holds: 'the question carries where it came from, set by the gateway alone',
    isDone: ({ messages }) =>
      Array.isArray(messages) && messages.some(isRouted) && JSON.stringify(messages).includes(NEWS),
  },
  {
    title: 'main spawns a sub-agent',
    ask: 'Have a sub-agent work out the berths.',
    tool: 'sessions_spawn',
    args: { label: 'berths', task: `Work out the berths for noon.\nSAY: ${TALLY}` },
    answer: 'It is working; you will hear from it.',
    holds: 'accepted at once; the sub-agent works in a session of its own',
    isDone: ({ status, childSessionKey }) =>
      status === 'accepted' && asText(childSessionKey).startsWith('agent:main:subagent:'),
  },
];

/** Returns whether a text of the chat is the announce of the sub-agent's result. */
export function isAnnounce(text: string): boolean {
  return /^Status: success$/m.test(text) && text.includes(TALLY);
}

function hasKey(sessions: unknown, key: string): boolean {
  return Array.isArray(sessions) && sessions.some((row) => isRecord(row) && row['key'] === key);
}

function isRouted(message: unknown): boolean {
  const provenance = isRecord(message) ? message['provenance'] : undefined;
  return isRecord(provenance) && provenance['kind'] === 'inter_session';
}

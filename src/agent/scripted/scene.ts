import { textOf, type Message } from '../../protocol/message.ts';
import { parseScript, planNext, type Plan } from './script.ts';

/** What of a transcript decides the next step. */
export interface Scene {
  userText: string;
  /** texts of the tool results after the last user message, in order */
  results: string[];
  /** texts of the assistant's messages, oldest first */
  replies: string[];
}

const REPLY_STEP = /agent-to-agent reply step(?:: turn (?<turn>\d+))?/i;
const ANNOUNCE_STEP = /agent-to-agent announce step/i;
/** a child is asked to sum up its task; nothing to add to what it said */
const TASK_ANNOUNCE = /^\s*\[announce step:/i;

/** a requester is told how its child ended, and passes it on */
const RELAY_STEP = /^\s*\[result of your sub-agent/i;

/** Returns the scene of a transcript; a resumed turn has the same one, so it goes on where it was. */
export function readScene(messages: readonly Message[]): Scene {
  const lastUser = messages.findLastIndex((message) => message.role === 'user');
  const asked = messages[lastUser];
  const later = messages.slice(lastUser + 1);
  return {
    userText: asked ? textOf(asked) : '',
    results: later.filter((message) => message.role === 'toolResult').map(textOf),
    replies: messages.filter((message) => message.role === 'assistant').map(textOf),
  };
}

/**
 * Returns what a scripted turn does in this scene. Agent-to-agent steps are declined, or with
 * `talk` answered `PONG n` and `ANNOUNCE n`; the announce of a task repeats its last reply, a child's
 * result is passed on in one line; a text without directives gets a plain answer.
 */
export function planScene(scene: Scene, given: { offered: string[]; talk: boolean }): Plan {
  if (scene.results.length === 0) {
    const announced = planAnnounce(scene, given.talk);
    if (announced) return announced;
  }
  const steps = parseScript(scene.userText);
  if (steps.length === 0) return say(plainAnswer(scene.userText));
  return planNext(steps, { results: scene.results, offered: given.offered });
}

/** These prompts quote earlier texts, so directives inside them are not for this turn. */
function planAnnounce({ userText, replies }: Scene, talk: boolean): Plan | undefined {
  if (ANNOUNCE_STEP.test(userText)) {
    return say(talk ? `ANNOUNCE ${countedFrom('ANNOUNCE', replies)}` : 'ANNOUNCE_SKIP');
  }
  const step = REPLY_STEP.exec(userText);
  if (step) {
    return say(talk ? `PONG ${step.groups?.turn ?? countedFrom('PONG', replies)}` : 'REPLY_SKIP');
  }
  if (RELAY_STEP.test(userText)) {
    const result = /^Result: (.*)$/m.exec(userText)?.[1] ?? '';
    return say(`PASSED ON: ${result}`);
  }
  return TASK_ANNOUNCE.test(userText)
    ? say(replies.findLast((text) => text !== '') ?? '')
    : undefined;
}

function countedFrom(word: string, replies: string[]): number {
  return 1 + replies.filter((text) => text.startsWith(`${word} `)).length;
}

function say(text: string): Plan {
  return { sleepMs: 0, action: { kind: 'answer', text, chunks: 1 } };
}

const QUOTE_CHARACTERS = 200;

function plainAnswer(userText: string): string {
  // The marker in front of a routed text is for the model alone (A14).
  const line = userText
    .replace(/^\s*\[[^\n]*\]\s*\n/, '')
    .replaceAll(/\s+/g, ' ')
    .trim();
  if (line === '') return 'Scripted reply: the message was empty.';
  const characters = Array.from(line);
  const quote =
    characters.length > QUOTE_CHARACTERS
      ? `${characters.slice(0, QUOTE_CHARACTERS).join('')}…`
      : line;
  return `Scripted reply (no model): I read "${quote}".`;
}

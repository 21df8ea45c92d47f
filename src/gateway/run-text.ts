import { mayBecomeSilence, visibleText } from '../core/silence.ts';

/** The next piece of a streamed answer, as watchers may see it. */
export interface TextStep {
  /** the whole visible text so far */
  text: string;
  /** what to append to the step before; the whole text when `replace` */
  delta: string;
  replace: boolean;
  /** protocol 3: the piece since the last snapshot, on a step that is one */
  snapshotDelta: string | undefined;
}
export interface RunText {
  /** Returns the step that a delta makes, or undefined while there is nothing to show. */
  advance(streamed: { text: string; replace: boolean }): TextStep | undefined;
  /** Returns what is missing from the text as streamed, and from the last snapshot. */
  finish(reply: string): { delta: string; replace: boolean; snapshotDelta: string };
}

/** Visible characters at which protocol 3 gets its snapshots: at most three an answer (A23). */
const SNAPSHOT_LENGTHS = [1, 400, 4000];

/** Returns the state of one run's stream. Silence words never show, not even their beginnings (A14). */
export function createRunText(): RunText {
  let shown = '';
  let snapshot = '';
  let snapshots = 0;
  let mustReplace = false;
  let visibleBeginning = createVisibleBeginning();
  return {
    advance: ({ text, replace }) => {
      if (replace) visibleBeginning = createVisibleBeginning();
      mustReplace ||= replace;
      const visible = visibleBeginning(text);
      if (visible === '' || (visible === shown && !mustReplace)) return undefined;
      const replaces = shown !== '' && (mustReplace || !visible.startsWith(shown));
      const delta = replaces ? visible : visible.slice(mustReplace ? 0 : shown.length);
      shown = visible;
      mustReplace = false;
      const step = { text: visible, delta, replace: replaces };
      if (visible.length < (SNAPSHOT_LENGTHS[snapshots] ?? Number.POSITIVE_INFINITY))
        return { ...step, snapshotDelta: undefined };
      const snapshotDelta = rest(visible, snapshot);
      snapshot = visible;
      snapshots += 1;
      return { ...step, snapshotDelta };
    },
    finish: (reply) => ({
      delta: rest(reply, shown),
      replace: shown !== '' && !reply.startsWith(shown),
      snapshotDelta: rest(reply, snapshot),
    }),
  };
}

function rest(text: string, sent: string): string {
  return text.startsWith(sent) ? text.slice(sent.length) : text;
}

/** More than the longest silence word and what may wrap it. */
const TAIL_LENGTH = 20;
/** The word that a text ends in, with what wraps it from the left. */
const LAST_WORD = /(?<![\p{L}\p{N}_])[`*"']*(?<word>[A-Za-z_]{1,13})$/u;
const SILENCE_PART = /_SKIP|NO_REPLY/i;

/** Returns the filter of one growing text. It reads the new end only, until a silence word has been seen. */
function createVisibleBeginning(): (text: string) => string {
  let read = 0;
  let hasSilence = false;
  return (text) => {
    hasSilence ||= SILENCE_PART.test(text.slice(Math.max(0, read - TAIL_LENGTH)));
    read = text.length;
    if ((hasSilence || text.length <= TAIL_LENGTH) && mayBecomeSilence(text)) return '';
    const last = LAST_WORD.exec(text.slice(-TAIL_LENGTH));
    const isOpen = last !== null && mayBecomeSilence(last.groups?.['word'] ?? '');
    const settled = isOpen ? text.slice(0, text.length - last[0].length) : text;
    return hasSilence ? visibleText(settled).text : settled;
  };
}

/** Silence words (A14): what a reply looks like after they are taken out. One function for every outbound path. */

const WORDS = '(?:REPLY_SKIP|ANNOUNCE_SKIP|(?i:NO_REPLY))';
// Standing alone: no letter, digit or underscore touches it. An address such as no_reply@example.org is no silence word.
const ALONE = String.raw`(?<![\p{L}\p{N}_])${WORDS}(?![\p{L}\p{N}_]|@[\p{L}\p{N}])`;
// Bounded, because an unbounded run is tried again from each of its characters: a reply of 50,000
// spaces or asterisks would hold the event loop for seconds.
const WRAPPED = '(?<wrap>`{1,32}|\\*{1,32}|"|\')\\s{0,32}' + ALONE + '\\s{0,32}\\k<wrap>';
const WORD = new RegExp(
  `(?<before>[ \\t]{0,32})(?:${WRAPPED}|${ALONE})(?<after>[ \\t]{0,32})`,
  'gu',
);
/** Nearly every text holds none, and is not looked at any closer. */
const MAY_HOLD_WORD = /REPLY_SKIP|ANNOUNCE_SKIP|NO_REPLY/i;
const STARTS = ['REPLY_SKIP', 'ANNOUNCE_SKIP', 'NO_REPLY'];

/**
 * Returns the text that may reach a chat. `silent` = nothing is left, so nothing is sent. Text without
 * a silence word comes back unchanged.
 */
export function visibleText(text: string): { silent: boolean; text: string } {
  let visible = text;
  // Taking one out can bring the halves of another together.
  for (let before = ''; before !== visible && MAY_HOLD_WORD.test(visible);) {
    before = visible;
    visible = takeOut(visible);
  }
  if (visible.trim() === '') return { silent: true, text: '' };
  return { silent: false, text: visible };
}

function takeOut(text: string): string {
  let found = false;
  const lines = text.replace(WORD, (...args) => {
    found = true;
    const { before, after } = args.at(-1) as { before: string; after: string };
    return before !== '' && after !== '' ? ' ' : before + after;
  });
  if (!found) return text;
  return lines.trim();
}

/** Returns whether the whole trimmed reply ends an exchange. */
export function isReplySkip(text: string): boolean {
  return text.trim() === 'REPLY_SKIP';
}

/** Returns whether the whole trimmed reply keeps an announce from being posted. */
export function isAnnounceSkip(text: string): boolean {
  return text.trim() === 'ANNOUNCE_SKIP';
}

/** Returns whether a streamed beginning may still turn out to be silence, so that it is held back. */
export function mayBecomeSilence(beginning: string): boolean {
  const start = beginning.trimStart();
  if (start === '') return true;
  return (
    STARTS.some(
      (word) =>
        word.startsWith(start) || (word === 'NO_REPLY' && word.startsWith(start.toUpperCase())),
    ) || visibleText(start).silent
  );
}

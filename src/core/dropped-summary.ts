/** What a model is told of messages that gave way to newer ones (B12). */

/** Older lines go beyond it; the number in the first line still counts them. */
const MAX_LINES = 50;
/** How much of a message is told, in characters. */
const MAX_CHARACTERS = 200;
const FIRST_LINE = /^\[(\d+) earlier messages? /;

/** Returns the summary with one more message in it; `summary` is the text so far. */
export function addToSummary(summary: string | undefined, message: string): string {
  const [first = '', ...lines] = summary?.split('\n') ?? [];
  const count = Number(FIRST_LINE.exec(first)?.[1] ?? 0) + 1;
  const kept = [...lines, `- ${beginningOf(message)}`].slice(-MAX_LINES);
  const noun = count === 1 ? 'message' : 'messages';
  const which = count > kept.length ? `; the last ${kept.length} of them` : '';
  return [
    `[${count} earlier ${noun} had no turn: too many waited (messages.queue.cap)${which}]`,
    ...kept,
  ].join('\n');
}

function beginningOf(message: string): string {
  const line = message.replaceAll(/\s+/g, ' ').trim();
  const characters = Array.from(line);
  if (characters.length <= MAX_CHARACTERS) return line;
  return `${characters.slice(0, MAX_CHARACTERS).join('')}…`;
}

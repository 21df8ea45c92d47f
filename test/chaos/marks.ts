/**
 * Marks: each message of a campaign has a name of its own in its text, so that it is recognised
 * wherever it turns up. `<12>` is the twelfth job, `<12.1>` what its run sends on, `<12.s>` its child's task.
 */
const MARK = /<\d+(?:\.[a-z0-9]+)*>/g;

/** Returns the mark of a job, or of a message that comes of it. */
export function markOf(job: number, ...path: (string | number)[]): string {
  return `<${[job, ...path].join('.')}>`;
}

/** Returns the marks in a text, in their order. */
export function marksIn(text: string): string[] {
  return text.match(MARK) ?? [];
}

/** Returns the mark that a message begins with: the message is its only bearer. */
export function ownMark(text: string): string | undefined {
  const [first] = marksIn(text.split('\n', 1)[0] ?? '');
  return first !== undefined && text.startsWith(first) ? first : undefined;
}

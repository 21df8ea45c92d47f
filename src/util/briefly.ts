const BRIEF = 80;

/** Returns a text of the caller's as an error may echo it: whole, or its first 80 characters and `…`. */
export function briefly(text: string): string {
  return text.length <= BRIEF ? text : `${text.slice(0, BRIEF).toWellFormed()}…`;
}

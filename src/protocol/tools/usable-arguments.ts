/** Arguments of a tool call that no tool can take. They become an answer to the model, never a failed run. */

/** Deepest nesting of arguments, as of frames. What is deeper cannot be written out again safely. */
const MAX_DEPTH = 64;
const TOO_DEEP = `the arguments are nested deeper than ${MAX_DEPTH} levels; send flatter ones`;

/** Returns the arguments that stand for ones which could not be parsed: every tool refuses them. */
export function unparsedArguments(reason: string): Record<string, unknown> {
  return { invalidJson: reason };
}

/** Returns the arguments as they are, or in their place some that every tool refuses for their depth. */
export function usableArguments(args: Record<string, unknown>): Record<string, unknown> {
  return isDeeperThan(args, MAX_DEPTH) ? unparsedArguments(TOO_DEEP) : args;
}

/** Returns what to tell the model when the arguments stand for ones that could not be taken. */
export function whyUnusable(args: object): string | undefined {
  if (!('invalidJson' in args)) return undefined;
  if (args.invalidJson === TOO_DEEP) return TOO_DEEP;
  return 'the arguments were not a JSON object; send the call again';
}

/** Returns whether a value of JSON is nested deeper than so many levels; it looks no further than that. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((item) => isDeeperThan(item, levels - 1));
}

/** What a command says with its exit code; the same for every command. */
export const EXIT = {
  /** everything was done */
  ok: 0,
  /** it failed, or the gateway refused it */
  failure: 1,
  /** the command line itself is wrong; nothing was tried */
  usage: 2,
  /** a part is done: some sessions were left, or the wait ended before the run */
  partial: 3,
} as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

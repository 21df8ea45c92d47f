import { styleText } from 'node:util';
import type { ExitCode } from './exit-codes.ts';
import { EXIT } from './exit-codes.ts';

export type Style = 'bold' | 'dim' | 'green' | 'red' | 'cyan' | 'yellow';

/** Where a command writes, and what it ends with. Passed in, so that tests read it. */
export interface CliIo {
  env: NodeJS.ProcessEnv;
  exitCode: ExitCode;
  /** Writes lines of the answer; a newline is added. */
  out(text: string): void;
  /** Writes a note for the person, beside the answer. */
  note(text: string): void;
  /** Returns the text in a style where the terminal shows one, else as it is. */
  style(style: Style, text: string): string;
  /** columns of the terminal; undefined when nobody looks at one */
  width: number | undefined;
}

/** Returns the streams of this process. Colour only on a terminal, and never with `NO_COLOR`. */
export function processIo(): CliIo {
  const { stdout, stderr } = process;
  // A reader such as `head` may close the pipe early; that is no failure of ours.
  for (const stream of [stdout, stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') process.exit(EXIT.ok);
      throw error;
    });
  }
  return {
    env: process.env,
    exitCode: EXIT.ok,
    out: (text) => void stdout.write(`${text}\n`),
    note: (text) => void stderr.write(`${text}\n`),
    style: (style, text) => styleText(style, text, { stream: stdout, validateStream: true }),
    width: stdout.isTTY ? stdout.columns : undefined,
  };
}

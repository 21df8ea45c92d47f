import type { CliIo } from '../../src/cli/cli-io.ts';
import { main } from '../../src/cli/main.ts';

export interface CliRun {
  exitCode: number;
  out: string;
  notes: string;
}

/** Runs a command line in this process and returns what it wrote. */
export async function runCli(
  argv: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<CliRun> {
  const { io, written } = captureIo(env);
  const exitCode = await main(argv, io);
  return { exitCode, ...written() };
}

/** Returns streams that keep what is written, as on a pipe: no colour, no width. */
export function captureIo(env: NodeJS.ProcessEnv = {}): {
  io: CliIo;
  written: () => { out: string; notes: string };
} {
  const out: string[] = [];
  const notes: string[] = [];
  const io: CliIo = {
    env,
    exitCode: 0,
    out: (text) => void out.push(text),
    note: (text) => void notes.push(text),
    style: (_style, text) => text,
    width: undefined,
  };
  return { io, written: () => ({ out: out.join('\n'), notes: notes.join('\n') }) };
}

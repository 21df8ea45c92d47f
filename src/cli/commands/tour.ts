import type { Command } from 'commander';
import type { CliIo } from '../cli-io.ts';
import { EXIT } from '../exit-codes.ts';
import { parsePort } from '../parse-argument.ts';
import { serve } from '../serve.ts';

interface TourFlags {
  once?: boolean;
  port?: number;
  bind?: string;
  stateDir?: string;
  config?: string;
}

export function defineTour(command: Command, io: CliIo): void {
  command
    .description(
      'Plays a short tour: one agent messages another, waits for the answer, spawns a sub-agent\n' +
        'and gets its result announced. It needs no model and touches none of your sessions.\n' +
        'Then your own gateway starts and stays up.',
    )
    .option('--once', 'end after the tour')
    .option('--port <number>', 'port of the gateway after the tour', parsePort)
    .option('--bind <address>', 'address of the gateway after the tour')
    .option('--state-dir <dir>', 'state directory of the gateway after the tour')
    .option('--config <file>', 'configuration file of the gateway after the tour')
    .action((flags: TourFlags) => tour(flags, io));
}

async function tour({ once, ...flags }: TourFlags, io: CliIo): Promise<void> {
  const { playTour } = await import('../tour/play-tour.ts');
  const isComplete = await playTour(io);
  if (!isComplete) io.exitCode = EXIT.failure;
  if (once === true || !isComplete) return;
  io.out('\nYour own gateway starts now. Ctrl-C stops it.\n');
  await serve(flags, io);
}

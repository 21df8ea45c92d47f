import type { Command } from 'commander';
import type { CliIo } from '../cli-io.ts';
import { EXIT } from '../exit-codes.ts';
import type { ExitCode } from '../exit-codes.ts';
import { formatImportReport } from '../output/format-import-report.ts';

interface ImportFlags {
  stateDir?: string;
  config?: string;
  json?: boolean;
}

const EXIT_CODES: Readonly<Record<'all' | 'some' | 'none', ExitCode>> = {
  all: EXIT.ok,
  some: EXIT.partial,
  none: EXIT.failure,
};

export function defineImport(command: Command, io: CliIo): void {
  command
    .description('Takes over the sessions of another product.')
    .configureHelp({ subcommandTerm: (sub) => sub.name() })
    .helpCommand(false);
  command
    .command('openclaw')
    .summary('take over an OpenClaw of the older form')
    .description(
      'Takes over the state folder of an OpenClaw of the older form (sessions.json and .jsonl\n' +
        'files). The folder is only read; the import can be run again. The gateway must be stopped.',
    )
    .argument('<dir>', 'the state folder to import, such as ~/.openclaw')
    .option('--state-dir <dir>', 'where to import to; ~/.trunkline when not given')
    .option('--config <file>', 'configuration file; trunkline.json in the state directory')
    .option('--json', 'print the report as JSON')
    .addHelpText(
      'after',
      '\nExit code: 0 when every session was taken, 3 when some were left, 1 when none is there.',
    )
    .action((dir: string, flags: ImportFlags) => importOpenClaw(dir, { flags, io }));
}

async function importOpenClaw(
  dir: string,
  { flags, io }: { flags: ImportFlags; io: CliIo },
): Promise<void> {
  const { importIntoState } = await import('../../app/import-state.ts');
  const report = await importIntoState({
    dir,
    stateDir: flags.stateDir,
    configPath: flags.config,
    env: io.env,
  });
  io.exitCode = EXIT_CODES[report.outcome];
  if (flags.json === true) io.out(JSON.stringify(report, null, 2));
  else for (const line of formatImportReport(report)) io.out(line);
}

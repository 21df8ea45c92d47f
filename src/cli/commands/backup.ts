import type { Command } from 'commander';
import type { CliIo } from '../cli-io.ts';

interface BackupFlags {
  stateDir?: string;
  json?: boolean;
}

export function defineBackup(command: Command, io: CliIo): void {
  command
    .description(
      'Copies the store into one file, as it is at this moment; a running gateway goes on.\n' +
        'The copy holds every session and transcript: keep it as private as the state directory.\n' +
        'Configuration, token and workspaces are not in it. A Postgres database is copied by pg_dump.',
    )
    .argument('<file>', 'the file to make; it must not exist')
    .option('--state-dir <dir>', 'state directory; ~/.trunkline when not given')
    .option('--json', 'print the result as JSON')
    .action((file: string, flags: BackupFlags) => backUp(file, { flags, io }));
}

async function backUp(
  file: string,
  { flags, io }: { flags: BackupFlags; io: CliIo },
): Promise<void> {
  const { backUpState } = await import('../../app/back-up-state.ts');
  const report = await backUpState({ file, stateDir: flags.stateDir, env: io.env });
  if (flags.json === true) io.out(JSON.stringify(report, null, 2));
  else io.out(`${report.file}: ${report.bytes} bytes, schema ${report.schemaVersion}, checked`);
}

import type { Command } from 'commander';
import type { CliIo } from '../cli-io.ts';

interface RestoreFlags {
  stateDir?: string;
  json?: boolean;
}

export function defineRestore(command: Command, io: CliIo): void {
  command
    .description(
      'Puts a backup in the place of the store. The gateway must be stopped. The store that is there\n' +
        'is kept beside it as trunkline.db.before-restore-<time>. A backup that is damaged or of a\n' +
        'newer schema is refused, and nothing is changed. A Postgres database is restored by pg_restore.',
    )
    .argument('<file>', 'a file that "trunkline backup" or a migration has made')
    .option('--state-dir <dir>', 'state directory; ~/.trunkline when not given')
    .option('--json', 'print the result as JSON')
    .action((file: string, flags: RestoreFlags) => restore(file, { flags, io }));
}

async function restore(
  file: string,
  { flags, io }: { flags: RestoreFlags; io: CliIo },
): Promise<void> {
  const { restoreState } = await import('../../app/back-up-state.ts');
  const report = await restoreState({ file, stateDir: flags.stateDir, env: io.env });
  if (flags.json === true) {
    io.out(JSON.stringify(report, null, 2));
    return;
  }
  io.out(`restored ${report.file} (schema ${report.schemaVersion})`);
  if (report.keptAs !== undefined) io.out(`the store that was there: ${report.keptAs}`);
}

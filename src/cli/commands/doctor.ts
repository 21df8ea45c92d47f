import type { Command } from 'commander';
import type { DoctorReport } from '../../app/examine-state.ts';
import type { CliIo } from '../cli-io.ts';
import { EXIT } from '../exit-codes.ts';
import { printable } from '../output/printable.ts';

interface DoctorFlags {
  fix?: boolean;
  stateDir?: string;
  config?: string;
  json?: boolean;
}

export function defineDoctor(command: Command, io: CliIo): void {
  command
    .description(
      'Looks the store through: the file or the indexes, the schema, what the rows say of each other, what\n' +
        'cannot be read, and the transcript files. The gateway must be stopped; on Postgres every gateway of\n' +
        'the database, and only for --fix. Without --fix nothing is changed; with it what can be healed is,\n' +
        'and nothing that can be read is removed.',
    )
    .option('--fix', 'heal what can be healed')
    .option('--state-dir <dir>', 'state directory; ~/.trunkline when not given')
    .option('--config <file>', 'configuration file; trunkline.json in the state directory')
    .option('--json', 'print the report as JSON')
    .addHelpText(
      'after',
      '\nExit code: 0 when nothing is wrong, 3 when something was healed or is left, 1 when it could not look.',
    )
    .action((flags: DoctorFlags) => examine(flags, io));
}

async function examine(flags: DoctorFlags, io: CliIo): Promise<void> {
  const { examineState } = await import('../../app/examine-state.ts');
  const report = await examineState({
    fix: flags.fix === true,
    stateDir: flags.stateDir,
    configPath: flags.config,
    env: io.env,
  });
  io.exitCode = report.outcome === 'clean' ? EXIT.ok : EXIT.partial;
  if (flags.json === true) io.out(JSON.stringify(report, null, 2));
  else for (const line of formatReport(report)) io.out(line);
}

const STATES = { healed: 'healed', healable: 'can be healed', left: 'left as it is' } as const;
const SHOWN_ROWS = 5;

function formatReport({ path, findings, outcome }: DoctorReport): string[] {
  const lines = findings.flatMap(({ check, rule, count, rows, state }) => {
    const shown = rows.slice(0, SHOWN_ROWS).map((row) => `    ${printable(row)}`);
    const more = count > shown.length ? [`    and ${count - shown.length} more`] : [];
    return [`${check}: ${STATES[state]}: ${rule}`, ...shown, ...more];
  });
  if (outcome === 'clean') return [`${path}: nothing is wrong`];
  const canHeal = findings.some(({ state }) => state === 'healable');
  return canHeal ? [...lines, '', 'trunkline doctor --fix heals what can be healed'] : lines;
}

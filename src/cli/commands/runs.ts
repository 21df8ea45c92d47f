import type { Command } from 'commander';
import type { CliIo } from '../cli-io.ts';
import { defineRunsGet } from './runs-get.ts';
import { defineRunsList } from './runs-list.ts';
import { defineRunsStop } from './runs-stop.ts';
import { defineRunsWait } from './runs-wait.ts';

export function defineRuns(command: Command, io: CliIo): void {
  command
    .description('Lists, shows, waits for and stops runs.')
    .configureHelp({ subcommandTerm: (sub) => sub.name() })
    .helpCommand(false)
    .addHelpText(
      'after',
      '\nA run is one turn of an agent on an accepted message; its id is the runId given at acceptance.',
    );
  defineRunsList(command.command('list'), io);
  defineRunsGet(command.command('get'), io);
  defineRunsWait(command.command('wait'), io);
  defineRunsStop(command.command('stop'), io);
}

import type { Command } from 'commander';
import type { CliIo } from '../cli-io.ts';
import { defineExchangesGet } from './exchanges-get.ts';
import { defineExchangesList } from './exchanges-list.ts';

export function defineExchanges(command: Command, io: CliIo): void {
  command
    .description('Shows what agents said to each other.')
    .configureHelp({ subcommandTerm: (sub) => sub.name() })
    .helpCommand(false)
    .addHelpText(
      'after',
      "\nAn exchange follows a message of sessions_send from an agent's run; its id is the runId of that message.",
    );
  defineExchangesList(command.command('list'), io);
  defineExchangesGet(command.command('get'), io);
}

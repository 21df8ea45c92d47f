import type { Command } from 'commander';
import type { CliIo } from '../cli-io.ts';
import { defineDeliveriesDrop, defineDeliveriesRetry } from './deliveries-change.ts';
import { defineDeliveriesList } from './deliveries-list.ts';

export function defineDeliveries(command: Command, io: CliIo): void {
  command
    .description(
      'Shows texts that are stuck on their way to a chat, tries them again, gives them up.',
    )
    .configureHelp({ subcommandTerm: (sub) => sub.name() })
    .helpCommand(false)
    .addHelpText(
      'after',
      '\nA delivery is one part of an outgoing text. It stays on the desk until it is dropped.',
    );
  defineDeliveriesList(command.command('list'), io);
  defineDeliveriesRetry(command.command('retry'), io);
  defineDeliveriesDrop(command.command('drop'), io);
}

import type { Command } from 'commander';
import type { CliIo } from '../cli-io.ts';
import { definePolicyExplain } from './policy-explain.ts';

export function definePolicy(command: Command, io: CliIo): void {
  command
    .description('Says what a session may do.')
    .configureHelp({ subcommandTerm: (sub) => sub.name() })
    .helpCommand(false);
  definePolicyExplain(command.command('explain'), io);
}

import type { Command } from 'commander';
import type { CliIo } from '../cli-io.ts';
import { defineSessionsDelete } from './sessions-delete.ts';
import { defineSessionsHistory } from './sessions-history.ts';
import { defineSessionsInbox } from './sessions-inbox.ts';
import { defineSessionsList } from './sessions-list.ts';
import { defineSessionsReset } from './sessions-reset.ts';
import { defineSessionsSearch } from './sessions-search.ts';
import { defineSessionsSend } from './sessions-send.ts';
import { defineSessionsSpawn } from './sessions-spawn.ts';
import { defineSessionsWindows } from './sessions-windows.ts';

export function defineSessions(command: Command, io: CliIo): void {
  command
    .description('Lists, reads, messages, spawns, resets and deletes sessions.')
    .configureHelp({ subcommandTerm: (sub) => sub.name() })
    .helpCommand(false)
    .addHelpText(
      'after',
      '\nWith --as KEY the command acts as that session, and its access rules apply; without it\n' +
        'as the operator, who may see everything. spawn and inbox always act as a session.',
    );
  defineSessionsList(command.command('list'), io);
  defineSessionsHistory(command.command('history'), io);
  defineSessionsSearch(command.command('search'), io);
  defineSessionsSend(command.command('send'), io);
  defineSessionsSpawn(command.command('spawn'), io);
  defineSessionsInbox(command.command('inbox'), io);
  defineSessionsReset(command.command('reset'), io);
  defineSessionsDelete(command.command('delete'), io);
  defineSessionsWindows(command.command('windows'), io);
}

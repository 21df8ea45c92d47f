import type { Command } from 'commander';
import type { CliIo } from '../cli-io.ts';
import { addClientOptions, withGateway } from '../client-options.ts';
import type { ClientFlags } from '../client-options.ts';
import { printable } from '../output/printable.ts';

type DeleteFlags = ClientFlags & { purge?: true };

export function defineSessionsDelete(command: Command, io: CliIo): void {
  command
    .summary('delete a session')
    .description(
      'Stops a session with everything below it and takes it out of every tool. You can still read it ' +
        'here, by key or sessionId, until session.maintenance.pruneAfter. A main session is reset instead.',
    )
    .argument('<key>', 'session key or sessionId')
    .option('--purge', 'erase its transcripts now');
  addClientOptions(command).action((key: string, flags: DeleteFlags) =>
    deleteSession(key, { flags, io }),
  );
}

async function deleteSession(
  key: string,
  { flags, io }: { flags: DeleteFlags; io: CliIo },
): Promise<void> {
  const deletion = { key, ...(flags.purge === true ? { deleteTranscript: true } : {}) };
  const answer = await withGateway({ flags, io }, (client) =>
    client.call('sessions.delete', deletion),
  );
  if (flags.json === true) return io.out(JSON.stringify(answer, null, 2));
  const word = answer.deleted ? 'deleted' : 'was deleted already';
  io.out(`${word}: ${printable(answer.key)}`);
  for (const sessionId of answer.archived) io.out(`still readable: ${printable(sessionId)}`);
}

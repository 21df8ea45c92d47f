import type { Command } from 'commander';
import type { CliIo } from '../cli-io.ts';
import { addClientOptions, withGateway } from '../client-options.ts';
import type { ClientFlags } from '../client-options.ts';
import { printable } from '../output/printable.ts';

export function defineSessionsReset(command: Command, io: CliIo): void {
  command
    .summary('give a session a new transcript')
    .description(
      'Stops what the session is at and gives it a new, empty transcript. The old one stays readable ' +
        'by its sessionId; settings stay, and messages that wait go on.',
    )
    .argument('<key>', 'session key or sessionId; "main" for the main session');
  addClientOptions(command).action((key: string, flags: ClientFlags) => reset(key, { flags, io }));
}

async function reset(key: string, { flags, io }: { flags: ClientFlags; io: CliIo }): Promise<void> {
  const answer = await withGateway({ flags, io }, (client) =>
    client.call('sessions.reset', { key }),
  );
  if (flags.json === true) return io.out(JSON.stringify(answer, null, 2));
  const { sessionId, previousSessionId } = answer;
  io.out(`sessionId  ${printable(sessionId)}`);
  if (previousSessionId !== undefined) io.out(`before     ${printable(previousSessionId)}`);
}

import type { Command } from 'commander';
import type { CliIo } from '../cli-io.ts';
import { addClientOptions } from '../client-options.ts';
import type { ClientFlags } from '../client-options.ts';
import { exitCodeOf, givenArgs, invokeTool } from '../invoke-tool.ts';
import { asText, isRecord } from '../output/json-value.ts';
import { printable } from '../output/printable.ts';

interface InboxFlags extends ClientFlags {
  as: string;
  reply?: string;
}

export function defineSessionsInbox(command: Command, io: CliIo): void {
  command
    .summary('what waits for a client, and its reply')
    .description(
      'Takes the message that waits for the session of a client (agent:<id>:mcp:<name>) and prints it.\n' +
        'It stays there until it is answered; the next one comes with the answer.',
    )
    .argument('[text]', 'the reply, with --reply; "" for none')
    .requiredOption('--as <key>', 'the session of the client')
    .option('--reply <messageId>', 'answer this message');
  addClientOptions(command).action((text: string | undefined, flags: InboxFlags) => {
    if ((text === undefined) !== (flags.reply === undefined))
      command.error('error: give --reply <messageId> together with the text of the reply');
    return inbox({ text, flags, io });
  });
}

async function inbox({
  text,
  flags,
  io,
}: {
  text: string | undefined;
  flags: InboxFlags;
  io: CliIo;
}): Promise<void> {
  const reply = flags.reply === undefined ? undefined : { messageId: flags.reply, text };
  const call = { tool: 'sessions_inbox', args: givenArgs({ reply }), sessionKey: flags.as };
  const answer = await invokeTool({ flags, io }, call);
  io.exitCode = exitCodeOf(answer);
  if (flags.json === true) io.out(JSON.stringify(answer, null, 2));
  else printInbox(answer, io);
}

function printInbox(answer: unknown, io: CliIo): void {
  if (!isRecord(answer) || !Array.isArray(answer['messages'])) {
    const error = isRecord(answer) ? asText(answer['error']) : 'the gateway sent no inbox';
    io.note(`trunkline: ${printable(error)}`);
    return;
  }
  const notes = Array.isArray(answer['notes']) ? answer['notes'].filter(isRecord) : [];
  for (const note of notes) print(`note from ${senderOf(note)}`, { text: note['text'], io });
  const [message] = answer['messages'].filter(isRecord);
  if (message !== undefined) {
    const head = `message ${asText(message['messageId'])} from ${senderOf(message)}`;
    print(head, { text: message['text'], io });
  }
  if (isRecord(answer['replied'])) io.note(`answered ${asText(answer['replied']['messageId'])}`);
  if (message === undefined && notes.length === 0) io.note('nothing waits');
  if (answer['hasMoreNotes'] === true) io.note('there are more notes; look again');
  if (Number(answer['waiting']) > 0) io.note(`${asText(answer['waiting'])} more wait`);
}

function print(head: string, { text, io }: { text: unknown; io: CliIo }): void {
  io.out(printable(head));
  for (const line of printable(asText(text)).split('\n')) io.out(`  ${line}`);
}

function senderOf({ from }: Record<string, unknown>): string {
  if (!isRecord(from)) return '?';
  return from['kind'] === 'session' ? asText(from['sessionKey']) : `the ${asText(from['kind'])}`;
}

import type { Command } from 'commander';
import type { CliIo } from '../cli-io.ts';
import { addClientOptions, withGateway } from '../client-options.ts';
import type { ClientFlags } from '../client-options.ts';
import { exitCodeOf, givenArgs, invokeTool } from '../invoke-tool.ts';
import { formatMessage } from '../output/format-message.ts';
import { asText, isRecord } from '../output/json-value.ts';
import { oneLine, printable } from '../output/printable.ts';
import { parseCount } from '../parse-argument.ts';

interface HistoryFlags extends ClientFlags {
  as?: string;
  limit?: number;
  tools?: boolean;
}

const MAX_PENDING_TEXT = 100;

export function defineSessionsHistory(command: Command, io: CliIo): void {
  command
    .summary('print the transcript of a session')
    .description('Prints the transcript of a session, the oldest message first.')
    .argument('<key>', 'session key or sessionId; "main" for the main session')
    .option('--as <key>', 'act as this session')
    .option('--limit <count>', 'newest messages at most', parseCount)
    .option('--tools', 'with the results of tool calls');
  addClientOptions(command).action((key: string, flags: HistoryFlags) =>
    readHistory(key, { flags, io }),
  );
}

async function readHistory(
  sessionKey: string,
  { flags, io }: { flags: HistoryFlags; io: CliIo },
): Promise<void> {
  const context = { flags, io };
  const { limit, tools: includeTools } = flags;
  const answer =
    flags.as === undefined
      ? await withGateway(context, (client) =>
          client.request('chat.history', givenArgs({ sessionKey, limit })),
        )
      : await invokeTool(context, {
          tool: 'sessions_history',
          args: givenArgs({ sessionKey, limit, includeTools }),
          sessionKey: flags.as,
        });
  io.exitCode = exitCodeOf(answer);
  if (flags.json === true) io.out(JSON.stringify(answer, null, 2));
  else printHistory(answer, { io, withTools: includeTools === true });
}

function printHistory(answer: unknown, { io, withTools }: { io: CliIo; withTools: boolean }): void {
  if (!isRecord(answer) || !Array.isArray(answer['messages'])) {
    const error = isRecord(answer) ? asText(answer['error']) : 'the gateway sent no history';
    io.note(`trunkline: ${printable(error)}`);
    return;
  }
  const messages = answer['messages'].filter(isRecord);
  const shown = messages.filter((message) => withTools || message['role'] !== 'toolResult');
  if (shown.length === 0) io.note('no messages');
  for (const message of shown) io.out(formatMessage(message).join('\n'));
  const pending = Array.isArray(answer['pending']) ? answer['pending'].filter(isRecord) : [];
  for (const { message, runId } of pending) {
    io.out(`(waiting) ${oneLine(asText(message), MAX_PENDING_TEXT)}  run ${asText(runId)}`);
  }
  if (answer['hasMore'] === true) io.note('older messages exist; use --limit');
}

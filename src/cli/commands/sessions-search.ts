import type { Command } from 'commander';
import type { CliIo } from '../cli-io.ts';
import { addClientOptions, withGateway } from '../client-options.ts';
import type { ClientFlags } from '../client-options.ts';
import { exitCodeOf, givenArgs, invokeTool } from '../invoke-tool.ts';
import { asText, isRecord } from '../output/json-value.ts';
import { printable } from '../output/printable.ts';
import { parseCount } from '../parse-argument.ts';

interface SearchFlags extends ClientFlags {
  as?: string;
  session?: string;
  limit?: number;
  cursor?: string;
}

export function defineSessionsSearch(command: Command, io: CliIo): void {
  command
    .summary('find messages by their words')
    .description('Finds messages that have all of the words, the newest first.')
    .argument('<query...>', 'words, "a phrase", or the beginning of a word with a star: begin*')
    .option('--as <key>', 'act as this session')
    .option('--session <key>', 'only this session, an archived one too')
    .option('--limit <count>', 'messages at most', parseCount)
    .option('--cursor <cursor>', 'go on where the page before ended');
  addClientOptions(command).action((words: string[], flags: SearchFlags) =>
    search(words.join(' '), { flags, io }),
  );
}

async function search(
  query: string,
  { flags, io }: { flags: SearchFlags; io: CliIo },
): Promise<void> {
  const context = { flags, io };
  const { session: sessionKey, limit, cursor } = flags;
  const args = givenArgs({ query, sessionKey, limit, cursor });
  const answer =
    flags.as === undefined
      ? await withGateway(context, (client) => client.request('sessions.search', args))
      : await invokeTool(context, { tool: 'sessions_search', args, sessionKey: flags.as });
  io.exitCode = exitCodeOf(answer);
  if (flags.json === true) io.out(JSON.stringify(answer, null, 2));
  else printHits(answer, io);
}

function printHits(answer: unknown, io: CliIo): void {
  if (!isRecord(answer) || !Array.isArray(answer['hits'])) {
    const error = isRecord(answer) ? asText(answer['error']) : 'the gateway sent no hits';
    io.note(`trunkline: ${printable(error)}`);
    return;
  }
  const hits = answer['hits'].filter(isRecord);
  if (hits.length === 0) io.note('nothing found');
  for (const hit of hits) {
    const { sessionKey, sessionId, seq, role, snippet } = hit;
    io.out(
      `${printable(asText(sessionKey))}  ${asText(role)} ${asText(seq)} of ${printable(asText(sessionId))}`,
    );
    io.out(`  ${printable(asText(snippet))}`);
  }
  if (answer['hasMore'] === true)
    io.note(`there are more; --cursor ${asText(answer['nextCursor'])}`);
}

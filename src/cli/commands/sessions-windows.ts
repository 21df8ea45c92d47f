import type { Command } from 'commander';
import type { CliIo } from '../cli-io.ts';
import { addClientOptions, withGateway } from '../client-options.ts';
import type { ClientFlags } from '../client-options.ts';
import { givenArgs } from '../invoke-tool.ts';
import { formatTime } from '../output/format-age.ts';
import { formatTable } from '../output/format-table.ts';
import { asText, isRecord } from '../output/json-value.ts';
import { parseCount } from '../parse-argument.ts';

interface WindowsFlags extends ClientFlags {
  limit?: number;
  cursor?: string;
}

export function defineSessionsWindows(command: Command, io: CliIo): void {
  command
    .summary('list the transcripts of a session')
    .description('Lists every transcript that a session has had, the newest first.')
    .argument('<key>', 'session key or sessionId; "main" for the main session')
    .option('--limit <count>', 'rows at most; the gateway clamps it', parseCount)
    .option('--cursor <cursor>', 'go on where the page before ended');
  addClientOptions(command).action((key: string, flags: WindowsFlags) =>
    listWindows(key, { flags, io }),
  );
}

async function listWindows(
  key: string,
  { flags, io }: { flags: WindowsFlags; io: CliIo },
): Promise<void> {
  const params = givenArgs({ key, limit: flags.limit, cursor: flags.cursor });
  const answer = await withGateway({ flags, io }, (client) =>
    client.request('sessions.windows', params),
  );
  if (flags.json === true) return io.out(JSON.stringify(answer, null, 2));
  const rows = Array.isArray(answer['windows']) ? answer['windows'].filter(isRecord) : [];
  const lines = formatTable(rows, [
    { title: 'SESSION ID', value: (row) => asText(row['sessionId']) },
    { title: 'STARTED', value: (row) => formatTime(row['startedAt']) },
    { title: 'ENDED', value: (row) => formatTime(row['endedAt']) },
    { title: 'DELETED', value: (row) => formatTime(row['deletedAt']) },
    { title: 'ENTRIES', value: (row) => asText(row['entries']), align: 'right' },
  ]);
  for (const line of lines) io.out(line);
  if (answer['hasMore'] === true) io.note(`more: --cursor ${asText(answer['nextCursor'])}`);
}

import type { Command } from 'commander';
import type { CliIo } from '../cli-io.ts';
import { addClientOptions, withGateway } from '../client-options.ts';
import type { ClientFlags } from '../client-options.ts';
import { givenArgs } from '../invoke-tool.ts';
import { formatAge } from '../output/format-age.ts';
import { formatTable } from '../output/format-table.ts';
import type { Column } from '../output/format-table.ts';
import { asText, isRecord } from '../output/json-value.ts';
import { parseCount } from '../parse-argument.ts';

interface ListFlags extends ClientFlags {
  limit?: number;
  cursor?: string;
}
type Row = Record<string, unknown>;

export function defineExchangesList(command: Command, io: CliIo): void {
  command
    .summary('list the exchanges of a session')
    .description('Lists the exchanges of a session, on either side, the newest first.')
    .argument('<session>', 'session key or sessionId')
    .option('--limit <count>', 'rows at most; the gateway clamps it', parseCount)
    .option('--cursor <cursor>', 'go on where the page before ended');
  addClientOptions(command).action((sessionKey: string, flags: ListFlags) =>
    listExchanges(sessionKey, { flags, io }),
  );
}

async function listExchanges(
  sessionKey: string,
  { flags, io }: { flags: ListFlags; io: CliIo },
): Promise<void> {
  const params = givenArgs({ sessionKey, limit: flags.limit, cursor: flags.cursor });
  const page = await withGateway({ flags, io }, (client) =>
    client.request('exchanges.list', params),
  );
  if (flags.json === true) return io.out(JSON.stringify(page, null, 2));
  const rows = Array.isArray(page['exchanges']) ? page['exchanges'].filter(isRecord) : [];
  if (rows.length === 0) io.note('no exchanges');
  else for (const line of formatTable(rows, columns(Date.now()), io.width)) io.out(line);
  if (page['hasMore'] === true) io.note(`more: --cursor ${asText(page['nextCursor'])}`);
}

function columns(now: number): Column<Row>[] {
  return [
    { title: 'EXCHANGE', value: (row) => asText(row['exchangeId']) },
    { title: 'REQUESTER', value: (row) => asText(row['requesterKey']) },
    { title: 'TARGET', value: (row) => asText(row['targetKey']) },
    { title: 'STATE', value: (row) => asText(row['state']) },
    { title: 'END', value: (row) => asText(row['endReason']) },
    {
      title: 'TURNS',
      value: (row) => `${asText(row['turns'])}/${asText(row['maxTurns'])}`,
      align: 'right',
    },
    { title: 'BEGAN', value: ({ createdAt }) => formatAge(createdAt, now), align: 'right' },
  ];
}

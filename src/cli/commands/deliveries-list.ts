import type { Command } from 'commander';
import type { CliIo } from '../cli-io.ts';
import { addClientOptions, withGateway } from '../client-options.ts';
import type { ClientFlags } from '../client-options.ts';
import { givenArgs } from '../invoke-tool.ts';
import { formatAge } from '../output/format-age.ts';
import { formatTable } from '../output/format-table.ts';
import type { Column } from '../output/format-table.ts';
import { asText, isRecord } from '../output/json-value.ts';
import { printable } from '../output/printable.ts';
import { parseCount } from '../parse-argument.ts';

interface ListFlags extends ClientFlags {
  state?: string[];
  session?: string;
  route?: string;
  limit?: number;
  cursor?: string;
}
type Row = Record<string, unknown>;

export function defineDeliveriesList(command: Command, io: CliIo): void {
  command
    .summary('list texts on their way to a chat')
    .description(
      'Lists parts of outgoing texts, the newest first: those that are stuck (failed, unknown,\n' +
        'retrying), or all of one session or chat.',
    )
    .option(
      '--state <state...>',
      'queued, sending, sent, failed, unknown, suppressed, dropped or retrying',
    )
    .option('--session <key>', 'only what this session was to get')
    .option('--route <key>', 'only what this chat was to get: routeKey of a row (--json)')
    .option('--limit <count>', 'rows at most; the gateway clamps it', parseCount)
    .option('--cursor <cursor>', 'go on where the page before ended');
  addClientOptions(command).action((flags: ListFlags) => listDeliveries(flags, io));
}

async function listDeliveries(flags: ListFlags, io: CliIo): Promise<void> {
  const params = givenArgs({
    states: flags.state,
    sessionKey: flags.session,
    routeKey: flags.route,
    limit: flags.limit,
    cursor: flags.cursor,
  });
  const page = await withGateway({ flags, io }, (client) =>
    client.request('deliveries.list', params),
  );
  if (flags.json === true) return io.out(JSON.stringify(page, null, 2));
  const rows = Array.isArray(page['deliveries']) ? page['deliveries'].filter(isRecord) : [];
  if (rows.length === 0) io.note('no deliveries');
  else for (const line of linesOf(rows)) io.out(line);
  if (page['hasMore'] === true) io.note(`more: --cursor ${asText(page['nextCursor'])}`);
}

/** Each with its whole id at the end: it is what the other commands take. */
function linesOf(rows: readonly Row[]): string[] {
  const ids = ['DELIVERY', ...rows.map((row) => printable(asText(row['deliveryId'])))];
  const lines = formatTable(rows, columns(Date.now()));
  const width = Math.max(...lines.map((line) => Array.from(line).length));
  return lines.map((line, at) => {
    const gap = ' '.repeat(width - Array.from(line).length + 2);
    return `${line}${gap}${ids[at] ?? ''}`;
  });
}

function columns(now: number): Column<Row>[] {
  return [
    { title: 'STATE', value: (row) => asText(row['state']) },
    { title: 'CHANNEL', value: (row) => asText(row['channel']) },
    { title: 'TO', value: (row) => asText(row['to']) },
    { title: 'TRIES', value: (row) => asText(row['attempts']), align: 'right' },
    { title: 'AGE', value: ({ createdAt }) => formatAge(createdAt, now), align: 'right' },
    { title: 'REASON', value: (row) => asText(row['reason']) },
  ];
}

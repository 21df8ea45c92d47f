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
  session?: string;
  state?: string;
  limit?: number;
  cursor?: string;
}
type Row = Record<string, unknown>;

export function defineRunsList(command: Command, io: CliIo): void {
  command
    .summary('list runs')
    .description('Lists runs, the newest first.')
    .option('--session <key>', 'only runs of this session')
    .option('--state <state>', 'queued, running, waiting, ok, error, timeout or aborted')
    .option('--limit <count>', 'rows at most; the gateway clamps it', parseCount)
    .option('--cursor <cursor>', 'go on where the page before ended');
  addClientOptions(command).action((flags: ListFlags) => listRuns(flags, io));
}

async function listRuns(flags: ListFlags, io: CliIo): Promise<void> {
  const params = givenArgs({
    sessionKey: flags.session,
    state: flags.state,
    limit: flags.limit,
    cursor: flags.cursor,
  });
  const page = await withGateway({ flags, io }, (client) => client.request('runs.list', params));
  if (flags.json === true) return io.out(JSON.stringify(page, null, 2));
  const runs = Array.isArray(page['runs']) ? page['runs'].filter(isRecord) : [];
  if (runs.length === 0) io.note('no runs');
  else for (const line of formatTable(runs, columns(Date.now()), io.width)) io.out(line);
  if (page['hasMore'] === true) io.note(`more: --cursor ${asText(page['nextCursor'])}`);
}

function columns(now: number): Column<Row>[] {
  return [
    { title: 'RUN', value: (run) => asText(run['runId']) },
    { title: 'SESSION', value: (run) => asText(run['sessionKey']) },
    { title: 'STATE', value: (run) => asText(run['outcome'] ?? run['messageState']) },
    { title: 'FOR', value: (run) => asText(run['purpose']) },
    { title: 'ACCEPTED', value: ({ acceptedAt }) => formatAge(acceptedAt, now), align: 'right' },
  ];
}

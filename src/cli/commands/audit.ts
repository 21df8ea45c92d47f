import type { Command } from 'commander';
import type { CliIo } from '../cli-io.ts';
import { addClientOptions, withGateway } from '../client-options.ts';
import type { ClientFlags } from '../client-options.ts';
import { givenArgs } from '../invoke-tool.ts';
import { formatTime } from '../output/format-age.ts';
import { formatTable } from '../output/format-table.ts';
import type { Column } from '../output/format-table.ts';
import { asText, isRecord } from '../output/json-value.ts';
import { parseCount } from '../parse-argument.ts';

interface AuditFlags extends ClientFlags {
  action?: string;
  session?: string;
  actor?: string;
  limit?: number;
  cursor?: string;
}
type Row = Record<string, unknown>;

export function defineAudit(command: Command, io: CliIo): void {
  command
    .description('Shows what was changed by hand, the newest first: when, who, what, on what.')
    .option('--action <method>', 'only this change, such as sessions.delete')
    .option('--session <key>', 'only what was done to this session')
    .option('--actor <name>', 'only what this one did: operator, or a device')
    .option('--limit <count>', 'rows at most; the gateway clamps it', parseCount)
    .option('--cursor <cursor>', 'go on where the page before ended');
  addClientOptions(command).action((flags: AuditFlags) => listAudit(flags, io));
}

async function listAudit(flags: AuditFlags, io: CliIo): Promise<void> {
  const params = givenArgs({
    action: flags.action,
    sessionKey: flags.session,
    actor: flags.actor,
    limit: flags.limit,
    cursor: flags.cursor,
  });
  const page = await withGateway({ flags, io }, (client) => client.request('audit.list', params));
  if (flags.json === true) return io.out(JSON.stringify(page, null, 2));
  const lines = Array.isArray(page['lines']) ? page['lines'].filter(isRecord) : [];
  if (lines.length === 0) io.note('nothing was changed by hand');
  else for (const line of formatTable(lines, COLUMNS, io.width)) io.out(line);
  if (page['hasMore'] === true) io.note(`more: --cursor ${asText(page['nextCursor'])}`);
}

const COLUMNS: Column<Row>[] = [
  { title: 'WHEN', value: ({ at }) => formatTime(at) },
  { title: 'WHO', value: (line) => asText(line['actor']) },
  { title: 'DID', value: (line) => asText(line['action']) },
  {
    title: 'TO',
    value: ({ subjectKind, subjectId }) => `${asText(subjectKind)} ${asText(subjectId)}`,
  },
  { title: 'DETAIL', value: ({ detail }) => detailOf(detail) },
];

function detailOf(detail: unknown): string {
  if (!isRecord(detail)) return '';
  return Object.entries(detail)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}=${asText(value)}`)
    .join(' ');
}

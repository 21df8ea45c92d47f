import type { Command } from 'commander';
import type { CliIo } from '../cli-io.ts';
import { addClientOptions, withGateway } from '../client-options.ts';
import type { ClientFlags } from '../client-options.ts';
import { exitCodeOf, givenArgs, invokeTool } from '../invoke-tool.ts';
import { formatAge } from '../output/format-age.ts';
import { formatTable } from '../output/format-table.ts';
import type { Column } from '../output/format-table.ts';
import { asText, isRecord } from '../output/json-value.ts';
import { printable } from '../output/printable.ts';
import { collect, parseCount, parseDuration } from '../parse-argument.ts';

interface ListFlags extends ClientFlags {
  as?: string;
  limit?: number;
  cursor?: string;
  kind?: string[];
  active?: number;
  messages?: number;
  agent?: string;
  label?: string;
  search?: string;
  spawnedBy?: string;
  state?: string;
  archived?: boolean;
}
type Row = Record<string, unknown>;

export function defineSessionsList(command: Command, io: CliIo): void {
  command
    .summary('list sessions')
    .description('Lists sessions, the newest first.')
    .option('--as <key>', 'act as this session')
    .option('--limit <count>', 'rows at most; the gateway clamps it', parseCount)
    .option('--cursor <cursor>', 'go on where the page before ended')
    .option('--kind <kind>', 'main, group, cron, hook, node or other; may be repeated', collect)
    .option('--active <minutes>', 'only sessions that changed since then', parseDuration)
    .option('--messages <count>', 'with the last messages of each; implies --json', parseCount)
    .option('--agent <id>', 'only sessions of this agent')
    .option('--label <label>', 'only sessions with this label')
    .option('--search <text>', 'only sessions whose key, label or name holds the text')
    .option('--spawned-by <key>', 'only what this session spawned')
    .option('--state <state>', 'idle, queued, running or waiting')
    .option('--archived', 'the archived sessions instead');
  addClientOptions(command).action((flags: ListFlags) => listSessions(flags, io));
}

async function listSessions(flags: ListFlags, io: CliIo): Promise<void> {
  const args = givenArgs({
    limit: flags.limit,
    cursor: flags.cursor,
    kinds: flags.kind,
    activeMinutes: flags.active,
    messageLimit: flags.messages,
    agentId: flags.agent,
    label: flags.label,
    search: flags.search,
    spawnedBy: flags.spawnedBy,
    state: flags.state,
    archived: flags.archived,
  });
  const context = { flags, io };
  const answer =
    flags.as === undefined
      ? await withGateway(context, (client) => client.request('sessions.list', args))
      : await invokeTool(context, { tool: 'sessions_list', args, sessionKey: flags.as });
  io.exitCode = exitCodeOf(answer);
  if (flags.json === true || flags.messages !== undefined) io.out(JSON.stringify(answer, null, 2));
  else printPage(answer, io);
}

function printPage(answer: unknown, io: CliIo): void {
  if (!isRecord(answer) || !Array.isArray(answer['sessions'])) {
    const error = isRecord(answer) ? asText(answer['error']) : 'the gateway sent no list';
    io.note(`trunkline: ${printable(error)}`);
    return;
  }
  const rows = answer['sessions'].filter(isRecord);
  if (rows.length === 0) io.note('no sessions');
  else for (const line of formatTable(rows, columns(Date.now()), io.width)) io.out(line);
  if (answer['hasMore'] === true) io.note(`more: --cursor ${asText(answer['nextCursor'])}`);
  const visibility = answer['visibility'];
  if (isRecord(visibility) && visibility['restricted'] === true) {
    io.note(`only what visibility "${asText(visibility['mode'])}" shows this session`);
  }
}

function columns(now: number): Column<Row>[] {
  const text = (name: string): Column<Row>['value'] => {
    return (row) => (typeof row[name] === 'string' ? row[name] : '');
  };
  return [
    { title: 'KEY', value: text('key') },
    { title: 'LABEL', value: (row) => text('label')(row) || text('displayName')(row) },
    { title: 'KIND', value: text('kind') },
    { title: 'CHANNEL', value: text('channel') },
    { title: 'STATE', value: text('state') },
    { title: 'MODEL', value: text('model') },
    { title: 'TOKENS', value: (row) => count(row['totalTokens']), align: 'right' },
    { title: 'UPDATED', value: ({ updatedAt }) => formatAge(updatedAt, now), align: 'right' },
  ];
}

function count(value: unknown): string {
  return typeof value === 'number' ? String(value) : '';
}

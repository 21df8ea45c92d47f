import { type Command, Option } from 'commander';
import type { CliIo } from '../cli-io.ts';
import { addClientOptions, withGateway } from '../client-options.ts';
import type { ClientFlags } from '../client-options.ts';
import { givenArgs } from '../invoke-tool.ts';
import { formatTable } from '../output/format-table.ts';
import type { Column } from '../output/format-table.ts';
import { asText, isRecord } from '../output/json-value.ts';
import { parseCount } from '../parse-argument.ts';

interface UsageFlags extends ClientFlags {
  session?: string;
  run?: string;
  tree?: boolean;
  since?: string;
  until?: string;
  by?: string;
  limit?: number;
  cursor?: string;
}
type Row = Record<string, unknown>;

export function defineUsage(command: Command, io: CliIo): void {
  command
    .description(
      'Shows tokens and cost: of the last 30 days, of a run, of a session, or of a session with all that\n' +
        'it spawned. Days are days of UTC.',
    )
    .option('--session <key>', 'of this session')
    .option('--tree', 'and of everything below it')
    .option('--run <run-id>', 'of this run, by model')
    .option('--since <day>', 'first day, YYYY-MM-DD')
    .option('--until <day>', 'last day, YYYY-MM-DD')
    .addOption(new Option('--by <what>', 'in groups').choices(['session', 'agent', 'model', 'day']))
    .option('--limit <count>', 'groups at most; the gateway clamps it', parseCount)
    .option('--cursor <cursor>', 'go on where the page before ended')
    .addHelpText(
      'after',
      '\nA cost with ≥ is a part of it: a model has no prices (models.providers.*.models[].cost), or nobody\n' +
        'knows what a call used, because it was interrupted or the model did not say.',
    );
  addClientOptions(command).action((flags: UsageFlags) => showUsage(flags, io));
}

async function showUsage(flags: UsageFlags, io: CliIo): Promise<void> {
  const params = givenArgs({
    sessionKey: flags.session,
    runId: flags.run,
    tree: flags.tree,
    since: flags.since,
    until: flags.until,
    by: flags.by,
    limit: flags.limit,
    cursor: flags.cursor,
  });
  const usage = await withGateway({ flags, io }, (client) => client.request('usage', params));
  if (flags.json === true) return io.out(JSON.stringify(usage, null, 2));
  const groups = Array.isArray(usage['groups']) ? usage['groups'].filter(isRecord) : [];
  const total = isRecord(usage['total']) ? [{ key: 'total', ...usage['total'] }] : [];
  for (const line of formatTable([...groups, ...total], COLUMNS, io.width)) io.out(line);
  const budgets = Array.isArray(usage['budgets']) ? usage['budgets'].filter(isRecord) : [];
  for (const budget of budgets) io.out(budgetLine(budget));
  if (usage['mergedInto'] !== undefined) {
    io.note(`counted in the run that took it in: ${asText(usage['mergedInto'])}`);
  }
  if (usage['hasMore'] === true) io.note(`more: --cursor ${asText(usage['nextCursor'])}`);
}

/** One line a budget: what is spent of each limit, and what is left. */
function budgetLine({ sessionKey, limits, spent, rest }: Row): string {
  const amounts = (of: unknown): Row => (isRecord(of) ? of : {});
  const parts = Object.entries(amounts(limits)).map(([kind, limit]) => {
    const used = asText(amounts(spent)[kind]);
    return `${kind} ${used} of ${asText(limit)} (${asText(amounts(rest)[kind])} left)`;
  });
  return `budget of ${asText(sessionKey)}: ${parts.join(', ')}`;
}

const count = (title: string, name: string): Column<Row> => ({
  title,
  value: (row) => asText(row[name]),
  align: 'right',
});

const COLUMNS: Column<Row>[] = [
  { title: 'OF', value: (row) => asText(row['key']) },
  count('CALLS', 'calls'),
  count('INPUT', 'inputTokens'),
  count('OUTPUT', 'outputTokens'),
  count('CACHE READ', 'cacheReadTokens'),
  count('CACHE WRITE', 'cacheWriteTokens'),
  count('TOTAL', 'totalTokens'),
  { title: 'COST', value: costOf, align: 'right' },
  { title: 'UNKNOWN', value: (row) => whereAny(row['unknownCalls']), align: 'right' },
  { title: 'UNPRICED', value: (row) => whereAny(row['unpricedCalls']), align: 'right' },
];

/** Nothing known is a dash, and never a zero. */
function costOf({ costUsd, priced, unknownCalls }: Row): string {
  if (typeof costUsd !== 'number') return '–';
  const isPart = priced === false || unknownCalls !== 0;
  return `${isPart ? '≥ ' : ''}$${costUsd.toFixed(costUsd > 0 && costUsd < 0.01 ? 6 : 2)}`;
}

function whereAny(calls: unknown): string {
  return calls === 0 ? '' : asText(calls);
}

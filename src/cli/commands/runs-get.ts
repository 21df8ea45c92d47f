import type { Command } from 'commander';
import type { CliIo } from '../cli-io.ts';
import { addClientOptions, withGateway } from '../client-options.ts';
import type { ClientFlags } from '../client-options.ts';
import { asText, isRecord } from '../output/json-value.ts';
import { printable } from '../output/printable.ts';

export function defineRunsGet(command: Command, io: CliIo): void {
  command
    .summary('show a run')
    .description('Shows where a run is, how it ended and what it answered.')
    .argument('<run-id>', 'runId of an accepted message');
  addClientOptions(command).action((runId: string, flags: ClientFlags) =>
    getRun(runId, { flags, io }),
  );
}

async function getRun(
  runId: string,
  { flags, io }: { flags: ClientFlags; io: CliIo },
): Promise<void> {
  const run = await withGateway({ flags, io }, (client) => client.request('runs.get', { runId }));
  if (flags.json === true) return io.out(JSON.stringify(run, null, 2));
  for (const [name, value] of Object.entries(run)) {
    if (name !== 'reply') io.out(`${name.padEnd(14)}${printable(toText(name, value))}`);
  }
  if (typeof run['reply'] === 'string' && run['reply'] !== '')
    io.out(`\n${printable(run['reply'])}`);
}

function toText(name: string, value: unknown): string {
  if (typeof value === 'number' && name.endsWith('At')) return new Date(value).toISOString();
  return isRecord(value) ? JSON.stringify(value) : asText(value);
}

import type { Command } from 'commander';
import type { CliIo } from '../cli-io.ts';
import { addClientOptions, withGateway } from '../client-options.ts';
import type { ClientFlags } from '../client-options.ts';
import { formatAge } from '../output/format-age.ts';
import { formatTable } from '../output/format-table.ts';
import type { Column } from '../output/format-table.ts';
import { asText, isRecord } from '../output/json-value.ts';

type Row = Record<string, unknown>;

export function defineDevicesList(command: Command, io: CliIo): void {
  command
    .summary('list devices and what waits for approval')
    .description('Lists the devices that ask to be let in, and those that were.');
  addClientOptions(command).action((flags: ClientFlags) => listDevices(flags, io));
}

async function listDevices(flags: ClientFlags, io: CliIo): Promise<void> {
  const { pending, devices } = await withGateway({ flags, io }, async (client) => ({
    pending: (await client.call('device.pair.list')).pending,
    devices: (await client.call('device.list')).devices,
  }));
  if (flags.json === true) return io.out(JSON.stringify({ pending, devices }, null, 2));
  const [asking, known] = [rowsOf(pending), rowsOf(devices)];
  const now = Date.now();
  if (asking.length > 0) {
    io.out('waiting for approval:');
    for (const line of formatTable(asking, pendingColumns(now), io.width)) io.out(line);
  }
  if (known.length === 0) return io.note('no devices');
  for (const line of formatTable(known, deviceColumns(now), io.width)) io.out(line);
}

function rowsOf(value: unknown): Row[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

function pendingColumns(now: number): Column<Row>[] {
  return [
    { title: 'REQUEST', value: (row) => asText(row['requestId']) },
    { title: 'NAME', value: (row) => asText(row['name']) },
    { title: 'FROM', value: (row) => asText(row['address']) },
    { title: 'ASKS FOR', value: scopesOf },
    { title: 'ASKED', value: ({ ts }) => formatAge(ts, now), align: 'right' },
  ];
}

function deviceColumns(now: number): Column<Row>[] {
  return [
    { title: 'DEVICE', value: (row) => asText(row['deviceId']) },
    { title: 'NAME', value: (row) => asText(row['name']) },
    { title: 'SCOPES', value: scopesOf },
    { title: 'STATE', value: (row) => (row['revokedAt'] === undefined ? 'approved' : 'revoked') },
    { title: 'SEEN', value: ({ lastSeenAt }) => formatAge(lastSeenAt, now), align: 'right' },
  ];
}

function scopesOf({ scopes }: Row): string {
  return Array.isArray(scopes)
    ? scopes.map((scope) => asText(scope).replace('operator.', '')).join(' ')
    : '';
}

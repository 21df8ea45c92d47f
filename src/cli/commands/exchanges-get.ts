import type { Command } from 'commander';
import type { GatewayClient } from '../../client/gateway-client.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { CliIo } from '../cli-io.ts';
import { addClientOptions, withGateway } from '../client-options.ts';
import type { ClientFlags } from '../client-options.ts';
import { asText, isRecord } from '../output/json-value.ts';
import { printable } from '../output/printable.ts';

type Row = Record<string, unknown>;

export function defineExchangesGet(command: Command, io: CliIo): void {
  command
    .summary('show an exchange')
    .description('Shows who said what, why it ended, and what became of its announce.')
    .argument('<id>', 'id of the exchange, or the runId of one of its turns');
  addClientOptions(command).action((id: string, flags: ClientFlags) => show(id, { flags, io }));
}

async function show(id: string, { flags, io }: { flags: ClientFlags; io: CliIo }): Promise<void> {
  const exchange = await withGateway({ flags, io }, (client) => getNamed(client, id));
  if (flags.json === true) return io.out(JSON.stringify(exchange, null, 2));
  const field = (name: string, value: unknown): void => {
    if (asText(value) !== '') io.out(`${name.padEnd(12)}${printable(asText(value))}`);
  };
  field('exchange', exchange['exchangeId']);
  field('requester', exchange['requesterKey']);
  field('target', exchange['targetKey']);
  field('state', exchange['state']);
  field('end', exchange['endReason']);
  field('detail', exchange['endDetail']);
  field('turns', `${asText(exchange['turns'])} of ${asText(exchange['maxTurns'])}`);
  field('announce', announceLine(exchange['announce']));
  io.out(`\n${printable(asText(exchange['requesterKey']))}:`);
  tell(io, exchange['request']);
  for (const turn of rowsOf(exchange['said'])) {
    io.out(`${printable(asText(turn['speakerKey']))} (${turnLine(turn)}):`);
    tell(io, turn);
  }
}

/** The two kinds of ids look alike, so both are tried. */
async function getNamed(client: GatewayClient, id: string): Promise<Row> {
  try {
    return await client.request('exchanges.get', { exchangeId: id });
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'not_found') throw error;
    return client.request('exchanges.get', { runId: id });
  }
}

function announceLine(announce: unknown): string {
  if (!isRecord(announce)) return '';
  const { state, channel, reason } = announce;
  const where = channel === undefined ? '' : ` (${asText(channel)})`;
  return `${asText(state)}${where}${reason === undefined ? '' : `: ${asText(reason)}`}`;
}

function turnLine({ round, outcome, messageState, error }: Row): string {
  const why = error === undefined ? '' : `: ${printable(asText(error))}`;
  return `round ${asText(round)}, ${asText(outcome ?? messageState)}${why}`;
}

function tell(io: CliIo, said: unknown): void {
  if (!isRecord(said)) return;
  const { text, textCut } = said;
  if (text !== '') io.out(`  ${printable(asText(text)).replaceAll('\n', '\n  ')}`);
  if (textCut === true) io.out('  …');
}

function rowsOf(value: unknown): Row[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

import type { Command } from 'commander';
import type { CliIo } from '../cli-io.ts';
import { addClientOptions, withGateway } from '../client-options.ts';
import type { ClientFlags } from '../client-options.ts';
import { printable } from '../output/printable.ts';

export function defineDeliveriesRetry(command: Command, io: CliIo): void {
  command
    .summary('hand a stuck text over again')
    .description(
      'Hands a failed or unknown delivery to its channel again, with fresh attempts, and what it held ' +
        'back of its text. One that waits for its next attempt is tried now. An unknown one may be in ' +
        'the chat already: this is the only way to show a text twice.',
    )
    .argument('<delivery-id>', 'from `deliveries list`');
  addClientOptions(command).action((deliveryId: string, flags: ClientFlags) =>
    change('deliveries.retry', { deliveryId, flags, io }),
  );
}

export function defineDeliveriesDrop(command: Command, io: CliIo): void {
  command
    .summary('give a stuck text up')
    .description(
      'Gives a delivery up for good, and what it held back of its text. It stays listed as dropped.',
    )
    .argument('<delivery-id>', 'from `deliveries list`');
  addClientOptions(command).action((deliveryId: string, flags: ClientFlags) =>
    change('deliveries.drop', { deliveryId, flags, io }),
  );
}

async function change(
  method: 'deliveries.retry' | 'deliveries.drop',
  { deliveryId, flags, io }: { deliveryId: string; flags: ClientFlags; io: CliIo },
): Promise<void> {
  const answer = await withGateway({ flags, io }, (client) => client.call(method, { deliveryId }));
  if (flags.json === true) return io.out(JSON.stringify(answer, null, 2));
  const { deliveryIds, state, note } = answer;
  for (const id of deliveryIds) io.out(`${state}: ${printable(id)}`);
  if (note !== undefined) io.note(printable(note));
}

import type { Command } from 'commander';
import type { CliIo } from '../cli-io.ts';
import { addClientOptions, withGateway } from '../client-options.ts';
import type { ClientFlags } from '../client-options.ts';
import { parseJsonObject } from '../parse-argument.ts';

export function defineCall(command: Command, io: CliIo): void {
  command
    .description(
      'Calls a method of the gateway as the operator and prints the JSON of its answer;\n' +
        'of the two answers of "agent" the last.',
    )
    .argument('<method>', 'name of the method, such as status or sessions.list')
    .argument(
      '[json]',
      'its parameters as a JSON object; - reads them from stdin',
      parseJsonObject,
    );
  addClientOptions(command).action(
    async (method: string, params: Record<string, unknown> | undefined, flags: ClientFlags) => {
      const answer = await withGateway({ flags, io }, (client) =>
        method === 'agent'
          ? client.runAgent(params ?? {})
          : client.request<unknown>(method, params ?? {}),
      );
      io.out(JSON.stringify(answer, null, 2));
    },
  );
}

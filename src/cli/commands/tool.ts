import type { Command } from 'commander';
import type { CliIo } from '../cli-io.ts';
import { addClientOptions } from '../client-options.ts';
import type { ClientFlags } from '../client-options.ts';
import { exitCodeOf, invokeTool } from '../invoke-tool.ts';
import { parseJsonObject } from '../parse-argument.ts';

interface ToolFlags extends ClientFlags {
  as: string;
  idempotencyKey?: string;
}

export function defineTool(command: Command, io: CliIo): void {
  command
    .description(
      'Calls a tool as a session and prints its JSON answer.\n' +
        'The access rules and the tool policy of that session apply.',
    )
    .argument('<name>', 'name of the tool, such as sessions_list')
    .argument('[json]', 'its arguments as a JSON object; - reads them from stdin', parseJsonObject)
    .requiredOption('--as <key>', 'the session that calls it: key, sessionId or "main"')
    .option('--idempotency-key <key>', 'the same key never has its effect twice');
  addClientOptions(command).action(
    async (tool: string, args: Record<string, unknown> | undefined, flags: ToolFlags) => {
      const { as: sessionKey, idempotencyKey } = flags;
      const answer = await invokeTool(
        { flags, io },
        { tool, args: args ?? {}, sessionKey, idempotencyKey },
      );
      io.exitCode = exitCodeOf(answer);
      io.out(JSON.stringify(answer, null, 2));
    },
  );
}

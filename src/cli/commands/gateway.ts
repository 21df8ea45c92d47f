import type { Command } from 'commander';
import type { CliIo } from '../cli-io.ts';
import { parsePort } from '../parse-argument.ts';
import { serve } from '../serve.ts';

interface GatewayFlags {
  port?: number;
  bind?: string;
  stateDir?: string;
  config?: string;
  json?: boolean;
}

export function defineGateway(command: Command, io: CliIo): void {
  command
    .description(
      'Runs the gateway until it is told to stop (Ctrl-C or SIGTERM).\n' +
        'Prints one line on stdout once it answers; logs go to stderr.',
    )
    .option('--port <number>', 'port to listen on; 0 takes a free one', parsePort)
    .option('--bind <address>', 'address to listen on; loopback when not given')
    .option('--state-dir <dir>', 'where everything is kept; ~/.trunkline when not given')
    .option('--config <file>', 'configuration file; trunkline.json in the state directory')
    .option('--json', 'print the ready line as JSON')
    .action((flags: GatewayFlags) => serve(flags, io));
}

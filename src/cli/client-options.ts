import type { Command } from 'commander';
import { connectGateway } from '../client/gateway-client.ts';
import type { ConnectOptions } from '../client/connect-options.ts';
import type { GatewayClient } from '../client/gateway-client.ts';
import { TRUNKLINE_VERSION } from '../app/version.ts';
import { findGateway } from '../config/find-gateway.ts';
import type { CliIo } from './cli-io.ts';

/** The flags of every command that talks to a running gateway. */
export interface ClientFlags {
  url?: string;
  token?: string;
  stateDir?: string;
  config?: string;
  json?: boolean;
}

/** Adds the flags that say which gateway is meant. */
export function addClientOptions(command: Command): Command {
  return command
    .optionsGroup('Which gateway:')
    .option('--url <address>', 'address of the gateway, such as http://127.0.0.1:18789')
    .option('--token <token>', 'its token; better kept in TRUNKLINE_GATEWAY_TOKEN')
    .option('--state-dir <dir>', 'state directory of the gateway')
    .option('--config <file>', 'configuration file of the gateway')
    .optionsGroup('Output:')
    .option('--json', 'print the answer as JSON')
    .optionsGroup('Options:');
}

/** Returns how to connect to the gateway that the flags and the environment mean. */
export function connectOptions(flags: ClientFlags, io: CliIo): ConnectOptions {
  const place = findGateway({
    url: flags.url,
    token: flags.token,
    stateDir: flags.stateDir,
    configPath: flags.config,
    env: io.env,
  });
  return {
    url: place.url,
    token: place.token,
    password: place.password,
    clientName: 'trunkline-cli',
    clientVersion: TRUNKLINE_VERSION,
    mode: 'cli',
  };
}

/** Connects, lets `use` make its requests, and closes the connection whatever happens. */
export async function withGateway<Result>(
  { flags, io }: { flags: ClientFlags; io: CliIo },
  use: (client: GatewayClient) => Promise<Result>,
): Promise<Result> {
  const client = await connectGateway(connectOptions(flags, io));
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}

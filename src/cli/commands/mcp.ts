import type { Command } from 'commander';
import { TRUNKLINE_VERSION } from '../../app/version.ts';
import type { ConnectOptions } from '../../client/connect-options.ts';
import type { CliIo } from '../cli-io.ts';
import { addClientOptions, connectOptions } from '../client-options.ts';
import type { ClientFlags } from '../client-options.ts';
import { parseDuration } from '../parse-argument.ts';

interface McpFlags extends ClientFlags {
  as?: string;
  maxWait: number;
}

/** A harness keeps its bridge for days: the gateway may start later, somewhere else, or change its token. */
function placeNow({
  flags,
  io,
  place,
}: {
  flags: McpFlags;
  io: CliIo;
  place: ConnectOptions;
}): ConnectOptions {
  try {
    return connectOptions(flags, io);
  } catch {
    // a configuration that is being written, say; the attempt says what is wrong with the old place
    return place;
  }
}

/** Below the limits at which harnesses give a call up, seconds. */
const DEFAULT_MAX_WAIT = 50;

/** Below the limits at which harnesses give up a server that starts, ms. */
const FIRST_PATIENCE_MS = 5000;

export function defineMcp(command: Command, io: CliIo): void {
  command
    .description(
      'Serves the session tools over MCP on stdin and stdout, for a harness that starts it.\n' +
        'Without --as the client gets a session of its own, named after it.',
    )
    .option('--as <key>', 'the session that it acts as: key, sessionId or "main"')
    .option(
      '--max-wait <seconds>',
      'longest wait of one call; then it says how to go on',
      parseDuration,
      DEFAULT_MAX_WAIT,
    );
  addClientOptions(command).action(async (flags: McpFlags) => {
    const [{ createClient }, { createSocketGateway }, { serveMcpStdio }] = await Promise.all([
      import('../../client/create-client.ts'),
      import('../../mcp/socket-gateway.ts'),
      import('../../mcp/serve-mcp-stdio.ts'),
    ]);
    const place = connectOptions(flags, io);
    const client = createClient({
      ...place,
      findPlace: () => placeNow({ flags, io, place }),
      clientName: 'trunkline-mcp',
      firstPatienceMs: FIRST_PATIENCE_MS,
    });
    let told: string | undefined;
    const stopTelling = client.onState((_state, error) => {
      // once, not with each attempt
      if (error !== undefined && error.message !== told) io.note(`trunkline mcp: ${error.message}`);
      told = error?.message;
    });
    try {
      await serveMcpStdio({
        gateway: createSocketGateway(client),
        version: TRUNKLINE_VERSION,
        maxWaitSeconds: flags.maxWait,
        sessionKey: flags.as,
        onError: (error) => io.note(`trunkline mcp: ${error.message}`),
      });
    } finally {
      stopTelling();
      await client.close();
    }
  });
}

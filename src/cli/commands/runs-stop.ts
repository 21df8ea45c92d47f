import type { Command } from 'commander';
import { GatewayError } from '../../protocol/errors.ts';
import type { GatewayClient } from '../../client/gateway-client.ts';
import type { RunsStopped } from '../../protocol/answers/run-answers.ts';
import type { CliIo } from '../cli-io.ts';
import { addClientOptions, withGateway } from '../client-options.ts';
import type { ClientFlags } from '../client-options.ts';
import { printable } from '../output/printable.ts';

/** A runId and a sessionId look alike: a uuid, here with what turns of the gateway add to it. */
const MAY_BE_RUN = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(:|$)/i;

export function defineRunsStop(command: Command, io: CliIo): void {
  command
    .summary('stop a run and everything below it')
    .description(
      'Stops a run and everything it started. With a session: the run that it is at;\n' +
        'messages that wait there go on.',
    )
    .argument('<key-or-run-id>', 'session key, sessionId or runId');
  addClientOptions(command).action((name: string, flags: ClientFlags) => stop(name, { flags, io }));
}

async function stop(name: string, { flags, io }: { flags: ClientFlags; io: CliIo }): Promise<void> {
  const answer = await withGateway({ flags, io }, (client) => stopNamed(client, name));
  if (flags.json === true) return io.out(JSON.stringify(answer, null, 2));
  const { stopped } = answer;
  if (stopped.length === 0) io.note('nothing was running');
  for (const key of stopped) io.out(`stopped: ${printable(key)}`);
}

async function stopNamed(client: GatewayClient, name: string): Promise<RunsStopped> {
  if (!MAY_BE_RUN.test(name)) return client.call('runs.stop', { sessionKey: name });
  try {
    return await client.call('runs.stop', { runId: name });
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'not_found') throw error;
    return client.call('runs.stop', { sessionKey: name });
  }
}

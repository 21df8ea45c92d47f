import type { Command } from 'commander';
import type { CliIo } from '../cli-io.ts';
import type { SessionsWaited } from '../../protocol/tools/session-tool-answers.ts';
import { addClientOptions, withGateway } from '../client-options.ts';
import type { ClientFlags } from '../client-options.ts';
import { EXIT } from '../exit-codes.ts';
import type { ExitCode } from '../exit-codes.ts';
import { printable } from '../output/printable.ts';
import { collect, parseDuration } from '../parse-argument.ts';

interface WaitFlags extends ClientFlags {
  session?: string[];
  any?: boolean;
  timeout: number;
}

const DEFAULT_TIMEOUT_SECONDS = 30;

export function defineRunsWait(command: Command, io: CliIo): void {
  command
    .summary('wait for runs to end')
    .description(
      'Waits for runs and prints how they ended. The runs go on when the wait ends first.',
    )
    .argument('[run-id...]', 'runIds of accepted messages')
    .option('--session <key>', 'the newest run of this session; may be repeated', collect)
    .option('--any', 'until the first of them has ended')
    .option(
      '--timeout <seconds>',
      'how long to wait; 0 looks only',
      parseDuration,
      DEFAULT_TIMEOUT_SECONDS,
    );
  addClientOptions(command).action((runIds: string[], flags: WaitFlags) =>
    waitForRuns(runIds, { flags, io }),
  );
}

async function waitForRuns(
  runIds: string[],
  { flags, io }: { flags: WaitFlags; io: CliIo },
): Promise<void> {
  const params = {
    runIds,
    sessionKeys: flags.session ?? [],
    mode: flags.any === true ? ('any' as const) : ('all' as const),
    timeoutMs: flags.timeout * 1000,
  };
  const answer = await withGateway({ flags, io }, (client) => client.call('runs.wait', params));
  io.exitCode = exitCodeOf(answer);
  if (flags.json === true) return io.out(JSON.stringify(answer, null, 2));
  for (const { runId, outcome, sessionKey, reply, error } of answer.done) {
    io.out(`${runId} ${outcome} ${sessionKey}`);
    const text = reply ?? error ?? '';
    if (text !== '') io.out(`  ${printable(text).replaceAll('\n', '\n  ')}`);
  }
  for (const { runId, messageState, sessionKey } of answer.pending)
    io.note(`${runId} is still ${messageState} in ${sessionKey}`);
}

/** A run that ended badly is a failure, one that goes on a part. */
function exitCodeOf({ status, done }: SessionsWaited): ExitCode {
  if (done.some(({ outcome }) => outcome !== 'ok')) return EXIT.failure;
  return status === 'ok' ? EXIT.ok : EXIT.partial;
}

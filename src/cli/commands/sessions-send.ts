import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { waitForRun } from '../../client/wait-for-run.ts';
import type { CliIo } from '../cli-io.ts';
import { addClientOptions, connectOptions, withGateway } from '../client-options.ts';
import type { ClientFlags } from '../client-options.ts';
import { exitCodeOf, givenArgs, invokeTool } from '../invoke-tool.ts';
import { asText, isRecord } from '../output/json-value.ts';
import { printable } from '../output/printable.ts';
import { parseDuration } from '../parse-argument.ts';

interface SendFlags extends ClientFlags {
  as?: string;
  timeout: number;
  idempotencyKey?: string;
}

const DEFAULT_TIMEOUT_SECONDS = 30;

export function defineSessionsSend(command: Command, io: CliIo): void {
  command
    .summary('send a message and wait for the answer')
    .description(
      'Sends a message to a session and waits for the answer.\n' +
        'When the wait ends first, the run goes on; read the answer later with history.',
    )
    .argument('<key>', 'session key or sessionId of the receiver')
    .argument('<message>', 'what to say')
    .option('--as <key>', 'act as this session')
    .option(
      '--timeout <seconds>',
      'how long to wait; 0 returns when the message is accepted',
      parseDuration,
      DEFAULT_TIMEOUT_SECONDS,
    )
    .option('--idempotency-key <key>', 'the same key never sends twice');
  addClientOptions(command).action((key: string, message: string, flags: SendFlags) =>
    send({ key, message }, { flags, io }),
  );
}

async function send(
  { key, message }: { key: string; message: string },
  context: { flags: SendFlags; io: CliIo },
): Promise<void> {
  const { flags, io } = context;
  const answer =
    flags.as === undefined
      ? await sendAsOperator({ key, message }, context)
      : await invokeTool(context, {
          tool: 'sessions_send',
          args: { sessionKey: key, message, timeoutSeconds: flags.timeout },
          sessionKey: flags.as,
          idempotencyKey: flags.idempotencyKey,
        });
  io.exitCode = exitCodeOf(answer);
  if (flags.json === true) io.out(JSON.stringify(answer, null, 2));
  else printAnswer(answer, io);
}

/** The operator's message is an `agent` call; its answer has the words of `sessions_send`. */
async function sendAsOperator(
  { key, message }: { key: string; message: string },
  { flags, io }: { flags: SendFlags; io: CliIo },
): Promise<unknown> {
  const timeoutMs = flags.timeout * 1000;
  return withGateway({ flags, io }, async (client) => {
    const { runId, sessionKey } = await client.call('agent', {
      sessionKey: key,
      message,
      deliver: false,
      idempotencyKey: flags.idempotencyKey ?? randomUUID(),
    });
    if (timeoutMs === 0) return { runId, status: 'accepted', sessionKey };
    const waitUntil = performance.now() + timeoutMs;
    const ended = await client.call('agent.wait', { runId, timeoutMs }).catch((error: unknown) => {
      if (client.isOpen) throw error;
      // The gateway went away or restarts; the wait is kept there, so it is asked again.
      const leftMs = Math.max(0, waitUntil - performance.now());
      return waitForRun(connectOptions(flags, io), { runId, timeoutMs: leftMs });
    });
    const isSilent = ended.status === 'ok' && (ended.reply ?? '') === '';
    return givenArgs({ ...ended, ...(isSilent ? { reply: '', noReply: true } : {}) });
  });
}

function printAnswer(answer: unknown, io: CliIo): void {
  if (!isRecord(answer)) return;
  const { status, reply, error, runId, messageState } = answer;
  if (status === 'ok') {
    if (reply === '') io.note('(no reply)');
    else io.out(printable(asText(reply)));
  } else if (status === 'accepted') {
    io.out(`accepted: ${asText(runId)}`);
  } else if (status === 'timeout' && answer['outcome'] === undefined) {
    const state = asText(messageState);
    io.note(`trunkline: no answer yet; the message is ${state}, run ${asText(runId)} goes on`);
  } else {
    io.note(`trunkline: ${asText(status)}: ${printable(asText(error))}`);
  }
}

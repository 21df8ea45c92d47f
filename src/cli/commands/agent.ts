import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import type { AgentFinal } from '../../protocol/answers/run-answers.ts';
import type { CliIo } from '../cli-io.ts';
import { addClientOptions, withGateway } from '../client-options.ts';
import type { ClientFlags } from '../client-options.ts';
import { EXIT } from '../exit-codes.ts';
import { givenArgs } from '../invoke-tool.ts';
import { printable } from '../output/printable.ts';
import { parseDuration } from '../parse-argument.ts';

interface AgentFlags extends ClientFlags {
  agent?: string;
  message: string;
  session?: string;
  deliver?: boolean;
  model?: string;
  thinking?: string;
  timeout?: number;
  wait: boolean;
  idempotencyKey?: string;
}

export function defineAgent(command: Command, io: CliIo): void {
  command
    .description(
      'Sends a message to an agent, waits for the run to end and prints its answer.\n' +
        'Interrupting the command stops the wait, not the run.',
    )
    .requiredOption('--message <text>', 'what to say')
    .option('--agent <id>', 'agent to talk to; the default agent when not given')
    .option('--session <key>', 'session key or sessionId; its main session when not given')
    .option('--deliver', "send the answer to the session's chat as well")
    .option('--model <name>', 'model for this run: provider/id or an alias')
    .option('--thinking <level>', 'off, minimal, low, medium, high or xhigh')
    .option('--timeout <seconds>', 'time limit of the run; 0 for none', parseDuration)
    .option('--no-wait', 'return as soon as the message is accepted')
    .option('--idempotency-key <key>', 'the same key never starts a second run');
  addClientOptions(command).action((flags: AgentFlags) => runAgent(flags, io));
}

async function runAgent(flags: AgentFlags, io: CliIo): Promise<void> {
  const params = givenArgs({
    message: flags.message,
    agentId: flags.agent,
    sessionKey: flags.session,
    deliver: flags.deliver,
    model: flags.model,
    thinking: flags.thinking,
    timeout: flags.timeout,
    idempotencyKey: flags.idempotencyKey ?? randomUUID(),
  });
  await withGateway({ flags, io }, async (client) => {
    if (flags.wait) return printFinal(await client.runAgent(params), { flags, io });
    const accepted = await client.request<{ runId: string }>('agent', params);
    io.out(flags.json === true ? JSON.stringify(accepted, null, 2) : `accepted: ${accepted.runId}`);
  });
}

function printFinal(final: AgentFinal, { flags, io }: { flags: AgentFlags; io: CliIo }): void {
  io.exitCode = final.status === 'ok' ? EXIT.ok : EXIT.failure;
  if (flags.json === true) {
    io.out(JSON.stringify(final, null, 2));
    return;
  }
  for (const { text } of final.result.payloads) io.out(printable(text));
  if (final.status === 'ok') {
    if (final.result.payloads.length === 0) io.note('(the agent said nothing)');
    return;
  }
  io.note(`trunkline: run ${final.runId} ended with ${final.outcome}: ${final.summary}`);
}

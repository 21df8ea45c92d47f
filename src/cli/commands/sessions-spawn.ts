import type { Command } from 'commander';
import type { CliIo } from '../cli-io.ts';
import { addClientOptions } from '../client-options.ts';
import type { ClientFlags } from '../client-options.ts';
import { exitCodeOf, givenArgs, invokeTool } from '../invoke-tool.ts';
import { asText, isRecord } from '../output/json-value.ts';
import { printable } from '../output/printable.ts';
import { parseDuration } from '../parse-argument.ts';

interface SpawnFlags extends ClientFlags {
  as: string;
  agent?: string;
  label?: string;
  model?: string;
  thinking?: string;
  runTimeout?: number;
  cleanup?: string;
  idempotencyKey?: string;
}

export function defineSessionsSpawn(command: Command, io: CliIo): void {
  command
    .summary('start a sub-agent')
    .description(
      'Starts a sub-agent in a session of its own, as a session. Returns at once;\n' +
        'the result is announced to the session that spawned it.',
    )
    .argument('<task>', 'what the sub-agent has to do')
    .option('--as <key>', 'the session that spawns it', 'main')
    .option('--agent <id>', 'agent to run; the same agent when not given')
    .option('--label <label>', 'name of the new session')
    .option('--model <name>', 'provider/id or an alias')
    .option('--thinking <level>', 'off, minimal, low, medium, high or xhigh')
    .option('--run-timeout <seconds>', 'time limit of the run; 0 for none', parseDuration)
    .option('--cleanup <keep|delete>', 'what happens to the session afterwards')
    .option('--idempotency-key <key>', 'the same key never spawns twice');
  addClientOptions(command).action((task: string, flags: SpawnFlags) => spawn(task, { flags, io }));
}

async function spawn(task: string, { flags, io }: { flags: SpawnFlags; io: CliIo }): Promise<void> {
  const answer = await invokeTool(
    { flags, io },
    {
      tool: 'sessions_spawn',
      args: givenArgs({
        task,
        agentId: flags.agent,
        label: flags.label,
        model: flags.model,
        thinking: flags.thinking,
        runTimeoutSeconds: flags.runTimeout,
        cleanup: flags.cleanup,
      }),
      sessionKey: flags.as,
      idempotencyKey: flags.idempotencyKey,
    },
  );
  io.exitCode = exitCodeOf(answer);
  if (flags.json === true) {
    io.out(JSON.stringify(answer, null, 2));
    return;
  }
  if (!isRecord(answer)) return;
  if (answer['status'] === 'accepted') {
    io.out(`spawned: ${asText(answer['childSessionKey'])}\nrun:     ${asText(answer['runId'])}`);
    if (typeof answer['note'] === 'string') io.note(printable(answer['note']));
  } else {
    io.note(`trunkline: ${asText(answer['status'])}: ${printable(asText(answer['error']))}`);
  }
}

import { type Command, Option } from 'commander';
import { POLICY_VERBS } from '../../protocol/words.ts';
import type { CliIo } from '../cli-io.ts';
import { addClientOptions, withGateway } from '../client-options.ts';
import type { ClientFlags } from '../client-options.ts';
import { asText, isRecord } from '../output/json-value.ts';
import { printable } from '../output/printable.ts';
import { parseJsonObject } from '../parse-argument.ts';

interface ExplainFlags extends ClientFlags {
  as?: string;
  verb: string;
  to?: string;
  label?: string;
  agent?: string;
  run?: string;
  inRun?: string;
  args?: Record<string, unknown>;
}
type Json = Record<string, unknown>;

export function definePolicyExplain(command: Command, io: CliIo): void {
  command
    .summary('say whether a session may do something, and by which rule')
    .description(
      'Says whether a session may do something, by which rule, and which setting decides it.\n' +
        'Nothing is done. The verb "message" asks about a message of your own (chat.send), without --as.',
    )
    .option('--as <key>', 'the session that asks; main when left out')
    .addOption(
      new Option('--verb <verb>', 'what it wants to do')
        .choices(POLICY_VERBS)
        .makeOptionMandatory(),
    )
    .option('--to <key>', 'the session that it is about, by key or sessionId')
    .option('--label <label>', 'the same, by label')
    .option(
      '--agent <id>',
      'agent of the label, agent to spawn, or agent whose main session is meant',
    )
    .option('--run <run-id>', 'the run to stop or to wait for')
    .option('--in-run <run-id>', 'asked as a call of this run of the session')
    .option(
      '--args <json>',
      'further arguments, as the tool would be given them, such as {"timeoutSeconds":0}',
      parseJsonObject,
    );
  addClientOptions(command).action((flags: ExplainFlags) => explain(flags, io));
}

async function explain(flags: ExplainFlags, io: CliIo): Promise<void> {
  const answer = await withGateway({ flags, io }, (client) =>
    client.request('policy.explain', toQuery(flags)),
  );
  if (flags.json === true) return io.out(JSON.stringify(answer, null, 2));
  io.out(answer['allowed'] === true ? 'allowed' : 'refused');
  for (const name of ['as', 'to', 'tool', 'rule', 'says', 'error']) {
    if (answer[name] !== undefined) io.out(`${name.padEnd(9)}${printable(asText(answer[name]))}`);
  }
  const settings = Array.isArray(answer['settings']) ? answer['settings'] : [];
  for (const setting of settings.filter(isRecord)) {
    const value = printable(JSON.stringify(setting['value']));
    io.out(`setting  ${printable(asText(setting['name']))} = ${value}`);
  }
}

function toQuery({ as, verb, to, label, agent, run, inRun, args }: ExplainFlags): Json {
  const query = { as, verb, to, label, agentId: agent, runId: run, inRun, args };
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined));
}

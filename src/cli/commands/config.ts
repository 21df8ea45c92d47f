import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { checkConfig } from '../../config/check-config.ts';
import { formatIssue } from '../../config/config-issue.ts';
import { stateFiles } from '../../config/state-files.ts';
import { configJsonSchema } from '../../protocol/options/option-table.ts';
import type { CliIo } from '../cli-io.ts';
import { addClientOptions, withGateway } from '../client-options.ts';
import type { ClientFlags } from '../client-options.ts';
import { EXIT } from '../exit-codes.ts';
import { oneLine, printable } from '../output/printable.ts';

interface CheckFlags {
  stateDir?: string;
  config?: string;
  json?: boolean;
}

export function defineConfig(command: Command, io: CliIo): void {
  command
    .description(
      'Checks the configuration file, tries its MCP servers, has it loaded anew, or prints what may stand in one.',
    )
    .configureHelp({ subcommandTerm: (sub) => sub.name() })
    .helpCommand(false);
  command
    .command('check')
    .summary('check the configuration file')
    .description('Checks the configuration file and lists every fault with its path.')
    .option('--config <file>', 'the file; trunkline.json in the state directory')
    .option('--state-dir <dir>', 'state directory; ~/.trunkline when not given')
    .option('--json', 'print the result as JSON')
    .action((flags: CheckFlags) => check(flags, io));
  const reload = command
    .command('reload')
    .summary('let a running gateway load its configuration anew')
    .description(
      'Lets a running gateway load its configuration anew, and says what it applied and what\n' +
        'needs a restart. With a fault in the file it changes nothing.',
    );
  addClientOptions(reload).action((flags: ClientFlags) => reloadConfig(flags, io));
  command
    .command('mcp')
    .summary('try the configured MCP servers')
    .description(
      'Starts every server of mcp.servers that is switched on, lists its tools or says why it cannot be\n' +
        'used, and ends it again. No gateway is needed.',
    )
    .option('--config <file>', 'the file; trunkline.json in the state directory')
    .option('--state-dir <dir>', 'state directory; ~/.trunkline when not given')
    .option('--json', 'print the result as JSON')
    .action((flags: CheckFlags) => tryMcpServers(flags, io));
  command
    .command('schema')
    .summary('print its JSON Schema')
    .description('Prints the JSON Schema of the configuration file.')
    .option('--json', 'the schema is JSON in any case')
    .action(() => io.out(JSON.stringify(configJsonSchema(), null, 2)));
}

/** Characters of the reason why a server cannot be used. */
const MAX_REASON = 600;

async function tryMcpServers(flags: CheckFlags, io: CliIo): Promise<void> {
  const { listMcpTools } = await import('../../app/list-mcp-tools.ts');
  const place = { stateDir: flags.stateDir, configPath: flags.config, env: io.env };
  const servers = await listMcpTools(place);
  if (servers.some(({ reason }) => reason !== undefined)) io.exitCode = EXIT.failure;
  if (flags.json === true) return io.out(JSON.stringify(servers, null, 2));
  if (servers.length === 0) io.note('no MCP server is configured; see mcp.servers');
  for (const { name, isEnabled, tools, reason, notes } of servers) {
    const ready = isEnabled
      ? `${tools.length} ${tools.length === 1 ? 'tool' : 'tools'}`
      : 'switched off';
    // it may be in the server's own words
    const why = `cannot be used: ${oneLine(reason ?? '', MAX_REASON)}`;
    io.out(`${name}: ${reason === undefined ? ready : why}`);
    for (const line of [...tools, ...notes]) io.out(`    ${printable(line)}`);
  }
}

async function reloadConfig(flags: ClientFlags, io: CliIo): Promise<void> {
  const report = await withGateway({ flags, io }, (client) => client.call('config.reload'));
  if (flags.json === true) return io.out(JSON.stringify(report, null, 2));
  const applied = report.applied.map(printable);
  const needsRestart = report.needsRestart.map(printable);
  for (const path of applied) io.out(`applied        ${path}`);
  for (const path of needsRestart) io.out(`needs restart  ${path}`);
  if (applied.length + needsRestart.length === 0) io.note('nothing has changed');
}

function check(flags: CheckFlags, io: CliIo): void {
  const place = stateFiles({ stateDir: flags.stateDir, configPath: flags.config }, io.env);
  const path = place.configPath;
  // Without a file the defaults hold; only a file that somebody named must be there.
  const isMissing = !existsSync(path) && !place.isConfigNamed;
  const result = isMissing
    ? { ok: true, errors: [], warnings: [] }
    : checkConfig(path, { env: io.env });
  io.exitCode = result.ok ? EXIT.ok : EXIT.failure;
  if (flags.json === true) {
    io.out(JSON.stringify({ path, isFound: !isMissing, ...result }, null, 2));
    return;
  }
  for (const issue of result.errors) io.out(`error    ${formatIssue(issue)}`);
  for (const issue of result.warnings) io.out(`warning  ${formatIssue(issue)}`);
  if (isMissing) io.out(`${path} is not there; the defaults hold`);
  else io.out(`${path}: ${result.ok ? 'can be used' : 'cannot be used'}`);
}

import { Command, CommanderError } from 'commander';
import { TRUNKLINE_VERSION } from '../app/version.ts';
import { maskSecrets } from '../core/mask-secrets.ts';
import { GatewayError } from '../protocol/errors.ts';
import { processIo } from './cli-io.ts';
import type { CliIo } from './cli-io.ts';
import { EXIT } from './exit-codes.ts';
import type { ExitCode } from './exit-codes.ts';
import { printable } from './output/printable.ts';

type Define = (command: Command, io: CliIo) => void;
interface CommandEntry {
  summary: string;
  /** loads only this command: `--help` need not wait for what others import */
  load(): Promise<Define>;
}

const COMMANDS: Readonly<Record<string, CommandEntry>> = {
  gateway: {
    summary: 'run the gateway',
    load: async () => (await import('./commands/gateway.ts')).defineGateway,
  },
  agent: {
    summary: 'send a message to an agent and print its answer',
    load: async () => (await import('./commands/agent.ts')).defineAgent,
  },
  sessions: {
    summary: 'list, read, message and spawn sessions',
    load: async () => (await import('./commands/sessions.ts')).defineSessions,
  },
  runs: {
    summary: 'list, show, wait for and stop runs',
    load: async () => (await import('./commands/runs.ts')).defineRuns,
  },
  exchanges: {
    summary: 'list and show what agents said to each other',
    load: async () => (await import('./commands/exchanges.ts')).defineExchanges,
  },
  usage: {
    summary: 'show tokens and cost',
    load: async () => (await import('./commands/usage.ts')).defineUsage,
  },
  deliveries: {
    summary: 'show, retry and drop texts that are stuck on their way to a chat',
    load: async () => (await import('./commands/deliveries.ts')).defineDeliveries,
  },
  audit: {
    summary: 'show what was changed by hand',
    load: async () => (await import('./commands/audit.ts')).defineAudit,
  },
  tool: {
    summary: 'call a tool as a session',
    load: async () => (await import('./commands/tool.ts')).defineTool,
  },
  mcp: {
    summary: 'serve the session tools over MCP',
    load: async () => (await import('./commands/mcp.ts')).defineMcp,
  },
  call: {
    summary: 'call a method of the gateway',
    load: async () => (await import('./commands/call.ts')).defineCall,
  },
  devices: {
    summary: 'list, approve, reject and revoke devices',
    load: async () => (await import('./commands/devices.ts')).defineDevices,
  },
  policy: {
    summary: 'explain what a session may do',
    load: async () => (await import('./commands/policy.ts')).definePolicy,
  },
  config: {
    summary: 'check the configuration, load it anew, print its schema',
    load: async () => (await import('./commands/config.ts')).defineConfig,
  },
  doctor: {
    summary: 'look the store through, heal what can be healed',
    load: async () => (await import('./commands/doctor.ts')).defineDoctor,
  },
  backup: {
    summary: 'copy the store into a file, also while the gateway runs',
    load: async () => (await import('./commands/backup.ts')).defineBackup,
  },
  restore: {
    summary: 'put a backup in the place of the store',
    load: async () => (await import('./commands/restore.ts')).defineRestore,
  },
  import: {
    summary: 'take over sessions of another product',
    load: async () => (await import('./commands/import.ts')).defineImport,
  },
  tour: {
    summary: 'watch two agents work together, without a model',
    load: async () => (await import('./commands/tour.ts')).defineTour,
  },
};

/** The names of the commands, in the order of the help. */
export const COMMAND_NAMES: readonly string[] = Object.keys(COMMANDS);

const HELP_WIDTH = 90;

/** Runs one command line and returns the exit code. Never throws, never ends the process. */
export async function main(argv: readonly string[], io: CliIo = processIo()): Promise<ExitCode> {
  try {
    const program = await createProgram(argv, io);
    await program.parseAsync([...argv], { from: 'user' });
    return io.exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    reportError(error, { io, isJson: argv.includes('--json') });
    return EXIT.failure;
  }
}

async function createProgram(argv: readonly string[], io: CliIo): Promise<Command> {
  const program = new Command('trunkline')
    .description('The session layer for AI agents.')
    .version(TRUNKLINE_VERSION, '--version', 'print the version')
    .helpOption('--help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .configureOutput({
      writeOut: (text) => io.out(text.replace(/\n$/, '')),
      writeErr: (text) => io.note(text.replace(/\n$/, '')),
      getOutHelpWidth: () => Math.min(io.width ?? HELP_WIDTH, HELP_WIDTH),
      getErrHelpWidth: () => HELP_WIDTH,
    })
    .showHelpAfterError('(see --help)')
    .exitOverride();
  const wanted = argv[0] === 'help' ? argv[1] : argv[0];
  for (const [name, { summary, load }] of Object.entries(COMMANDS)) {
    const command = program.command(name).description(summary);
    if (name === wanted) (await load())(command, io);
  }
  return program;
}

function reportError(error: unknown, { io, isJson }: { io: CliIo; isJson: boolean }): void {
  const isOurs = error instanceof GatewayError;
  const message = maskSecrets(error instanceof Error ? error.message : String(error));
  if (isJson) {
    const code = isOurs ? error.code : 'internal';
    const details = isOurs && error.details !== undefined ? { details: error.details } : {};
    io.out(JSON.stringify({ error: { code, message, ...details } }, null, 2));
    return;
  }
  io.note(`trunkline: ${printable(message)}`);
  if (!isOurs && error instanceof Error && io.env['TRUNKLINE_DEBUG'] !== undefined) {
    io.note(maskSecrets(error.stack ?? ''));
  }
}

import type { CliIo } from './cli-io.ts';
import { EXIT } from './exit-codes.ts';
import { loadLean } from './load-lean.ts';

/** How a gateway is started from the command line. */
export interface ServeFlags {
  port?: number;
  bind?: string;
  stateDir?: string;
  config?: string;
  json?: boolean;
}

/** Starts the gateway, says where it answers, and resolves when a signal has stopped it. */
export async function serve(flags: ServeFlags, io: CliIo): Promise<void> {
  const stopSignal = nextStopSignal();
  // a start that is not through yet reads the newest file anyway
  let reload = (): Promise<unknown> => Promise.resolve();
  // what is wrong in the file is in the log
  const onHangup = () => void reload().catch(() => {});
  if (RELOADS_AT_HANGUP) process.on('SIGHUP', onHangup);
  const gateway = await loadLean(async () => {
    // Loaded here: the help of the command need not wait for the whole program.
    const { startGateway } = await import('../app/start-gateway.ts');
    return startGateway({
      port: flags.port,
      bind: flags.bind,
      stateDir: flags.stateDir,
      configPath: flags.config,
      env: io.env,
    });
  });
  // Node would write the error as it is, with whatever it quotes.
  process.once('uncaughtException', (err) => {
    gateway.logger.error({ err }, 'the gateway has broken and ends');
    process.exit(EXIT.failure);
  });
  if (gateway.notice !== undefined) io.note(`note: ${gateway.notice}`);
  io.out(
    flags.json === true
      ? JSON.stringify({ ready: true, url: gateway.url, stateDir: gateway.stateDir })
      : `trunkline ready on ${gateway.url}`,
  );
  reload = gateway.reload;
  await gateway.stop(await stopSignal);
  process.off('SIGHUP', onHangup);
}

/** At a terminal a hangup means that it was closed; elsewhere it asks for the configuration to be read anew. */
const RELOADS_AT_HANGUP = !process.stdin.isTTY;
const STOP_SIGNALS = [
  'SIGINT',
  'SIGTERM',
  ...(RELOADS_AT_HANGUP ? [] : (['SIGHUP'] as const)),
] as const;

/** Resolves with the first signal that asks to stop; a second one ends the process at once. */
function nextStopSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of STOP_SIGNALS) {
      process.once(signal, () => {
        // Without a listener the next one does what it does everywhere.
        for (const other of STOP_SIGNALS) process.removeAllListeners(other);
        resolve(signal);
      });
    }
  });
}

#!/usr/bin/env node
/**
 * The launcher. Plain JavaScript that any Node from 18 on can run: it finds a Node that is new
 * enough, then hands over to the program.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import module from 'node:module';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { isDistFresh } from './source-hash.js';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

if (isNewEnough(process.versions.node)) {
  followLauncher();
  await runProgram();
} else {
  const node = findBundledNode();
  if (node === undefined || process.env.TRUNKLINE_LAUNCHED !== undefined) {
    console.error(
      `trunkline needs Node 24.16 or newer (24 or 26), this is ${process.version}. ` +
        'Install it from your package manager or with: npm install -g node@24',
    );
    process.exit(1);
  }
  runUnder(node);
}

/** 25 was never a long-term release and stopped short of what we need. */
function isNewEnough(version) {
  const [major, minor] = version.split('.').map(Number);
  return major >= 26 || (major === 24 && minor >= 16);
}

/** Returns the path of the Node that came along as a package, or undefined. */
function findBundledNode() {
  const require = module.createRequire(import.meta.url);
  const isWindows = process.platform === 'win32';
  const name = `node-${isWindows ? 'win' : process.platform}-${process.arch}/package.json`;
  try {
    const path = join(dirname(require.resolve(name)), 'bin', isWindows ? 'node.exe' : 'node');
    return existsSync(path) ? path : undefined;
  } catch {
    return undefined;
  }
}

/** Runs this launcher again under another Node; signals go in, the exit code comes out. */
function runUnder(node) {
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, TRUNKLINE_LAUNCHED: '1' },
  });
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const signal of signals) {
    process.on(signal, () => {
      // A terminal sends Ctrl-C to the child as well; twice would mean "now, at once".
      if (signal === 'SIGINT' && process.stdin.isTTY) return;
      child.kill(signal);
    });
  }
  child.on('error', (error) => {
    console.error(`trunkline could not start ${node}: ${error.message}`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    for (const name of signals) process.removeAllListeners(name);
    process.kill(process.pid, signal);
    // Where a signal cannot end this process, the shell's convention says the same.
    setTimeout(() => process.exit(128 + (constants.signals[signal] ?? 0)), 100);
  });
}

/** When the older Node that started us is killed, nobody is left to pass a signal on: go with it. */
function followLauncher() {
  if (process.env.TRUNKLINE_LAUNCHED === undefined || process.channel === undefined) return;
  delete process.env.TRUNKLINE_LAUNCHED;
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  process.channel.unref();
}

async function runProgram() {
  module.enableCompileCache?.();
  hideExperimentalWarnings();
  const file = isDistFresh(root) ? 'dist/cli/main.js' : 'src/cli/main.ts';
  if (!existsSync(join(root, file))) {
    console.error(`trunkline is not complete: ${file} is missing. Install the package again.`);
    process.exit(1);
  }
  const { main } = await import(pathToFileURL(join(root, file)).href);
  process.exitCode = await main(process.argv.slice(2));
}

/** Warnings about Node's own experiments say nothing to the person who runs the program. */
function hideExperimentalWarnings() {
  const show = process.listeners('warning');
  process.removeAllListeners('warning');
  process.on('warning', (warning) => {
    if (warning.name === 'ExperimentalWarning') return;
    for (const listener of show) listener.call(process, warning);
  });
}

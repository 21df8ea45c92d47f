/** Ends the process when one input takes too long, also when it never gives way. */
import { Worker } from 'node:worker_threads';

/** ms for one input, on a machine that is busy with other things */
const LIMIT_MS = 30_000;

export interface Watchdog {
  /** the next input begins */
  beat(): void;
  stop(): void;
}

/** Starts the watch from a thread of its own; `command` is said when it bites. */
export function startWatchdog(command: string): Watchdog {
  const beats = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(
    `const { workerData: { beats, pid, limit, command } } = require('node:worker_threads');
     const { writeSync } = require('node:fs');
     let last = -1;
     setInterval(() => {
       const now = Atomics.load(beats, 0);
       if (now !== last) return void (last = now);
       writeSync(2, 'input ' + now + ' hangs: ' + command + '\\n');
       process.kill(pid, 'SIGKILL');
     }, limit);`,
    { eval: true, workerData: { beats, pid: process.pid, limit: LIMIT_MS, command } },
  );
  worker.unref();
  return {
    beat: () => void Atomics.add(beats, 0, 1),
    stop: () => void worker.terminate(),
  };
}

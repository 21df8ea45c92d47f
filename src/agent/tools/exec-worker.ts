/** The worker thread of one `exec` call: the emulated shell on the workspace, without a network. */
import { parentPort, workerData } from 'node:worker_threads';
import { Bash, InMemoryFs, MountableFs, ReadWriteFs } from 'just-bash';
import { must } from '../../util/assert.ts';
import type { ExecReply, ExecRequest } from './exec-protocol.ts';
import { WORKSPACE_ALIAS } from './workspace-path.ts';

const request = workerData as ExecRequest;
// Only the workspace is on disk; `/tmp` and the rest live in memory and end with the call.
const fs = new MountableFs({
  base: new InMemoryFs(),
  mounts: [{ mountPoint: WORKSPACE_ALIAS, filesystem: new ReadWriteFs({ root: request.root }) }],
});
await fs.mkdir('/tmp');
const bash = new Bash({
  fs,
  cwd: WORKSPACE_ALIAS,
  env: { HOME: WORKSPACE_ALIAS },
  executionLimits: {
    maxExecutionTimeMs: request.timeoutMs,
    maxOutputSize: request.maxOutputBytes,
  },
});
const { stdout, stderr, exitCode } = await bash.exec(request.command, { rawScript: true });
const reply: ExecReply = { stdout, stderr, exitCode };
must(parentPort, 'exec-worker runs as a worker thread').postMessage(reply);

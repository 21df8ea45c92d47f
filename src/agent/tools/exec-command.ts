import { realpath } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import { z } from 'zod';
import { MAX_TIMER_MS } from '../../util/clock.ts';
import { codeOf } from '../../util/error-code.ts';
import { makeFolder } from '../../util/make-folder.ts';
import { shortenMiddle } from '../../util/shorten-middle.ts';
import type { AgentTool, ToolOutcome } from '../runtime.ts';
import { defineTool, failure } from './define-tool.ts';
import type { ExecReply, ExecRequest } from './exec-protocol.ts';

export interface ExecOptions {
  /** wall time of one command; default 60,000 */
  timeoutMs?: number;
  /** characters of output that the model is shown; default 30,000 */
  maxOutputCharacters?: number;
  /** heap of the worker thread in MB; default 256 */
  memoryMb?: number;
}

/** Bytes that a command may write before the shell stops it. */
const MAX_OUTPUT_BYTES = 8 * 1024 * 1024;
// Stripped sources run as .ts, the build as .js; `new URL` is not rewritten by the compiler.
const WORKER = new URL(
  import.meta.url.endsWith('.ts') ? './exec-worker.ts' : './exec-worker.js',
  import.meta.url,
);

/**
 * Returns the `exec` tool: a command in an emulated shell on the workspace. Each call has a thread of
 * its own, which is ended at the time limit and when the run is aborted.
 */
export function createExecTool(options: ExecOptions = {}): AgentTool {
  const timeoutMs = Math.min(options.timeoutMs ?? 60_000, MAX_TIMER_MS);
  const maxCharacters = options.maxOutputCharacters ?? 30_000;
  const seconds = timeoutMs / 1_000;
  return defineTool({
    name: 'exec',
    description: `Run a command in an emulated bash in the workspace: the usual unix tools, no network, no other programs. At most ${seconds} s.`,
    parameters: { command: z.string().min(1) },
    repeatable: false,
    async run({ command }, context) {
      makeFolder(context.workspace);
      const root = await realpath(context.workspace);
      const end = await runInThread(
        { root, command, timeoutMs, maxOutputBytes: MAX_OUTPUT_BYTES },
        { signal: context.signal, memoryMb: options.memoryMb ?? 256 },
      );
      switch (end.kind) {
        case 'reply':
          return toOutcome(end.reply, maxCharacters);
        case 'aborted':
          return failure('exec: stopped, because the run was aborted');
        case 'timeout':
          return failure(
            `exec: stopped after ${seconds} s; its output is lost. Do less in one command.`,
          );
        case 'crash':
          return failure(
            `exec: the shell ended without a result (${end.reason}). Do less in one command.`,
          );
      }
    },
  });
}

type ThreadEnd =
  | { kind: 'reply'; reply: ExecReply }
  | { kind: 'aborted' }
  | { kind: 'timeout' }
  | { kind: 'crash'; reason: string };

async function runInThread(
  request: ExecRequest,
  { signal, memoryMb }: { signal: AbortSignal; memoryMb: number },
): Promise<ThreadEnd> {
  if (signal.aborted) return { kind: 'aborted' };
  const worker = new Worker(WORKER, {
    workerData: request,
    // Nothing of the gateway's environment, arguments or output reaches the thread.
    env: {},
    argv: [],
    execArgv: [],
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: memoryMb },
  });
  const { promise, resolve } = Promise.withResolvers<ThreadEnd>();
  worker.once('message', (reply: ExecReply) => resolve({ kind: 'reply', reply }));
  worker.once('error', (error) => resolve({ kind: 'crash', reason: toReason(error) }));
  worker.once('exit', (code) => resolve({ kind: 'crash', reason: `exit code ${code}` }));
  const onAbort = (): void => resolve({ kind: 'aborted' });
  signal.addEventListener('abort', onAbort, { once: true });
  const timer = setTimeout(() => resolve({ kind: 'timeout' }), request.timeoutMs);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
    await worker.terminate();
  }
}

function toReason(error: unknown): string {
  const code = codeOf(error);
  return code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'out of memory' : (code ?? 'internal error');
}

function toOutcome({ stdout, stderr, exitCode }: ExecReply, maxCharacters: number): ToolOutcome {
  const parts = [
    stdout.trimEnd(),
    stderr === '' ? '' : `[stderr]\n${stderr.trimEnd()}`,
    exitCode === 0 ? '' : `[exit code ${exitCode}]`,
  ].filter((part) => part !== '');
  const text = shortenMiddle(parts.join('\n') || '[no output]', maxCharacters);
  return { text, isError: exitCode !== 0 };
}

import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ToolContext } from '../../src/agent/runtime.ts';

export interface TempWorkspace extends AsyncDisposable {
  /** the workspace */
  path: string;
  /** a folder beside it, where nothing may be read or written */
  outside: string;
  /** context of a tool call there */
  context: ToolContext;
}

/** Makes a workspace with a forbidden folder beside it; both go when the test ends. */
export async function createTempWorkspace(signal?: AbortSignal): Promise<TempWorkspace> {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'trunkline-test-')));
  const path = join(base, 'workspace');
  const outside = join(base, 'outside');
  await mkdir(path);
  await mkdir(outside);
  return {
    path,
    outside,
    context: {
      runId: 'run-1',
      sessionKey: 'agent:main:main',
      agentId: 'main',
      workspace: path,
      position: 0,
      callIndex: 0,
      signal: signal ?? new AbortController().signal,
    },
    [Symbol.asyncDispose]: () => rm(base, { recursive: true, force: true }),
  };
}

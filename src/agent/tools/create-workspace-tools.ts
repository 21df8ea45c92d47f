import type { AgentTool } from '../runtime.ts';
import { createEditTool } from './edit-file.ts';
import { createExecTool, type ExecOptions } from './exec-command.ts';
import { createReadTool } from './read-file.ts';
import { createWriteTool } from './write-file.ts';

/** Returns `read`, `write`, `edit` and `exec`: what an agent can do in its workspace, and nowhere else. */
export function createWorkspaceTools(options: { exec?: ExecOptions } = {}): AgentTool[] {
  return [createReadTool(), createWriteTool(), createEditTool(), createExecTool(options.exec)];
}

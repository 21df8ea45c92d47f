import type { AgentTool, ToolContext, ToolOutcome } from '../agent/runtime.ts';
import type { SessionCaller } from '../core/caller.ts';
import { sessionToolSpec } from '../protocol/tools/session-tool-specs.ts';
import type { SpawnTargetIds } from '../protocol/tools/session-tool-specs.ts';
import { SESSION_TOOL_NAMES, isToolFailure } from '../protocol/tools/session-tools.ts';
import type { SessionToolName } from '../protocol/tools/session-tools.ts';
import { must } from '../util/assert.ts';
import type { Logger } from '../util/logger.ts';
import { callSessionTool } from './call-session-tool.ts';
import type { SessionToolServices } from './call-session-tool.ts';

/** Where a run stands in its tree of messages (A11), and what ends it. */
export interface RunPosition {
  rootRunId: string;
  hops: number;
  signal: AbortSignal;
}
export interface SessionToolsOptions {
  services: SessionToolServices;
  logger: Logger;
  /** Returns the position of a run that is going; undefined when it is not (any more). */
  runContext: (runId: string) => RunPosition | undefined | Promise<RunPosition | undefined>;
  /** Returns the agents that this agent may spawn. */
  spawnTargets: (agentId: string) => SpawnTargetIds;
}

/** Returns the five session tools as an agent's turn calls them. */
export function createSessionTools(options: SessionToolsOptions): AgentTool[] {
  return SESSION_TOOL_NAMES.map((name) => createSessionTool(name, options));
}

function createSessionTool(name: SessionToolName, options: SessionToolsOptions): AgentTool {
  return {
    spec: sessionToolSpec(name, { ids: [], allowAny: true }),
    specFor: (agentId) => sessionToolSpec(name, options.spawnTargets(agentId)),
    // they read, or their key (A13) finds the first acceptance again
    repeatable: true,
    execute: async (args, context) => {
      const caller = await toCaller(options, context);
      return toOutcome(await callSessionTool(options, { tool: name, args, caller }));
    },
  };
}

async function toCaller(
  { runContext }: SessionToolsOptions,
  context: ToolContext,
): Promise<SessionCaller> {
  const { runId, position, callIndex, sessionKey, agentId } = context;
  const run = must(await runContext(runId), `run ${runId} calls a tool but is not going`);
  return {
    type: 'session',
    sessionKey,
    agentId,
    run: { runId, position, callIndex, ...run },
  };
}

/** Returns the answer as the JSON text that the model reads, with the same as data. */
function toOutcome(answer: object): ToolOutcome {
  return { text: JSON.stringify(answer), details: answer, isError: isToolFailure(answer) };
}

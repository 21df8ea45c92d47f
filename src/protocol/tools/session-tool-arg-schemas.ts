/** The arguments of the session tools by name: the one table of parser, specs and generated input. */
import type { z } from 'zod';
import {
  agentsListArgs,
  sessionsHistoryArgs,
  sessionsInboxArgs,
  sessionsListArgs,
  sessionsSearchArgs,
  sessionsSendArgs,
  sessionsSpawnArgs,
  sessionsStopArgs,
  sessionsWaitArgs,
} from './session-tool-args.ts';
import type { SessionToolName } from './session-tools.ts';

/** Schema of the arguments of each tool. */
export const SESSION_TOOL_ARGS = {
  sessions_list: sessionsListArgs,
  sessions_history: sessionsHistoryArgs,
  sessions_send: sessionsSendArgs,
  sessions_spawn: sessionsSpawnArgs,
  agents_list: agentsListArgs,
  sessions_wait: sessionsWaitArgs,
  sessions_stop: sessionsStopArgs,
  sessions_search: sessionsSearchArgs,
  sessions_inbox: sessionsInboxArgs,
} as const satisfies Record<SessionToolName, z.ZodObject>;

/** The checked arguments of each session tool. */
export type SessionToolArgs = {
  [Name in SessionToolName]: z.output<(typeof SESSION_TOOL_ARGS)[Name]>;
};

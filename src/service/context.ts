/** What every use case is given. Built once, in `app/`. */
import type { AgentRuntime, AgentTool } from '../agent/runtime.ts';
import type { ChannelAdapter } from '../channels/channel.ts';
import type { Config } from '../protocol/options/config.ts';
import type { Store } from '../store/store.ts';
import type { Clock } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import type { RunEvents } from './run-events.ts';

export interface ServiceContext {
  store: Store;
  /** the configuration in force now */
  config: () => Config;
  clock: Clock;
  logger: Logger;
  events: RunEvents;
  /** absolute path; transcripts and workspaces live below it */
  stateDir: string;
}

/** What the parts that run turns and send texts need on top. */
export interface RunContext extends ServiceContext {
  /** names this process as a lane owner */
  bootId: string;
  startedAt: number;
  runtimeFor(provider: string): AgentRuntime;
  /** tools by name; which of them a session is offered is decided by tool policy */
  tools: () => ReadonlyMap<string, AgentTool>;
  channels: ReadonlyMap<string, ChannelAdapter>;
}

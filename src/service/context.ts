/** What every use case is given. Built once, in `app/`. */
import type { AgentRuntime, ToolQuestion, ToolServerState, TurnTools } from '../agent/runtime.ts';
import type { ChannelAdapter } from '../channels/channel.ts';
import type { Config } from '../protocol/options/config.ts';
import type { Store } from '../store/store.ts';
import type { Clock } from '../util/clock.ts';
import type { Logger } from '../util/logger.ts';
import type { ActiveRuns } from './runs/active-runs.ts';
import type { RunEvents } from './run-events.ts';
import type { RunWatch } from './runs/run-watch.ts';
import type { Slots } from './runs/slots.ts';

export interface ServiceContext {
  store: Store;
  /** the configuration in force now */
  config: () => Config;
  clock: Clock;
  logger: Logger;
  events: RunEvents;
  /** absolute path; transcripts and workspaces live below it */
  stateDir: string;
  /** seals page cursors; the same after a restart, so that a page can be followed across it */
  cursorSecret: string;
}

/** What the parts that run turns and send texts need on top. */
export interface RunContext extends ServiceContext {
  /** names this process as a lane owner */
  bootId: string;
  startedAt: number;
  runtimeFor(provider: string): AgentRuntime;
  /** Returns the tools that an agent's sessions would see; which of them one is offered is decided by tool policy. */
  toolsOf(question: ToolQuestion): Promise<TurnTools>;
  /** Returns how the servers of tools are doing; absent = there are none. */
  toolServers?: (() => readonly ToolServerState[]) | undefined;
  channels: ReadonlyMap<string, ChannelAdapter>;
}

/** What the use cases that accept and wait need on top: the runs of this process and their slots. */
export interface RunServices extends RunContext {
  activeRuns: ActiveRuns;
  slots: Slots;
  watch: RunWatch;
  /** a slot has come free */
  wakeScheduler(): void;
}

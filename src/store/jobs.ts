/** Contract: may run again after a crash; ends the job in the unit of its effect; never runs a turn. */
export type JobHandler = (payload: Record<string, string>) => Promise<void>;

/** Runs due jobs with the handler of their kind. */
export interface JobRunner {
  start(): void;
  /** Takes no more jobs and resolves when those that run have ended. */
  stop(): Promise<void>;
}

import { findAgent } from '../../core/agents.ts';
import { type ModelRef, modelOfSession } from '../../core/models.ts';
import { parseStoredObject } from '../../core/stored-message.ts';
import type { Config } from '../../protocol/options/config.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { SessionRow } from '../../store/session-repository.ts';

/** Returns the model that a run asks: its own override, else its session's, else its agent's. */
export function modelOfRun(
  config: Config,
  { run, session }: { run: Pick<RunRow, 'optionsJson'>; session: SessionRow },
): ModelRef {
  const options = run.optionsJson === null ? undefined : parseStoredObject(run.optionsJson);
  const override = typeof options?.['model'] === 'string' ? options['model'] : session.model;
  return modelOfSession(config, findAgent(config, session.agentId), override);
}

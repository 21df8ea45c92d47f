/** From what a wait names to the runs that it is for (A5, A20). */
import type { SessionCaller } from '../../core/caller.ts';
import { displayKey } from '../../core/keys.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { Refusal } from '../../core/refusals.ts';
import type { Config } from '../../protocol/options/config.ts';
import type { SessionsWaitArgs } from '../../protocol/tools/session-tool-args.ts';
import type { RunRow, WaitRow } from '../../store/run-repository.ts';
import type { ReadTx } from '../../store/store.ts';
import type { ServiceContext } from '../context.ts';
import { lookUpForOperator } from '../sessions/resolve-caller.ts';
import { resolveRunTarget, resolveTarget } from '../sessions/resolve-target.ts';
import { findRunOrNote, findRun, noteText } from './find-run.ts';
import type { WaitTarget } from './wait-in-run.ts';
import { unknownRun } from './wait-for-run.ts';
import { briefly } from '../../util/briefly.ts';

export interface WaitedTarget extends WaitTarget {
  /** the key of its session as the caller is shown it */
  shownKey: string;
}
export type TargetsOrRefusal = { targets: WaitedTarget[] } | Refusal;

/** Returns the runs that a session names, each once, or why it may not wait for one of them. */
export async function sessionTargets(
  tx: ReadTx,
  { config: currentConfig }: Pick<ServiceContext, 'config'>,
  { caller, args }: { caller: SessionCaller; args: SessionsWaitArgs },
): Promise<TargetsOrRefusal> {
  const config = currentConfig();
  const query = { config, caller, verb: 'wait' } as const;
  const targets: WaitedTarget[] = [];
  for (const runId of args.runIds ?? []) {
    const { run, note } = await findRunOrNote(tx, runId);
    const sessionKey = run?.sessionKey ?? note?.sessionKey;
    const found = await resolveRunTarget(tx, query, { runId, sessionKey });
    if (!found.ok) return found;
    if (note !== undefined) return { status: 'error', error: noteText(note), rule: 'note' };
    if (run !== undefined) targets.push(toTarget(run, found.shownKey));
  }
  for (const sessionKey of args.sessionKeys ?? []) {
    const found = await resolveTarget(tx, { ...query, address: { sessionKey } });
    if (!found.ok) return found;
    const run = await tx.runs.latestOf(found.key);
    if (run === undefined) {
      return { status: 'error', error: noRunText(found.shownKey), rule: 'no_run' };
    }
    targets.push(toTarget(run, found.shownKey));
  }
  return { targets: eachOnce(targets) };
}

/** The same for the operator, who may see everything. Rejects `not_found`. */
export async function operatorTargets(
  tx: ReadTx,
  config: Config,
  { runIds, sessionKeys }: { runIds: readonly string[]; sessionKeys: readonly string[] },
): Promise<WaitedTarget[]> {
  const targets: WaitedTarget[] = [];
  for (const runId of runIds) {
    const run = await findRun(tx, runId);
    if (run === undefined) throw unknownRun(runId);
    targets.push(toTarget(run, run.sessionKey));
  }
  for (const sessionKey of sessionKeys) {
    const { key } = await lookUpForOperator(tx, config, sessionKey);
    const run = await tx.runs.latestOf(key);
    if (run === undefined) throw new GatewayError('not_found', noRunText(key));
    targets.push(toTarget(run, key));
  }
  return eachOnce(targets);
}

/** Returns the targets of a wait that is in the store already. */
export function rowTargets(
  config: Config,
  { caller, rows }: { caller: SessionCaller; rows: readonly WaitRow[] },
): WaitedTarget[] {
  return rows.map(({ targetRunId, targetKey }) => ({
    runId: targetRunId,
    key: targetKey,
    shownKey: displayKey(targetKey, { ...config.session, agentId: caller.agentId }),
  }));
}

function toTarget({ runId, sessionKey }: RunRow, shownKey: string): WaitedTarget {
  return { runId, key: sessionKey, shownKey };
}

function eachOnce(targets: readonly WaitedTarget[]): WaitedTarget[] {
  return [...new Map(targets.map((target) => [target.runId, target])).values()];
}

function noRunText(key: string): string {
  return `session ${briefly(key)} has had no run; there is nothing to wait for`;
}

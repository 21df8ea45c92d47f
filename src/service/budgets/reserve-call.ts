/** A model call is paid for in advance: reserved in the unit before it, settled in the unit that has its answer (A22). */
import {
  type Budget,
  type BudgetHold,
  type CallStep,
  type CallUse,
  countRun,
  firstCall,
  join,
  leave,
  nextCall,
  NO_USE,
  passTime,
  reserve,
  settle,
  skipTime,
  UNKNOWN_USE,
  type UsedUp,
} from '../../core/budget.ts';
import { closingPrompt, unpricedText, usedUpText } from '../../core/budget-texts.ts';
import { formatModel, pricesOf } from '../../core/models.ts';
import type { Config } from '../../protocol/options/config.ts';
import type { BudgetHoldRow } from '../../store/budget-repository.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import type { ServiceContext } from '../context.ts';
import { modelOfRun } from '../usage/model-of-run.ts';
import { saveBudget, toBudget } from './budget-rows.ts';
import { budgetsOver, mayHaveRootBudget, remedyOf } from './budgets-over.ts';

/** The last call of a run whose budget is used up. */
export interface ClosingTurn {
  /** added to the system prompt */
  prompt: string;
  /** what the run says when it has ended */
  error: string;
}

/** What budgets say to a run that is claimed. */
export interface BudgetedStart {
  /** false = it is under no budget, unless the configuration gives it one */
  isBudgeted: boolean;
  /** why it cannot even begin */
  refusal?: string;
  closing?: ClosingTurn | undefined;
}

interface RunOf {
  run: Pick<RunRow, 'runId' | 'optionsJson'>;
  session: SessionRow;
}

/** Whether the steps of a run look for budgets; without one they cost nothing. */
export function mayBeBudgeted(
  context: ServiceContext,
  { isBudgeted, session }: { isBudgeted: boolean; session: SessionRow },
): boolean {
  return isBudgeted || mayHaveRootBudget(context.config(), session.rootKey);
}

/** Counts a run that begins under its budgets and reserves its first call. */
export async function startUnderBudget(
  tx: WriteTx,
  context: ServiceContext,
  of: RunOf,
): Promise<BudgetedStart> {
  const config = context.config();
  const budgets = await budgetsNow(tx, config, of.session);
  if (budgets.length === 0) return { isBudgeted: false };
  const unpriced = unpricedFault(config, { ...of, budgets });
  if (unpriced !== undefined) return { isBudgeted: true, refusal: unpriced };
  const step = firstCall(budgets, needOf(of.session));
  if (step.do === 'refuse') return { isBudgeted: true, refusal: await textOf(tx, config, step.by) };
  await hold(tx, { runId: of.run.runId, had: [], budgets: budgets.map(countRun), step });
  return { isBudgeted: true, closing: await closingOf(tx, config, step) };
}

/**
 * Goes on with a run after its process died: what was reserved for a call that was under way is spent, because it may
 * have been billed; the time in which nobody played it is not. Reserves the next call, unless tools come first.
 */
export async function resumeUnderBudget(
  tx: WriteTx,
  context: ServiceContext,
  { isAsking, ...of }: RunOf & { isAsking: boolean },
): Promise<BudgetedStart> {
  const { runId } = of.run;
  const config = context.config();
  const had = await changeHeld(tx, runId, (budget, held) =>
    skipTime(settle(budget, { hold: held, used: UNKNOWN_USE }), tx.now),
  );
  const budgets = await budgetsNow(tx, config, of.session);
  const step = isAsking ? nextCall(budgets, needOf(of.session)) : holdNothing(budgets);
  await hold(tx, { runId, had, budgets, step });
  return { isBudgeted: budgets.length > 0, closing: await closingOf(tx, config, step) };
}

/** Reserves the next call of a run; returns the closing turn when it is the last one. */
export async function reserveCall(
  tx: WriteTx,
  context: ServiceContext,
  { run, session, need }: RunOf & { need?: BudgetHold | undefined },
): Promise<ClosingTurn | undefined> {
  const { runId } = run;
  const config = context.config();
  const had = await changeHeld(tx, runId, (budget, held) =>
    settle(budget, { hold: held, used: NO_USE }),
  );
  const budgets = await budgetsNow(tx, config, session);
  const step = nextCall(budgets, need ?? needOf(session));
  await hold(tx, { runId, had, budgets, step });
  return closingOf(tx, config, step);
}

/** Turns what a run has reserved into what its call used. With `isEnd` nothing of the run is left. */
export async function settleCall(
  tx: WriteTx,
  runId: string,
  { used, isEnd }: { used: CallUse; isEnd: boolean },
): Promise<void> {
  const had = await changeHeld(tx, runId, (budget, held) => {
    const settled = passTime(settle(budget, { hold: held, used }), tx.now);
    return isEnd ? leave(settled, tx.now) : settled;
  });
  const rest = isEnd ? [] : had.map((row) => ({ ...row, tokens: 0, nanos: 0 }));
  if (had.length > 0) await tx.budgets.replaceHolds(runId, rest);
}

/** Frees what a run had reserved that was never played to its end. */
export function dropHolds(tx: WriteTx, runId: string): Promise<void> {
  return settleCall(tx, runId, { used: UNKNOWN_USE, isEnd: true });
}

async function budgetsNow(tx: WriteTx, config: Config, session: SessionRow): Promise<Budget[]> {
  return (await budgetsOver(tx, config, session)).map((budget) => passTime(budget, tx.now));
}

/** Returns why these budgets cannot count what the model costs, or undefined when they can. */
function unpricedFault(
  config: Config,
  { budgets, ...of }: RunOf & { budgets: readonly Budget[] },
): string | undefined {
  const budget = budgets.find(({ limits }) => limits.usd !== null);
  const model = modelOfRun(config, of);
  if (budget === undefined || pricesOf(config, model) !== undefined) return undefined;
  return unpricedText({ ownerKey: budget.ownerKey, model: formatModel(model) });
}

const NO_HOLD: BudgetHold = { tokens: 0, usd: 0 };

function holdNothing(budgets: readonly Budget[]): CallStep {
  return { do: 'call', holds: budgets.map(() => NO_HOLD) };
}

/** Changes each budget that the run has a hold of; returns the holds. */
async function changeHeld(
  tx: WriteTx,
  runId: string,
  change: (budget: Budget, hold: BudgetHold) => Budget,
): Promise<BudgetHoldRow[]> {
  const holds = await tx.budgets.holdsOf(runId);
  for (const { ownerKey, tokens, nanos } of holds) {
    const row = await tx.budgets.get(ownerKey);
    // a purged session has none
    if (row !== undefined) await saveBudget(tx, change(toBudget(row), { tokens, usd: nanos }));
  }
  return holds;
}

/** Gives a run its holds of these budgets, instead of those that it had, which are settled. */
async function hold(
  tx: WriteTx,
  given: {
    runId: string;
    had: readonly BudgetHoldRow[];
    budgets: readonly Budget[];
    step: CallStep;
  },
): Promise<void> {
  const { runId, had, budgets, step } = given;
  if (had.length === 0 && budgets.length === 0) return;
  const rows: BudgetHoldRow[] = [];
  for (const [at, budget] of budgets.entries()) {
    const { ownerKey } = budget;
    const { tokens, usd } = step.holds[at] ?? NO_HOLD;
    const isHeld = had.some((row) => row.ownerKey === ownerKey);
    const joined = isHeld ? budget : join(budget, tx.now);
    await saveBudget(tx, reserve(joined, { tokens, usd }));
    rows.push({ runId, ownerKey, tokens, nanos: usd });
  }
  await leaveOthers(tx, { had, kept: rows });
  await tx.budgets.replaceHolds(runId, rows);
}

/** A budget that the configuration no longer gives is left by those that were under it. */
async function leaveOthers(
  tx: WriteTx,
  { had, kept }: { had: readonly BudgetHoldRow[]; kept: readonly BudgetHoldRow[] },
): Promise<void> {
  for (const { ownerKey } of had) {
    if (kept.some((row) => row.ownerKey === ownerKey)) continue;
    const row = await tx.budgets.get(ownerKey);
    if (row !== undefined) await saveBudget(tx, leave(toBudget(row), tx.now));
  }
}

/** A call takes in at least the context as it was after the call before; what it costs is known only later. */
function needOf({ totalTokens }: SessionRow): BudgetHold {
  return { tokens: totalTokens ?? 1, usd: 1 };
}

async function closingOf(
  tx: WriteTx,
  config: Config,
  step: CallStep,
): Promise<ClosingTurn | undefined> {
  if (step.do !== 'close') return undefined;
  return { prompt: closingPrompt(step.by), error: await textOf(tx, config, step.by) };
}

async function textOf(tx: WriteTx, config: Config, by: UsedUp): Promise<string> {
  const { budget, kind } = by;
  return usedUpText(by, await remedyOf(tx, config, { ownerKey: budget.ownerKey, kind }));
}

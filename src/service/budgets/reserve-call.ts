/** A model call is paid for in advance: reserved in the unit before it, settled in the unit that has its answer (A22). */
import {
  type Budget,
  type BudgetHold,
  type CallStep,
  type CallUse,
  closingPrompt,
  countRun,
  nextCall,
  reserve,
  settle,
  unpricedText,
  type UsedUp,
  usedUpText,
} from '../../core/budget.ts';
import { formatModel, pricesOf } from '../../core/models.ts';
import type { Config } from '../../protocol/options/config.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import type { ServiceContext } from '../context.ts';
import { modelOfRun } from '../usage/model-of-run.ts';
import { budgetsOver, saveBudget, settingOf, toBudget } from './budgets-over.ts';

/** The last call of a run whose budget is used up. */
export interface ClosingTurn {
  /** added to the system prompt */
  prompt: string;
  /** what the run says when it has ended */
  error: string;
}

/** What budgets say to a run that is claimed. */
export interface BudgetedStart {
  /** false = it is under no budget, and none of its steps needs to look again */
  isBudgeted: boolean;
  /** why it cannot even begin */
  refusal?: string;
  closing?: ClosingTurn | undefined;
}

interface RunOf {
  run: Pick<RunRow, 'runId' | 'optionsJson'>;
  session: SessionRow;
}

/** Counts a run that begins under its budgets and reserves its first call. */
export async function startUnderBudget(
  tx: WriteTx,
  context: ServiceContext,
  of: RunOf,
): Promise<BudgetedStart> {
  const config = context.config();
  const budgets = await budgetsOver(tx, config, of.session);
  if (budgets.length === 0) return { isBudgeted: false };
  const unpriced = unpricedFault(config, { ...of, budgets });
  if (unpriced !== undefined) return { isBudgeted: true, refusal: unpriced };
  const step = nextCall(budgets, { need: needOf(of.session), isStart: true });
  if (step.do === 'refuse') return { isBudgeted: true, refusal: textOf(config, step.by) };
  await hold(tx, { runId: of.run.runId, budgets: budgets.map(countRun), step });
  return { isBudgeted: true, closing: closingOf(config, step) };
}

/**
 * Goes on with a run after its process died: what was reserved for a call that was under way is spent, because it may
 * have been billed. Reserves the next call, unless tools come first.
 */
export async function resumeUnderBudget(
  tx: WriteTx,
  context: ServiceContext,
  { isAsking, ...of }: RunOf & { isAsking: boolean },
): Promise<BudgetedStart> {
  const { runId } = of.run;
  // the time that no gateway played it is nobody's
  const holds = await settleHolds(tx, runId, { used: UNKNOWN, countsTime: false });
  const budgets = await budgetsOver(tx, context.config(), of.session);
  if (budgets.length === 0) {
    if (holds.length > 0) await tx.budgets.replaceHolds(runId, []);
    return { isBudgeted: false };
  }
  const none = budgets.map(() => NO_HOLD);
  await hold(tx, { runId, budgets, step: { do: 'call', holds: none } });
  if (isAsking) return { isBudgeted: true, closing: await reserveCall(tx, context, of) };
  return { isBudgeted: true };
}

/** Reserves the next call of a run; returns the closing turn when it is the last one. */
export async function reserveCall(
  tx: WriteTx,
  context: ServiceContext,
  { run, session, need }: RunOf & { need?: BudgetHold | undefined },
): Promise<ClosingTurn | undefined> {
  await settleHolds(tx, run.runId, { used: NOTHING, countsTime: true });
  const config = context.config();
  const budgets = await budgetsOver(tx, config, session);
  const step = nextCall(budgets, { need: need ?? needOf(session), isStart: false });
  if (step.do === 'refuse') return undefined;
  await hold(tx, { runId: run.runId, budgets, step });
  return closingOf(config, step);
}

/** Turns what a run has reserved into what its call used. With `isEnd` nothing of the run is left. */
export async function settleCall(
  tx: WriteTx,
  runId: string,
  { used, isEnd }: { used: CallUse; isEnd: boolean },
): Promise<void> {
  const holds = await settleHolds(tx, runId, { used, countsTime: true });
  const rest = isEnd ? [] : holds.map((row) => ({ ...row, tokens: 0, nanos: 0, at: tx.now }));
  if (holds.length > 0) await tx.budgets.replaceHolds(runId, rest);
}

/** Frees what a run had reserved that was never played to its end. */
export function dropHolds(tx: WriteTx, runId: string): Promise<void> {
  return settleCall(tx, runId, { used: UNKNOWN, isEnd: true });
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
const NOTHING: CallUse = { tokens: 0, usd: 0 };
const UNKNOWN: CallUse = { tokens: null, usd: null };

async function settleHolds(
  tx: WriteTx,
  runId: string,
  { used, countsTime }: { used: CallUse; countsTime: boolean },
) {
  const holds = await tx.budgets.holdsOf(runId);
  for (const { ownerKey, tokens, nanos, at } of holds) {
    const row = await tx.budgets.get(ownerKey);
    if (row === undefined) continue;
    const ms = countsTime ? tx.now - at : 0;
    await saveBudget(tx, settle(toBudget(row), { hold: { tokens, usd: nanos }, used, ms }));
  }
  return holds;
}

async function hold(
  tx: WriteTx,
  given: {
    runId: string;
    budgets: readonly Budget[];
    step: Exclude<CallStep, { do: 'refuse' }>;
  },
): Promise<void> {
  const { runId, budgets, step } = given;
  const rows = [];
  for (const [at, budget] of budgets.entries()) {
    const { tokens, usd } = step.holds[at] ?? NO_HOLD;
    await saveBudget(tx, reserve(budget, { tokens, usd }));
    rows.push({ runId, ownerKey: budget.ownerKey, tokens, nanos: usd, at: tx.now });
  }
  await tx.budgets.replaceHolds(runId, rows);
}

/** A call takes in at least the context as it was after the call before; what it costs is known only later. */
function needOf({ totalTokens }: SessionRow): BudgetHold {
  return { tokens: totalTokens ?? 1, usd: 1 };
}

function closingOf(config: Config, step: CallStep): ClosingTurn | undefined {
  if (step.do !== 'close') return undefined;
  return { prompt: closingPrompt(step.by), error: textOf(config, step.by) };
}

function textOf(config: Config, by: UsedUp): string {
  return usedUpText(by, settingOf(config, by.budget.ownerKey, by.kind));
}

/** Tokens and cost of model calls, booked in the transaction of the message that they made (A24, B7.7). */
import { type BudgetHold, type CallUse, NO_USE, UNKNOWN_USE } from '../../core/budget.ts';
import { formatModel, pricesOf } from '../../core/models.ts';
import { costNanosOf, nanosOfUsd, type TokenCounts, usdOfNanos } from '../../core/money.ts';
import type { AssistantMessage } from '../../protocol/message.ts';
import type { ModelCallRow } from '../../store/usage-repository.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import { wholeUpTo } from '../../util/bounded.ts';
import type { ServiceContext } from '../context.ts';
import { mayBeBudgeted, settleCall } from '../budgets/reserve-call.ts';
import type { UnbookedCalls } from './call-ledger.ts';
import { modelOfRun } from './model-of-run.ts';

/** More than any model call can use. */
const MAX_CALL_TOKENS = 1_000_000_000;
const NO_TOKENS: TokenCounts = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

/** The run that made the calls. */
export interface Caller {
  run: Pick<RunRow, 'runId' | 'optionsJson'>;
  session: SessionRow;
  /** of the step, from 1 */
  attempt: number;
}

/** A call of a run whose calls may be reserved under budgets. */
interface BudgetedCaller extends Caller {
  isBudgeted: boolean;
}

/**
 * Books the call of a message that is committed now, or of none, after those that came to nothing; and settles
 * them under the budgets of the run, whose end frees all that it has reserved.
 */
export async function bookCalls(
  tx: WriteTx,
  context: ServiceContext,
  {
    caller,
    message,
    unbooked,
    isEnd,
  }: {
    caller: BudgetedCaller;
    message: AssistantMessage | undefined;
    unbooked: UnbookedCalls | undefined;
    isEnd: boolean;
  },
): Promise<void> {
  const uses: CallUse[] = [];
  for (const failed of unbooked?.failed ?? [])
    uses.push(await bookMessage(tx, context, { caller, message: failed }));
  if (message !== undefined) uses.push(await bookMessage(tx, context, { caller, message }));
  else if (unbooked?.isAsking === true) {
    await bookUnknown(tx, context, caller);
    uses.push(UNKNOWN_USE);
  }
  // a run may have come under a budget by a reload, and left it by another one
  if (isEnd || mayBeBudgeted(context, caller)) {
    await settleCall(tx, caller.run.runId, { used: sumOf(uses), isEnd });
  }
}

/** One call of which nobody knows makes the sum unknown, and then at least what was reserved counts. */
function sumOf(uses: readonly CallUse[]): CallUse {
  const sum = (kind: keyof CallUse): number | null =>
    uses.some((use) => use[kind] === null)
      ? null
      : uses.reduce((total, use) => total + (use[kind] ?? 0), 0);
  return { tokens: sum('tokens'), usd: sum('usd') };
}

/** Books a call whose answer, if there was one, is lost: what it used is unknown, and said to be. */
export function bookUnknown(tx: WriteTx, context: ServiceContext, caller: Caller): Promise<void> {
  const model = modelOfRun(context.config(), caller);
  return book(tx, {
    caller,
    model: formatModel(model),
    outcome: 'unknown',
    tokens: undefined,
    costNanos: null,
  });
}

async function bookMessage(
  tx: WriteTx,
  context: ServiceContext,
  { caller, message }: { caller: Caller; message: AssistantMessage },
): Promise<CallUse> {
  const ref = { provider: message.provider, id: message.model };
  const model = formatModel(ref);
  const { runId } = caller.run;
  await tx.runs.update(runId, { model });
  if (!mayBeBilled(message)) return NO_USE;
  const tokens = tokensOf(message);
  const prices = pricesOf(context.config(), ref);
  const costNanos =
    tokens === undefined || prices === undefined ? null : costNanosOf(prices, tokens);
  const outcome = outcomeOf(message);
  await book(tx, { caller, model, outcome, tokens, costNanos });
  if (tokens === undefined) return UNKNOWN_USE;
  await addToRun(tx, runId, { tokens, costNanos });
  return { tokens: totalOf(tokens), usd: costNanos };
}

function book(
  tx: WriteTx,
  call: {
    caller: Caller;
    model: string;
    outcome: ModelCallRow['outcome'];
    /** undefined = unknown */
    tokens: TokenCounts | undefined;
    costNanos: number | null;
  },
): Promise<void> {
  const { caller, model, outcome, tokens, costNanos } = call;
  const { input, output, cacheRead, cacheWrite } = tokens ?? NO_TOKENS;
  const { key: sessionKey, agentId, rootKey } = caller.session;
  const { runId } = caller.run;
  return tx.usage.book(
    {
      runId,
      attempt: caller.attempt,
      model,
      outcome,
      usageKnown: tokens !== undefined,
      inputTokens: input,
      outputTokens: output,
      cacheReadTokens: cacheRead,
      cacheWriteTokens: cacheWrite,
      costNanos,
      at: tx.now,
    },
    { sessionKey, agentId, rootKey },
  );
}

/** The run's own sums: its cost is null from the first unpriced call on, because a part of it is no cost of the run. */
async function addToRun(
  tx: WriteTx,
  runId: string,
  { tokens, costNanos }: { tokens: TokenCounts; costNanos: number | null },
): Promise<void> {
  const run = await tx.runs.get(runId);
  if (run === undefined) return;
  const before = run.usageKnown ? run.costUsd : 0;
  await tx.runs.update(runId, {
    inputTokens: run.inputTokens + tokens.input,
    outputTokens: run.outputTokens + tokens.output,
    cacheReadTokens: run.cacheReadTokens + tokens.cacheRead,
    cacheWriteTokens: run.cacheWriteTokens + tokens.cacheWrite,
    costUsd:
      before === null || costNanos === null ? null : usdOfNanos(nanosOfUsd(before) + costNanos),
    usageKnown: true,
  });
}

/** A call that failed before anything was produced costs nothing; one that was cut short may. */
function mayBeBilled({ usage, content, stopReason }: AssistantMessage): boolean {
  return usage !== undefined || content.length > 0 || stopReason !== 'error';
}

function outcomeOf({ stopReason }: AssistantMessage): ModelCallRow['outcome'] {
  return stopReason === 'error' || stopReason === 'aborted' ? stopReason : 'ok';
}

/** Size of the context after this call: what the next one starts from (A7). Undefined when unknown. */
export function contextTokensAfter(message: AssistantMessage): number | undefined {
  const tokens = tokensOf(message);
  return tokens === undefined ? undefined : totalOf(tokens);
}

/** Returns what a call is expected to need that follows this message. */
export function needAfter(
  context: ServiceContext,
  message: AssistantMessage,
): BudgetHold | undefined {
  const tokens = tokensOf(message);
  if (tokens === undefined) return undefined;
  const prices = pricesOf(context.config(), { provider: message.provider, id: message.model });
  return {
    tokens: totalOf(tokens),
    usd: prices === undefined ? 0 : costNanosOf(prices, tokens),
  };
}

function totalOf({ input, output, cacheRead, cacheWrite }: TokenCounts): number {
  return input + output + cacheRead + cacheWrite;
}

/** What a model reports is a claim: a number that no call can have used must not stop the run from closing. */
function tokensOf({ usage }: AssistantMessage): TokenCounts | undefined {
  if (usage === undefined) return undefined;
  return {
    input: wholeUpTo(usage.input, MAX_CALL_TOKENS),
    output: wholeUpTo(usage.output, MAX_CALL_TOKENS),
    cacheRead: wholeUpTo(usage.cacheRead, MAX_CALL_TOKENS),
    cacheWrite: wholeUpTo(usage.cacheWrite, MAX_CALL_TOKENS),
  };
}

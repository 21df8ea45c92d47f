/** Tokens and cost of model calls, booked in the transaction of the message that they made (A24, B7.7). */
import { findAgent } from '../../core/agents.ts';
import { formatModel, modelOfSession, pricesOf } from '../../core/models.ts';
import { costNanosOf, nanosOfUsd, type TokenCounts, usdOfNanos } from '../../core/money.ts';
import { parseStoredObject } from '../../core/stored-message.ts';
import type { AssistantMessage } from '../../protocol/message.ts';
import type { ModelCallRow } from '../../store/usage-repository.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import { wholeUpTo } from '../../util/bounded.ts';
import type { ServiceContext } from '../context.ts';
import type { UnbookedCalls } from './call-ledger.ts';

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

/** Books the call of a message that is committed now, or of none, after those that came to nothing. */
export async function bookCalls(
  tx: WriteTx,
  context: ServiceContext,
  {
    caller,
    message,
    unbooked,
  }: {
    caller: Caller;
    message: AssistantMessage | undefined;
    unbooked: UnbookedCalls | undefined;
  },
): Promise<void> {
  for (const failed of unbooked?.failed ?? [])
    await bookMessage(tx, context, { caller, message: failed });
  if (message !== undefined) await bookMessage(tx, context, { caller, message });
  else if (unbooked?.isAsking === true) await bookUnknown(tx, context, caller);
}

/** Books a call whose answer, if there was one, is lost: what it used is unknown, and said to be. */
export function bookUnknown(tx: WriteTx, context: ServiceContext, caller: Caller): Promise<void> {
  const { run, session } = caller;
  const config = context.config();
  const options = run.optionsJson === null ? undefined : parseStoredObject(run.optionsJson);
  const override = typeof options?.['model'] === 'string' ? options['model'] : session.model;
  const model = modelOfSession(config, findAgent(config, session.agentId), override);
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
): Promise<void> {
  const ref = { provider: message.provider, id: message.model };
  const model = formatModel(ref);
  const { runId } = caller.run;
  await tx.runs.update(runId, { model });
  if (!mayBeBilled(message)) return;
  const tokens = tokensOf(message);
  const prices = pricesOf(context.config(), ref);
  const costNanos =
    tokens === undefined || prices === undefined ? null : costNanosOf(prices, tokens);
  const outcome = outcomeOf(message);
  await book(tx, { caller, model, outcome, tokens, costNanos });
  if (tokens !== undefined) await addToRun(tx, runId, { tokens, costNanos });
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
  if (tokens === undefined) return undefined;
  return tokens.input + tokens.output + tokens.cacheRead + tokens.cacheWrite;
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

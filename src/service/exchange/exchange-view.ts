/** An exchange as the operator reads it: how it ended, who said what, and what became of its announce. */
import { nextSpeaker } from '../../core/exchange.ts';
import { announceRunId, turnRunId } from '../../core/exchange-runs.ts';
import { isOutcome } from '../../core/run-state.ts';
import { worstDelivery } from '../../core/worst-delivery.ts';
import type { RunState } from '../../protocol/words.ts';
import type { ExchangeRow } from '../../store/follow-up-repository.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { ReadTx } from '../../store/store.ts';
import type {
  AnnounceView,
  ExchangeSummary,
  ExchangeTurnView,
  ExchangeView,
} from '../../protocol/answers/exchange-answers.ts';

/** Characters of one text in an answer; `textCut` says when there is more, and chat.history has it. */
const MAX_SHOWN_TEXT = 4_000;

/** Returns the line of a list: no texts, no runs. */
export function toSummary(row: ExchangeRow): ExchangeSummary {
  return {
    exchangeId: row.exchangeId,
    requesterKey: row.requesterKey,
    targetKey: row.targetKey,
    requesterRunId: row.requesterRunId,
    rootRunId: row.rootRunId,
    state: row.state,
    ...(row.endReason === null ? {} : { endReason: row.endReason }),
    ...(row.endDetail === null ? {} : { endDetail: row.endDetail }),
    turns: row.turns,
    maxTurns: row.maxTurns,
    createdAt: row.createdAt,
    ...(row.endedAt === null ? {} : { endedAt: row.endedAt }),
  };
}

/** Returns the whole exchange; its runs are found by their ids. */
export async function toView(tx: ReadTx, row: ExchangeRow): Promise<ExchangeView> {
  const said: ExchangeTurnView[] = [];
  for (const { runId, round, speakerKey } of roundsOf(row)) {
    const run = await tx.runs.get(runId);
    if (run !== undefined) said.push(toTurn(run, { round, speakerKey }));
  }
  return {
    ...toSummary(row),
    request: shown(row.requestText),
    said,
    announce: await announceOf(tx, row),
  };
}

/** Round 1 is the target's first reply, round `n + 1` reply-back turn `n`. */
function roundsOf(row: ExchangeRow): { runId: string; round: number; speakerKey: string }[] {
  const turns = Array.from({ length: row.maxTurns }, (_, done) => ({
    runId: turnRunId(row.exchangeId, done + 1),
    round: done + 2,
    speakerKey: nextSpeaker(done) === 'requester' ? row.requesterKey : row.targetKey,
  }));
  return [{ runId: row.exchangeId, round: 1, speakerKey: row.targetKey }, ...turns];
}

function toTurn(
  run: RunRow,
  { round, speakerKey }: { round: number; speakerKey: string },
): ExchangeTurnView {
  const { runId, error, startedAt, endedAt } = run;
  return {
    round,
    speakerKey,
    runId,
    ...stateOf(run.state),
    ...shown(run.reply ?? ''),
    ...(error === null ? {} : { error }),
    ...(startedAt === null ? {} : { startedAt }),
    ...(endedAt === null ? {} : { at: endedAt }),
  };
}

function stateOf(state: RunState): Pick<ExchangeTurnView, 'messageState' | 'outcome'> {
  return isOutcome(state) ? { messageState: 'done', outcome: state } : { messageState: state };
}

function shown(text: string): { text: string; textCut?: true } {
  if (text.length <= MAX_SHOWN_TEXT) return { text };
  return { text: text.slice(0, MAX_SHOWN_TEXT).toWellFormed(), textCut: true };
}

async function announceOf(tx: ReadTx, row: ExchangeRow): Promise<AnnounceView> {
  if (row.noAnnounce !== null) return { state: 'none', reason: row.noAnnounce };
  const run = await tx.runs.get(announceRunId(row.exchangeId));
  if (run === undefined) return { state: row.state === 'done' ? 'none' : 'pending' };
  const { runId } = run;
  if (!isOutcome(run.state)) return { state: 'turn', runId };
  if (run.state !== 'ok') {
    return { state: 'failed', runId, reason: run.error ?? `the turn ended ${run.state}` };
  }
  const worst = worstDelivery(await tx.deliveries.ofText(`reply:${runId}`));
  if (worst === undefined) return { state: 'silent', runId };
  const { state, channel, reason } = worst;
  return {
    state,
    runId,
    channel,
    ...(reason === null ? {} : { reason }),
    ...shown(run.reply ?? ''),
  };
}

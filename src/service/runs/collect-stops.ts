/**
 * What a stop reaches (A20): the run it names, and everything below it. Below a session are all its
 * descendants; below a run are the runs that its tool calls started, with what is below those, and
 * the turns of their exchanges.
 */
import { currentRunId } from '../../core/exchange-runs.ts';
import { isOutcome } from '../../core/run-state.ts';
import type { ExchangeRow } from '../../store/follow-up-repository.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { WriteTx } from '../../store/store.ts';

export type StopTarget =
  /** the run that a session is at, or is to begin with next; with `queued` every run of its lane */
  { type: 'session'; key: string; queued: boolean } | { type: 'run'; run: RunRow };

/** Everything that a stop ends. */
export interface StopSet {
  /** runs without an outcome that nobody has stopped yet, the nearest first */
  runs: RunRow[];
  /** exchanges that go no further */
  exchanges: ExchangeRow[];
}

/** Returns what the stop reaches. Holds every lane it looks into, so that nothing begins there meanwhile. */
export async function collectStops(tx: WriteTx, target: StopTarget): Promise<StopSet> {
  const walk = new StopWalk(tx);
  if (target.type === 'run') await walk.addRun(target.run);
  else await walk.addTarget(target);
  return { runs: [...walk.runs.values()], exchanges: [...walk.exchanges.values()] };
}

class StopWalk {
  readonly runs = new Map<string, RunRow>();
  readonly exchanges = new Map<string, ExchangeRow>();
  readonly #tx: WriteTx;
  readonly #seen = new Set<string>();
  constructor(tx: WriteTx) {
    this.#tx = tx;
  }

  async addTarget({ key, queued }: { key: string; queued: boolean }): Promise<void> {
    const waiting = await this.#runsOf(key);
    for (const run of queued ? waiting : waiting.slice(0, 1)) await this.addRun(run);
    for (const exchange of await this.#tx.exchanges.openOf(key)) {
      if (exchange.state !== 'primary') await this.#addExchange(exchange);
      // What this session asked for is answered, and comes to nothing more here. One whose first message
      // waits in this lane goes on with that message.
      else if (exchange.requesterKey === key) this.exchanges.set(exchange.exchangeId, exchange);
    }
    await this.#addBelow(key);
  }

  async addRun({ runId, sessionKey }: RunRow): Promise<void> {
    if (this.#isSeen(`run ${runId}`)) return;
    await this.#tx.lanes.hold(sessionKey);
    const run = await this.#tx.runs.get(runId);
    if (run === undefined) return;
    if (run.mergedInto !== null && !isOutcome(run.state)) {
      // Its message is part of that turn, and ends with it.
      const turn = await this.#tx.runs.get(run.mergedInto);
      return turn === undefined ? undefined : this.addRun(turn);
    }
    if (!isOutcome(run.state) && run.stoppedBy === null) this.runs.set(runId, run);
    if (run.exchangeId !== null) {
      const exchange = await this.#tx.exchanges.get(run.exchangeId);
      if (exchange !== undefined) await this.#addExchange(exchange);
    }
    for (const caused of await this.#tx.runs.causedBy(runId)) {
      if (caused.purpose === 'task') await this.#addSession(caused.sessionKey);
      await this.addRun(caused);
    }
  }

  /** The current run first, then those that wait, in lane order. */
  async #runsOf(key: string): Promise<RunRow[]> {
    const lane = await this.#tx.lanes.hold(key);
    const runId = lane?.currentRunId ?? null;
    const current = runId === null ? undefined : await this.#tx.runs.get(runId);
    return [...(current === undefined ? [] : [current]), ...(await this.#tx.runs.queuedOf(key))];
  }

  async #addSession(key: string): Promise<void> {
    if (this.#isSeen(`session ${key}`)) return;
    for (const run of await this.#runsOf(key)) await this.addRun(run);
    for (const exchange of await this.#tx.exchanges.openOf(key)) await this.#addExchange(exchange);
    await this.#addBelow(key);
  }

  async #addBelow(key: string): Promise<void> {
    for (const below of await this.#tx.sessions.busyBelow(key)) await this.#addSession(below);
  }

  async #addExchange(exchange: ExchangeRow): Promise<void> {
    const { exchangeId, state } = exchange;
    if (state === 'done' || this.exchanges.has(exchangeId)) return;
    this.exchanges.set(exchangeId, exchange);
    const turn = await this.#tx.runs.get(currentRunId(exchange));
    if (turn !== undefined && !isOutcome(turn.state)) await this.addRun(turn);
  }

  #isSeen(name: string): boolean {
    if (this.#seen.has(name)) return true;
    this.#seen.add(name);
    return false;
  }
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type ExchangeEvent,
  type ExchangeMove,
  type ExchangeView,
  moveExchange,
  nextSpeaker,
  type TurnResult,
} from './exchange.ts';
import { announceRunId, currentRunId, partOf, turnRunId } from './exchange-runs.ts';

const said = (reply: string): TurnResult => ({
  outcome: 'ok',
  reply,
  isReplySkip: false,
  error: null,
});
const skip: TurnResult = { ...said(''), isReplySkip: true };
const failed = (outcome: 'error' | 'timeout' | 'aborted'): TurnResult => ({
  ...said(''),
  outcome,
  error: `it ended ${outcome}`,
});
const at = (given: Partial<ExchangeView>): ExchangeView => ({
  state: 'primary',
  maxTurns: 5,
  turns: 0,
  endReason: null,
  ...given,
});
const advance = (given: Partial<Extract<ExchangeEvent, { type: 'advance' }>> = {}) => ({
  type: 'advance' as const,
  hasRequesterRunEnded: true,
  turnObstacle: undefined,
  noAnnounce: undefined,
  ...given,
});
const done = (change: object): ExchangeMove => ({
  change: { ...change, state: 'done' },
  follow: 'nothing',
});
const due = (change: object): ExchangeMove => ({
  change: { ...change, state: 'due' },
  follow: 'advance',
});

test('[EX1] a failed or silent primary run ends the exchange without a turn or an announce', () => {
  const after = (result: TurnResult) => moveExchange(at({}), { type: 'primary-ended', result });
  for (const outcome of ['error', 'timeout', 'aborted'] as const) {
    const end = { endReason: 'error', endDetail: `it ended ${outcome}`, noAnnounce: 'no_reply' };
    assert.deepEqual(after(failed(outcome)), done(end));
  }
  assert.deepEqual(after(said('')), done({ endReason: 'empty', noAnnounce: 'no_reply' }));
});

test('[EX2] no reply-back turn follows when the limit is 0, but the announce does', () => {
  const move = moveExchange(at({ maxTurns: 0 }), { type: 'primary-ended', result: said('hi') });
  assert.deepEqual(move, due({ endReason: 'max_turns', firstReply: 'hi', latestReply: 'hi' }));
  const after = at({ state: 'due', maxTurns: 0, endReason: 'max_turns' });
  assert.equal(moveExchange(after, advance())?.follow, 'announce');
});

test('[EX3] the requester speaks first and the two sides alternate', () => {
  assert.deepEqual([0, 1, 2, 3, 4].map(nextSpeaker), [
    'requester',
    'target',
    'requester',
    'target',
    'requester',
  ]);
});

test('[EX4] a turn ends the loop by failure, skip, silence or the limit, in this order of reading', () => {
  const last = at({ state: 'turn', maxTurns: 2, turns: 1 });
  const after = (exchange: ExchangeView, result: TurnResult) =>
    moveExchange(exchange, { type: 'turn-ended', turn: exchange.turns + 1, result });
  for (const outcome of ['error', 'timeout', 'aborted'] as const) {
    const end = { turns: 2, endReason: 'error', endDetail: `it ended ${outcome}` };
    assert.deepEqual(after(last, failed(outcome)), due(end));
  }
  assert.deepEqual(after(last, skip), due({ turns: 2, endReason: 'reply_skip' }));
  assert.deepEqual(after(last, said('')), due({ turns: 2, endReason: 'empty' }));
  assert.deepEqual(
    after(last, said('x')),
    due({ turns: 2, endReason: 'max_turns', latestReply: 'x' }),
  );
  const first = at({ state: 'turn', maxTurns: 2, turns: 0 });
  assert.deepEqual(after(first, said('x')), due({ turns: 1, latestReply: 'x' }));
});

test('[EX17] the next turn waits for the run that sent; what ends the loop is announced without waiting', () => {
  const waiting = advance({ hasRequesterRunEnded: false });
  assert.deepEqual(moveExchange(at({ state: 'due' }), waiting), { change: {}, follow: 'nothing' });
  const over = at({ state: 'due', endReason: 'error' });
  assert.equal(moveExchange(over, waiting)?.follow, 'announce');
});

test('[EX18] what stands in the way of a turn ends the loop by name, and what exists is announced', () => {
  for (const endReason of ['error', 'no_runtime'] as const) {
    const turnObstacle = { endReason, detail: 'why' };
    assert.deepEqual(moveExchange(at({ state: 'due' }), advance({ turnObstacle })), {
      change: { endReason, endDetail: 'why', state: 'announce' },
      follow: 'announce',
    });
    assert.deepEqual(
      moveExchange(at({ state: 'due' }), advance({ turnObstacle, noAnnounce: 'no_route' })),
      done({ endReason, endDetail: 'why', noAnnounce: 'no_route' }),
    );
  }
});

test('[EX16] what still talks gives way to a newer message, an outcome that is only to be told does not', () => {
  const end = { endReason: 'superseded', noAnnounce: 'superseded', state: 'done' };
  const superseded = { type: 'superseded' } as const;
  for (const state of ['primary', 'due', 'turn'] as const) {
    const follow = state === 'turn' ? 'drop-turn' : 'nothing';
    assert.deepEqual(moveExchange(at({ state }), superseded), { change: end, follow }, state);
  }
  for (const state of ['due', 'announce', 'done'] as const) {
    assert.equal(moveExchange(at({ state, endReason: 'max_turns' }), superseded), undefined);
  }
});

test('[EX19] the runs of an exchange are known by their ids', () => {
  const id = '7b0c';
  assert.deepEqual(partOf(id, id), { type: 'primary' });
  assert.deepEqual(partOf(id, turnRunId(id, 3)), { type: 'turn', turn: 3 });
  assert.deepEqual(partOf(id, announceRunId(id)), { type: 'announce' });
  for (const other of ['7b0', `${id}:turn:0`, `${id}:turn:x`, `${id}:turn:`, `x${id}:turn:1`]) {
    assert.equal(partOf(id, other), undefined, other);
  }
  assert.equal(
    currentRunId({ exchangeId: id, ...at({ state: 'turn', turns: 2 }) }),
    `${id}:turn:3`,
  );
});

/** An exchange among the rows around it, moved as the units of work move it. */
class World {
  exchange: ExchangeView;
  hasJob = false;
  hasRequesterRunEnded = false;
  ends = 0;
  readonly runs = new Map<string, { state: 'queued' | 'running' | 'ended'; event?: ExchangeEvent }>(
    [['x', { state: 'queued' }]],
  );
  constructor(maxTurns: number) {
    this.exchange = at({ maxTurns });
  }

  apply(event: ExchangeEvent): void {
    const before = this.exchange;
    const move = moveExchange(before, event);
    if (move === undefined) return;
    const { change, follow } = move;
    this.exchange = { ...before, ...(change as Partial<ExchangeView>) };
    if (change.state === 'done') this.ends += 1;
    if (before.endReason !== null) assert.equal(this.exchange.endReason, before.endReason);
    if (follow === 'advance') this.hasJob = true;
    if (follow === 'turn') this.queue(turnRunId('x', this.exchange.turns + 1));
    if (follow === 'announce') this.queue(announceRunId('x'));
    if (follow === 'drop-turn') this.drop(turnRunId('x', this.exchange.turns + 1));
    this.check();
  }

  queue(runId: string): void {
    assert.equal(this.runs.has(runId), false, `${runId} is queued a second time`);
    this.runs.set(runId, { state: 'queued' });
  }

  drop(runId: string): void {
    if (this.runs.get(runId)?.state === 'queued') this.runs.delete(runId);
  }

  start(runId: string): void {
    const run = this.runs.get(runId);
    if (run?.state !== 'queued') return;
    const isTurn = partOf('x', runId)?.type === 'turn';
    assert.ok(!isTurn || this.exchange.state === 'turn', `${runId} starts, its exchange is over`);
    run.state = 'running';
  }

  end(runId: string, result: TurnResult): void {
    const run = this.runs.get(runId);
    const part = partOf('x', runId);
    if (run?.state !== 'running' || part === undefined) return;
    run.state = 'ended';
    run.event =
      part.type === 'turn'
        ? { type: 'turn-ended', turn: part.turn, result }
        : part.type === 'primary'
          ? { type: 'primary-ended', result }
          : { type: 'announce-ended' };
    this.apply(run.event);
  }

  stop(): void {
    this.apply({ type: 'stopped', detail: 'by the operator' });
    for (const [runId, run] of this.runs) if (run.state === 'queued') this.runs.delete(runId);
  }

  endRequester(): void {
    this.hasRequesterRunEnded = true;
    if (this.exchange.state === 'due') this.hasJob = true;
  }

  job(facts: { isBlocked: boolean; hasChat: boolean }, replayed: boolean): void {
    if (!this.hasJob && !replayed) return;
    this.hasJob = false;
    this.apply({
      type: 'advance',
      hasRequesterRunEnded: this.hasRequesterRunEnded,
      turnObstacle: facts.isBlocked ? { endReason: 'error', detail: 'limit' } : undefined,
      noAnnounce: facts.hasChat ? undefined : 'no_route',
    });
    // a job that has ended early is due again: nothing else would move the exchange
    if (replayed && this.exchange.state === 'due') this.hasJob = true;
  }

  /** whatever state it is in, something moves it on */
  check(): void {
    const { state, endReason } = this.exchange;
    const isOpen = (runId: string): boolean =>
      ['queued', 'running'].includes(this.runs.get(runId)?.state ?? '');
    if (state === 'due') {
      assert.ok(this.hasJob || (endReason === null && !this.hasRequesterRunEnded), 'lost: due');
    } else if (state === 'done') {
      assert.equal(this.ends, 1);
      assert.notEqual(endReason, null);
    } else {
      assert.ok(isOpen(currentRunId({ exchangeId: 'x', ...this.exchange })), `lost: ${state}`);
    }
  }

  settle(): void {
    for (let step = 0; this.exchange.state !== 'done' && step < 100; step += 1) {
      this.endRequester();
      for (const runId of this.runs.keys()) {
        this.start(runId);
        this.end(runId, said('more'));
      }
      this.job({ isBlocked: false, hasChat: true }, false);
    }
  }
}

const anyResult = fc.record({
  outcome: fc.constantFrom<TurnResult['outcome']>(
    ...Array<'ok'>(9).fill('ok'),
    'error',
    'timeout',
    'aborted',
  ),
  reply: fc.constantFrom('', 'text', 'text', 'text'),
  isReplySkip: fc.constantFrom(false, false, false, true),
  error: fc.constant(null),
});
/** one of the runs that are there, counted from the newest */
const anyRun = fc.nat({ max: 6 });
const pick = ({ runs }: World, place: number): string => {
  const ids = [...runs.keys()];
  return ids.at(-1 - (place % Math.max(ids.length, 1))) ?? '';
};
type Act = (world: World) => void;
const anyAct: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 12,
    arbitrary: anyRun.map(
      (at): Act =>
        (world) =>
          world.start(pick(world, at)),
    ),
  },
  {
    weight: 12,
    arbitrary: fc.tuple(anyRun, anyResult).map(
      ([at, result]): Act =>
        (world) =>
          world.end(pick(world, at), result),
    ),
  },
  {
    weight: 10,
    arbitrary: fc
      .tuple(fc.record({ isBlocked: fc.boolean(), hasChat: fc.boolean() }), fc.boolean())
      .map(
        ([facts, replayed]): Act =>
          (world) =>
            world.job({ ...facts, isBlocked: facts.isBlocked && replayed }, replayed),
      ),
  },
  // a crash before the answer: the unit of an ended run is done again
  {
    weight: 6,
    arbitrary: anyRun.map((at): Act => (world) => {
      const event = world.runs.get(pick(world, at))?.event;
      if (event !== undefined) world.apply(event);
    }),
  },
  { weight: 4, arbitrary: fc.constant<Act>((world) => world.endRequester()) },
  { weight: 1, arbitrary: fc.constant<Act>((world) => world.apply({ type: 'superseded' })) },
  { weight: 1, arbitrary: fc.constant<Act>((world) => world.stop()) },
);

test('[EX5, EX20] in whatever order things happen, and happen again, an exchange ends once and loses no step', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 5 }),
      fc.array(anyAct, { maxLength: 80, size: 'max' }),
      (maxTurns, acts) => {
        const world = new World(maxTurns);
        for (const act of acts) act(world);
        world.settle();
        assert.equal(world.exchange.state, 'done');
        assert.equal(world.ends, 1);
        assert.ok(world.exchange.turns <= maxTurns);
        const turns = [...world.runs.keys()].filter((id) => partOf('x', id)?.type === 'turn');
        assert.ok(turns.length <= maxTurns);
      },
    ),
    { numRuns: 3000 },
  );
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { must } from '../util/assert.ts';
import {
  type Budget,
  type BudgetHold,
  type CallUse,
  countRun,
  firstCall,
  freshBudget,
  join,
  leave,
  nextCall,
  passTime,
  reserve,
  restOf,
  settle,
  skipTime,
  startAnew,
} from './budget.ts';
import { type BudgetLimits, limitsOf } from './budget-limits.ts';
import { wideningFault } from './child-budget.ts';

/** Most that one call of the trees below uses; what is reserved, so that a reservation is always enough. */
const CALL_MAX = { tokens: 100, usd: 70 };
const UNKNOWN: CallUse = { tokens: null, usd: null };

interface Run {
  holds: BudgetHold[];
  step: 'call' | 'close';
}

/** A tree whose runs ask, close and die with their gateway; the rules are what is tested, this only keeps the rows. */
class Tree {
  now = 0;
  readonly budgets = new Map<string, Budget>();
  readonly runs = new Map<string, Run>();
  /** by budget: all that calls used, runs that have ever begun, ms in which any run was played */
  readonly truth = new Map<string, { tokens: number; usd: number; runs: number; ms: number }>();

  give(key: string, limits: BudgetLimits): void {
    this.budgets.set(key, freshBudget(key, limits));
    this.truth.set(key, { tokens: 0, usd: 0, runs: 0, ms: 0 });
  }

  /** `a.b` is below `a`, and all are below the root `''`. */
  over(key: string): Budget[] {
    const above = key.includes('.') ? key.slice(0, key.lastIndexOf('.')) : key === '' ? null : '';
    const own = this.budgets.get(key);
    return [...(above === null ? [] : this.over(above)), ...(own === undefined ? [] : [own])];
  }

  under(ownerKey: string): string[] {
    return [...this.runs.keys()].filter((key) =>
      this.over(key).some((b) => b.ownerKey === ownerKey),
    );
  }

  save(budgets: readonly Budget[]): void {
    for (const budget of budgets) this.budgets.set(budget.ownerKey, budget);
  }

  pass(ms: number, isUp: boolean): void {
    this.now += ms;
    for (const [key, truth] of this.truth) if (isUp && this.under(key).length > 0) truth.ms += ms;
  }

  begin(key: string): void {
    const budgets = this.over(key).map((budget) => passTime(budget, this.now));
    const step = firstCall(budgets, CALL_MAX);
    if (step.do === 'refuse') return;
    const joined = budgets.map((budget) => join(countRun(budget), this.now));
    this.save(joined.map((budget, at) => reserve(budget, must(step.holds[at], 'hold'))));
    this.runs.set(key, { holds: step.holds, step: step.do });
    for (const { ownerKey } of budgets) must(this.truth.get(ownerKey), 'truth').runs += 1;
  }

  /** Its call has its answer, and it asks again; or it has ended. */
  goOn(key: string, used: { tokens: number; usd: number } | 'lost', isEnd: boolean): void {
    const { holds, step } = must(this.runs.get(key), 'run');
    const settled = this.over(key).map((budget, at) => {
      const hold = must(holds[at], 'hold');
      const truth = must(this.truth.get(budget.ownerKey), 'truth');
      truth.tokens += used === 'lost' ? hold.tokens : used.tokens;
      truth.usd += used === 'lost' ? hold.usd : used.usd;
      return passTime(settle(budget, { hold, used: used === 'lost' ? UNKNOWN : used }), this.now);
    });
    if (isEnd || step === 'close') {
      this.save(settled.map((budget) => leave(budget, this.now)));
      this.runs.delete(key);
      return;
    }
    const next = nextCall(settled, CALL_MAX);
    this.save(settled.map((budget, at) => reserve(budget, must(next.holds[at], 'hold'))));
    this.runs.set(key, { holds: next.holds, step: next.do });
  }

  /** The gateway dies, and a while later all runs go on; calls under way are lost. */
  restart(downMs: number): void {
    this.pass(downMs, false);
    for (const [key, { holds }] of this.runs) {
      const settled = this.over(key).map((budget, at) => {
        const hold = must(holds[at], 'hold');
        const truth = must(this.truth.get(budget.ownerKey), 'truth');
        truth.tokens += hold.tokens;
        truth.usd += hold.usd;
        return skipTime(settle(budget, { hold, used: UNKNOWN }), this.now);
      });
      const next = nextCall(settled, CALL_MAX);
      this.save(settled.map((budget, at) => reserve(budget, must(next.holds[at], 'hold'))));
      this.runs.set(key, { holds: next.holds, step: next.do });
    }
  }
}

const KEYS = ['', 'a', 'b', 'a.a', 'a.b', 'a.a.a'];
const anyLimit = fc.option(fc.integer({ min: 1, max: 1500 }));
const anyLimits = fc.record({
  tokens: anyLimit,
  usd: anyLimit,
  runs: fc.option(fc.integer({ min: 1, max: 4 })),
  seconds: fc.option(fc.integer({ min: 1, max: 60 })),
});
const anyStep = fc.record({
  key: fc.constantFrom(...KEYS),
  does: fc.constantFrom('go', 'go', 'go', 'go', 'end', 'lose', 'restart', 'narrow'),
  tokens: fc.integer({ min: 0, max: CALL_MAX.tokens }),
  usd: fc.integer({ min: 0, max: CALL_MAX.usd }),
  ms: fc.integer({ min: 0, max: 9 }),
  limits: anyLimits,
});

describe('budgets', () => {
  it('[BU7, BU8] in any tree and order: each thing is counted once, one call a run goes beyond, and nothing stays reserved', () => {
    fc.assert(
      fc.property(anyLimits, fc.array(anyStep, { maxLength: 120 }), (limits, steps) => {
        const tree = new Tree();
        tree.give('', limits);
        let hasRestarted = false;
        for (const { key, does, tokens, usd, ms, limits: wanted } of steps) {
          tree.pass(ms, true);
          if (does === 'restart') {
            hasRestarted = true;
            tree.restart(ms);
          } else if (does === 'narrow') {
            narrow(tree, key, wanted);
          } else if (!tree.runs.has(key)) tree.begin(key);
          else tree.goOn(key, does === 'lose' ? 'lost' : { tokens, usd }, does === 'end');
          for (const budget of tree.budgets.values()) assertSound(tree, budget, hasRestarted);
        }
        for (const key of tree.runs.keys()) tree.goOn(key, { tokens: 1, usd: 1 }, true);
        for (const budget of tree.budgets.values()) {
          assert.deepEqual(budget.reserved, { tokens: 0, usd: 0 });
          assert.deepEqual([budget.going, budget.countedTo], [0, null]);
        }
      }),
      { numRuns: 400 },
    );
  });

  it('[BU7] a call that begins when less is left than the one before it used is the last one', () => {
    const budget = {
      ...budgetOf({ tokens: 100 }),
      spent: { tokens: 60, usd: 0, runs: 1, seconds: 0 },
    };
    const at = (tokens: number) => nextCall([budget], { tokens, usd: 0 }).do;
    assert.deepEqual([at(0), at(40), at(41)], ['call', 'call', 'close']);
  });

  it('[BU7] a run does not begin under a budget that is spent, and closes where others hold the rest', () => {
    const start = (budget: Budget) => firstCall([budget], { tokens: 1, usd: 1 }).do;
    const spent = { tokens: 100, usd: 0, runs: 0, seconds: 0 };
    const budget = budgetOf({ tokens: 100 });
    assert.equal(start({ ...budget, spent }), 'refuse');
    assert.equal(start({ ...budget, reserved: { tokens: 100, usd: 0 } }), 'close');
    assert.equal(start(budgetOf({})), 'call');
  });

  it('[BU7] sums stop where whole numbers would no longer be exact', () => {
    const most = Number.MAX_SAFE_INTEGER;
    let budget = join(
      { ...budgetOf({}), spent: { tokens: most, usd: most, runs: most, seconds: most } },
      0,
    );
    budget = reserve(budget, { tokens: most, usd: 1 });
    budget = countRun(reserve(budget, { tokens: most, usd: 1 }));
    budget = passTime(
      settle(budget, { hold: { tokens: 1, usd: 1 }, used: { tokens: 5, usd: 5 } }),
      9,
    );
    assert.deepEqual(budget.spent, { tokens: most, usd: most, runs: most, seconds: most });
    assert.equal(restOf({ ...budget, limits: limitsOf({ tokens: most }) }).tokens, 0);
  });

  it('[BU8] two runs side by side take their time once, and a clock that goes back takes none', () => {
    const both = join(join(budgetOf({}), 10), 20);
    const one = leave(both, 50);
    assert.deepEqual([one.spent.seconds, one.countedTo], [40, 50]);
    const none = leave(passTime(one, 45), 80);
    assert.deepEqual([none.spent.seconds, none.going, none.countedTo], [70, 0, null]);
    assert.equal(passTime(none, 999).spent.seconds, 70, 'while nobody runs, no time goes by');
  });

  it('[BU2] begun anew, nothing is spent, and what runs hold they hold', () => {
    const used = reserve(join(countRun(budgetOf({})), 5), { tokens: 7, usd: 8 });
    const anew = startAnew({ ...used, spent: { tokens: 9, usd: 9, runs: 9, seconds: 9 } }, 30);
    assert.deepEqual(anew.spent, { tokens: 0, usd: 0, runs: 0, seconds: 0 });
    assert.deepEqual(anew.reserved, { tokens: 7, usd: 8 });
    assert.deepEqual([anew.going, anew.countedTo], [1, 30]);
  });
});

function budgetOf(limits: Partial<BudgetLimits>): Budget {
  return freshBudget('k', { tokens: null, usd: null, runs: null, seconds: null, ...limits });
}

/** Gives a session that has not begun a budget of its own, when it is allowed. */
function narrow(tree: Tree, key: string, wanted: BudgetLimits): void {
  const hasBegun = [...tree.runs.keys()].some((each) => each.startsWith(key));
  if (key === '' || tree.budgets.has(key) || hasBegun) return;
  if (wideningFault(tree.over(key), wanted) === undefined) tree.give(key, wanted);
}

function assertSound(tree: Tree, budget: Budget, hasRestarted: boolean): void {
  const { limits, spent, reserved, ownerKey } = budget;
  for (const rest of Object.values(restOf(budget))) assert.ok(rest === null || rest >= 0);
  const going = tree.under(ownerKey);
  const truth = must(tree.truth.get(ownerKey), 'truth');
  const held = { tokens: 0, usd: 0 };
  for (const key of going) {
    const at = tree.over(key).findIndex((each) => each.ownerKey === ownerKey);
    const hold = must(tree.runs.get(key)?.holds[at], 'hold');
    held.tokens += hold.tokens;
    held.usd += hold.usd;
  }
  assert.deepEqual(reserved, held, 'what is reserved is what runs hold');
  assert.equal(budget.going, going.length);
  assert.deepEqual([spent.tokens, spent.usd], [truth.tokens, truth.usd]);
  assert.equal(spent.runs, truth.runs);
  if (limits.runs !== null) assert.ok(spent.runs <= limits.runs);
  for (const kind of ['tokens', 'usd'] as const) {
    const limit = limits[kind];
    const most = (limit ?? Infinity) + spent.runs * CALL_MAX[kind];
    assert.ok(spent[kind] <= most, `${kind} ${spent[kind]} of ${limit}`);
  }
  const counted = passTime(budget, tree.now).spent.seconds;
  if (hasRestarted) assert.ok(counted <= truth.ms, `${counted} of ${truth.ms} ms`);
  else assert.equal(counted, truth.ms);
}

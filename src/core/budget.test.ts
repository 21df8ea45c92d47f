import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  type Budget,
  BUDGET_KINDS,
  type BudgetHold,
  type BudgetLimits,
  countRun,
  limitsOf,
  narrower,
  nextCall,
  reserve,
  restOf,
  settle,
  usedUpText,
  wideningFault,
} from './budget.ts';

/** Most that one call of the trees below uses. */
const CALL_MAX = { tokens: 100, usd: 70 };

function budgetOf(ownerKey: string, limits: Partial<BudgetLimits>): Budget {
  return {
    ownerKey,
    limits: { tokens: null, usd: null, runs: null, seconds: null, ...limits },
    spent: { tokens: 0, usd: 0, runs: 0, seconds: 0 },
    reserved: { tokens: 0, usd: 0 },
  };
}

/** A tree in which runs reserve, settle and crash; the rules are what is tested, this only keeps the rows. */
class Tree {
  readonly budgets = new Map<string, Budget>();
  readonly parents = new Map<string, string>();
  readonly runs = new Map<string, { holds: BudgetHold[]; step: 'call' | 'close' }>();
  /** how many runs have ever been under each budget */
  readonly ran = new Map<string, Set<string>>();

  over(key: string): Budget[] {
    const above = this.parents.get(key);
    const own = this.budgets.get(key);
    return [...(above === undefined ? [] : this.over(above)), ...(own === undefined ? [] : [own])];
  }

  save(budgets: readonly Budget[]): void {
    for (const budget of budgets) this.budgets.set(budget.ownerKey, budget);
  }

  /** need = the most that a call can use, so that what is reserved is enough */
  reserve(key: string, isStart: boolean): void {
    const budgets = this.over(key);
    const step = nextCall(budgets, { need: CALL_MAX, isStart });
    if (step.do === 'refuse') return;
    const counted = isStart ? budgets.map(countRun) : budgets;
    this.save(counted.map((budget, at) => reserve(budget, step.holds[at]!)));
    this.runs.set(key, { holds: step.holds, step: step.do });
    for (const { ownerKey } of budgets) {
      this.ran.set(ownerKey, (this.ran.get(ownerKey) ?? new Set()).add(key));
    }
  }

  settle(key: string, used: { tokens: number | null; usd: number | null }): void {
    const run = this.runs.get(key);
    if (run === undefined) return;
    this.save(
      this.over(key).map((each, at) => settle(each, { hold: run.holds[at]!, used, ms: 1 })),
    );
    this.runs.delete(key);
  }
}

const KEYS = ['root', 'a', 'b', 'aa', 'ab', 'aaa'];
const PARENTS: Record<string, string> = { a: 'root', b: 'root', aa: 'a', ab: 'a', aaa: 'aa' };
const anyLimit = fc.option(fc.integer({ min: 1, max: 1500 }));
const anyLimits = fc.record({
  tokens: anyLimit,
  usd: anyLimit,
  runs: fc.option(fc.integer({ min: 1, max: 4 })),
  seconds: fc.option(fc.integer({ min: 1, max: 20 })),
});
const anyStep = fc.record({
  key: fc.constantFrom(...KEYS),
  does: fc.constantFrom('go', 'go', 'go', 'crash', 'narrow'),
  tokens: fc.integer({ min: 0, max: CALL_MAX.tokens }),
  usd: fc.integer({ min: 0, max: CALL_MAX.usd }),
  isLost: fc.boolean(),
});

describe('budgets', () => {
  it('[BU7] in any tree and order: no rest below 0, at most one call a run beyond the limit, and nothing stays reserved', () => {
    fc.assert(
      fc.property(
        anyLimits,
        fc.array(fc.tuple(anyStep, anyLimits), { maxLength: 120 }),
        (limits, steps) => {
          const tree = new Tree();
          tree.budgets.set('root', budgetOf('root', limits));
          for (const [key, parent] of Object.entries(PARENTS)) tree.parents.set(key, parent);
          const begun = new Set<string>();
          const ended = new Set<string>();
          for (const [{ key, does, tokens, usd, isLost }, wanted] of steps) {
            const run = tree.runs.get(key);
            if (does === 'narrow') {
              const isNew = !tree.budgets.has(key) && !begun.has(key);
              const hasBegunBelow = KEYS.some((each) => begun.has(each) && each.startsWith(key));
              if (!isNew || hasBegunBelow) continue;
              const above = tree.over(tree.parents.get(key) ?? 'root');
              if (wideningFault(above, wanted) === undefined)
                tree.budgets.set(key, budgetOf(key, wanted));
              else assert.ok(above.some((budget) => isWider(wanted, restOf(budget))));
            } else if (ended.has(key)) continue;
            else if (run === undefined) {
              tree.reserve(key, !begun.has(key));
              if (tree.runs.has(key)) begun.add(key);
              else ended.add(key);
            } else {
              // a crash may have been billed: what was reserved is spent, and the run goes on
              const used =
                does === 'crash' || isLost ? { tokens: null, usd: null } : { tokens, usd };
              tree.settle(key, used);
              if (run.step === 'close') ended.add(key);
            }
            for (const budget of tree.budgets.values()) assertSound(tree, budget);
          }
          for (const key of KEYS) tree.settle(key, { tokens: 1, usd: 1 });
          for (const { reserved } of tree.budgets.values())
            assert.deepEqual(reserved, { tokens: 0, usd: 0 });
        },
      ),
      { numRuns: 400 },
    );
  });

  it('[BU7] a call that begins when less is left than the one before it used is the last one', () => {
    const budget = {
      ...budgetOf('k', { tokens: 100 }),
      spent: { tokens: 60, usd: 0, runs: 1, seconds: 0 },
    };
    const at = (tokens: number) =>
      nextCall([budget], { need: { tokens, usd: 0 }, isStart: false }).do;
    assert.deepEqual([at(0), at(40), at(41)], ['call', 'call', 'close']);
  });

  it('[BU7] a run does not begin under a budget that is spent, and closes where others hold the rest', () => {
    const start = (budget: Budget) =>
      nextCall([budget], { need: { tokens: 1, usd: 1 }, isStart: true }).do;
    const spent = { tokens: 100, usd: 0, runs: 0, seconds: 0 };
    assert.equal(start({ ...budgetOf('k', { tokens: 100 }), spent }), 'refuse');
    assert.equal(
      start({ ...budgetOf('k', { tokens: 100 }), reserved: { tokens: 100, usd: 0 } }),
      'close',
    );
    assert.equal(start(budgetOf('k', {})), 'call');
  });

  it('[BU3] takes the smaller one of each limit', () => {
    const one = limitsOf({ tokens: 5, usd: 0.5 });
    assert.deepEqual(narrower(one, limitsOf({ tokens: 9, seconds: 1.5 })), {
      tokens: 5,
      usd: 500_000_000,
      runs: null,
      seconds: 1500,
    });
    assert.deepEqual(narrower(one, undefined), one);
    assert.equal(narrower(undefined, undefined), undefined);
  });

  it('[BU2] says how much of what is used, and what to raise', () => {
    const budget = {
      ...budgetOf('k', { usd: 1_500_000_000 }),
      spent: { tokens: 0, usd: 1_500_000_001, runs: 0, seconds: 0 },
    };
    assert.equal(
      usedUpText({ budget, kind: 'usd' }, 'raise x'),
      'the budget of k is used up: $1.500000001 of $1.50 usd (raise x)',
    );
  });
});

function isWider(wanted: BudgetLimits, rest: BudgetLimits): boolean {
  return BUDGET_KINDS.some((kind) => (wanted[kind] ?? 0) > (rest[kind] ?? Infinity));
}

function assertSound(tree: Tree, budget: Budget): void {
  const { limits, spent, reserved, ownerKey } = budget;
  for (const rest of Object.values(restOf(budget))) assert.ok(rest === null || rest >= 0);
  const going = [...tree.runs.keys()].filter((key) =>
    tree.over(key).some((each) => each.ownerKey === ownerKey),
  );
  const held = { tokens: 0, usd: 0 };
  for (const key of going) {
    const at = tree.over(key).findIndex((each) => each.ownerKey === ownerKey);
    held.tokens += tree.runs.get(key)!.holds[at]!.tokens;
    held.usd += tree.runs.get(key)!.holds[at]!.usd;
  }
  assert.deepEqual(reserved, held, 'what is reserved is what runs hold');
  const runs = tree.ran.get(ownerKey)?.size ?? 0;
  for (const kind of ['tokens', 'usd'] as const) {
    const limit = limits[kind];
    if (limit !== null)
      assert.ok(spent[kind] <= limit + runs * CALL_MAX[kind], `${kind} ${spent[kind]} of ${limit}`);
  }
  if (limits.runs !== null) assert.ok(spent.runs <= limits.runs);
}

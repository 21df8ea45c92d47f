import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { freshBudget, restOf } from './budget.ts';
import { BUDGET_KINDS, type BudgetLimits, limitsOf, narrower } from './budget-limits.ts';
import { usedUpText } from './budget-texts.ts';
import {
  type ChildBudgetFacts,
  childBudgetFault,
  childLimits,
  childPriceFault,
} from './child-budget.ts';

const FREE: ChildBudgetFacts = {
  above: [],
  ofAgent: undefined,
  asked: undefined,
  model: 'p/m',
  isPriced: true,
};
const anyAmount = fc.option(fc.integer({ min: 1, max: 20 }));
const anyLimits = fc.record({
  tokens: anyAmount,
  usd: anyAmount,
  runs: anyAmount,
  seconds: anyAmount,
});

test('[BU3] takes the smaller one of each limit', () => {
  const one = limitsOf({ tokens: 5, usd: 0.5 });
  const both = { tokens: 5, usd: 500_000_000, runs: null, seconds: 1500 };
  assert.deepEqual(narrower(one, limitsOf({ tokens: 9, seconds: 1.5 })), both);
  assert.deepEqual(narrower(one, undefined), one);
  assert.equal(narrower(undefined, undefined), undefined);
});

test('[BU3] a limit is never rounded to nothing', () => {
  const least = limitsOf({ tokens: 1, usd: 1e-12, runs: 1, seconds: 1e-9 });
  assert.deepEqual(Object.values(least), [1, 1, 1, 1]);
});

test('[BU3] under any budgets a child is refused exactly when it asks for more than is left of one', () => {
  const anyBudget = fc
    .tuple(anyLimits, anyLimits)
    .map(([limits, used]): ReturnType<typeof freshBudget> => {
      const spent = { ...used, tokens: used.tokens ?? 0, usd: used.usd ?? 0 };
      return {
        ...freshBudget('k', limits),
        spent: { ...spent, runs: used.runs ?? 0, seconds: used.seconds ?? 0 },
      };
    });
  fc.assert(
    fc.property(
      fc.array(anyBudget, { maxLength: 3 }),
      fc.option(anyLimits, { nil: undefined }),
      fc.option(anyLimits, { nil: undefined }),
      (above, asked, agentLimits) => {
        const ofAgent = agentLimits && { agentId: 'b', limits: agentLimits };
        const facts = { ...FREE, above, asked, ofAgent };
        const all: BudgetLimits[] = [...above.map(restOf), ...(agentLimits ? [agentLimits] : [])];
        const isWider = all.some((rest) =>
          BUDGET_KINDS.some((kind) => (asked?.[kind] ?? 0) > (rest[kind] ?? Infinity)),
        );
        assert.equal(childBudgetFault(facts) !== undefined, isWider);
        const limits = childLimits(facts);
        for (const kind of BUDGET_KINDS) {
          const smallest = Math.min(asked?.[kind] ?? Infinity, agentLimits?.[kind] ?? Infinity);
          assert.equal(limits?.[kind] ?? Infinity, smallest);
        }
      },
    ),
  );
});

test('[BU6] dollars anywhere over a child need the prices of its model', () => {
  const inDollars = limitsOf({ usd: 1 });
  const cases: [Partial<ChildBudgetFacts>, RegExp | undefined][] = [
    [{}, undefined],
    [{ asked: limitsOf({ tokens: 1 }) }, undefined],
    [{ asked: inDollars }, /budget of the child limits usd, and p\/m has no prices/],
    [{ above: [freshBudget('root', inDollars)] }, /budget of root limits usd/],
    [{ ofAgent: { agentId: 'b', limits: inDollars } }, /budget of agent b limits usd/],
  ];
  for (const [given, text] of cases) {
    const fault = childPriceFault({ ...FREE, ...given, isPriced: false });
    if (text === undefined) assert.equal(fault, undefined);
    else assert.match(fault ?? '', text);
    assert.equal(childPriceFault({ ...FREE, ...given }), undefined, 'a priced one');
  }
});

test('[BU2] says how much of what is used, what others hold, and what to do', () => {
  const spent = { tokens: 0, usd: 1_500_000_001, runs: 0, seconds: 61_500 };
  const budget = { ...freshBudget('k', limitsOf({ usd: 1.5, seconds: 60 })), spent };
  assert.equal(
    usedUpText({ budget, kind: 'usd' }, 'raise x'),
    'the budget of k is used up: $1.500000001 of $1.50 usd (raise x)',
  );
  assert.equal(
    usedUpText({ budget, kind: 'seconds' }, 'raise x'),
    'the budget of k is used up: 61.5 of 60 seconds (raise x)',
  );
  const held = { ...freshBudget('k', limitsOf({ tokens: 9 })), reserved: { tokens: 8, usd: 0 } };
  assert.equal(
    usedUpText({ budget: held, kind: 'tokens' }, 'raise x'),
    'the budget of k is used up: 0 of 9 tokens, 8 reserved for calls under way (raise x)',
  );
});

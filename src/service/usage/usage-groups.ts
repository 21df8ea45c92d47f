import { addUsage, noUsage, type UsageSum } from '../../core/usage-sum.ts';
import { must } from '../../util/assert.ts';
import type { UsageGroup } from '../../protocol/answers/usage-answers.ts';
import { toTotals } from './usage-sums.ts';

/** Sums by name, in the order of the names' code units. */
export class UsageSums {
  readonly total: UsageSum = noUsage();
  readonly #byName = new Map<string, UsageSum>();

  get count(): number {
    return this.#byName.size;
  }

  add(name: string, added: UsageSum): void {
    let sum = this.#byName.get(name);
    if (sum === undefined) this.#byName.set(name, (sum = noUsage()));
    addUsage(sum, added);
    addUsage(this.total, added);
  }

  groups(): UsageGroup[] {
    return [...this.#byName.keys()]
      .toSorted((a, b) => (a < b ? -1 : 1))
      .map((key) => ({ key, ...toTotals(must(this.#byName.get(key), key)) }));
  }
}

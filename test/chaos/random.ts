/** Chance that can be repeated: everything that a campaign chooses comes from its seed. */

export interface Random {
  /** from 0 up to, not including, 1 */
  next(): number;
  /** a whole number from `low` to `high`, both included */
  between(low: number, high: number): number;
  pick<T>(list: readonly T[]): T;
  /** true in that share of the cases */
  chance(share: number): boolean;
}

/** Returns a source of its own for this seed. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x9e3779b9) >>> 0;
    return mix(state) / 2 ** 32;
  };
  return {
    next,
    between: (low, high) => low + Math.floor(next() * (high - low + 1)),
    pick: (list) => {
      const picked = list[Math.floor(next() * list.length)];
      if (picked === undefined) throw new Error('nothing to pick from');
      return picked;
    },
    chance: (share) => next() < share,
  };
}

/** Returns a source for one named thing, the same whenever and in whatever order it is asked. */
export function randomOf(seed: number, name: string): Random {
  let hash = seed >>> 0;
  for (const character of name) hash = mix((hash ^ (character.codePointAt(0) ?? 0)) >>> 0);
  return createRandom(hash);
}

function mix(value: number): number {
  let mixed = value;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
  return (mixed ^ (mixed >>> 15)) >>> 0;
}

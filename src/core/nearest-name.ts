/** Suggestions for a misspelt name. */

/** Returns how many letters must be added, removed or changed to turn one text into the other. */
export function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const current = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      current.push(Math.min(change, (previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[b.length] ?? a.length;
}

/**
 * Returns the known name that is closest, case aside, or undefined when none is known or none is
 * within `within` letters. The first of equals wins.
 */
export function nearestName(
  name: string,
  known: Iterable<string>,
  options: { within?: number } = {},
): string | undefined {
  // Longer texts cannot be a misspelling, and the table is quadratic.
  const wanted = name.slice(0, 100).toLowerCase();
  let best: string | undefined;
  let least = options.within ?? Number.POSITIVE_INFINITY;
  for (const candidate of known) {
    const distance = editDistance(wanted, candidate.toLowerCase());
    if (distance < least || (best === undefined && distance <= least)) {
      best = candidate;
      least = distance;
    }
  }
  return best;
}

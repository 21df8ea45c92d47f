/** Returns the number of single-letter edits (a swap of neighbours counts as one) between two words. */
export function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let best = Math.min(at(previous, j) + 1, at(row, j - 1) + 1, at(previous, j - 1) + same);
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (swapped) best = Math.min(best, at(before, j - 2) + 1);
      row.push(best);
    }
    before = previous;
    previous = row;
  }
  return at(previous, b.length);
}

/**
 * Returns the known name that is nearest to `name`, case aside and a common start first; undefined
 * when none is known or none is within `within` letters. The first of equals wins.
 */
export function nearestName(
  name: string,
  known: Iterable<string>,
  options: { within?: number } = {},
): string | undefined {
  // a longer text is no misspelling, and the table is quadratic
  const wanted = name.slice(0, 100).toLowerCase();
  let nearest: string | undefined;
  let shortest = Number.POSITIVE_INFINITY;
  for (const candidate of known) {
    const distance = distanceTo(wanted, candidate.toLowerCase(), options.within === undefined);
    if (distance >= shortest || distance > (options.within ?? distance)) continue;
    shortest = distance;
    nearest = candidate;
  }
  return nearest;
}

/** `timeout` means `timeoutSeconds`, whatever other word happens to be fewer letters away. */
function distanceTo(wanted: string, candidate: string, takesStarts: boolean): number {
  const short = Math.min(wanted.length, candidate.length);
  if (
    takesStarts &&
    short >= 3 &&
    wanted.slice(0, short) === candidate.slice(0, short) &&
    wanted !== candidate
  )
    return 1;
  return editDistance(wanted, candidate);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY;
}

/** Parents before children, so that each child finds its ancestors when it is written. */

/**
 * Returns the items with parents first, else in the given order. `looped` are items whose chain of
 * parents runs in a circle; they are returned too, as if they had no parent.
 */
export function orderLineage<T extends { key: string; parentKey: string | undefined }>(
  items: readonly T[],
): { ordered: T[]; looped: Set<T> } {
  const byKey = new Map(items.map((item) => [item.key, item]));
  const done = new Set<T>();
  const looped = new Set<T>();
  for (const item of items) {
    const chain = new Set<T>();
    let at: T | undefined = item;
    let last = item;
    while (at !== undefined && !done.has(at) && !chain.has(at)) {
      chain.add(at);
      last = at;
      at = at.parentKey === undefined ? undefined : byKey.get(at.parentKey);
    }
    if (at !== undefined && chain.has(at)) looped.add(last);
    for (const link of [...chain].reverse()) done.add(link);
  }
  return { ordered: [...done], looped };
}

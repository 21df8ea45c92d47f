import type { DuePage } from '../session-repository.ts';

/** The values of a query for one page of what is due. */
export interface DuePosition {
  at: number;
  afterAt: number;
  afterId: string;
  limit: number;
}

/** Returns them; the first page is asked like any other, from before every row. */
export function duePosition({ at, after, limit }: DuePage): DuePosition {
  return { at, limit, afterAt: after?.at ?? -1, afterId: after?.id ?? '' };
}

/** The rows of budgets and of what runs have set aside of them, and what reads and writes them. */

/** What a session and all below it may use, and have used. Money in billionths of a US dollar, time in ms. */
export interface BudgetRow {
  ownerKey: string;
  /** null = no limit, here and below */
  limitTokens: number | null;
  limitNanos: number | null;
  limitRuns: number | null;
  limitMs: number | null;
  spentTokens: number;
  spentNanos: number;
  spentRuns: number;
  spentMs: number;
  /** sums of its holds */
  reservedTokens: number;
  reservedNanos: number;
  /** runs that are going under it: those that have holds of it */
  going: number;
  /** its time is counted up to here; null = no run is going */
  countedTo: number | null;
  createdAt: number;
}

/** What a run that is going has set aside of one budget for its model call under way. */
export interface BudgetHoldRow {
  runId: string;
  ownerKey: string;
  tokens: number;
  nanos: number;
}

export interface BudgetReads {
  get(ownerKey: string): Promise<BudgetRow | undefined>;
  /** The budgets of all sessions above this one. One index search for each of them. */
  above(sessionKey: string): Promise<BudgetRow[]>;
  holdsOf(runId: string): Promise<BudgetHoldRow[]>;
}

export interface BudgetWrites extends BudgetReads {
  insert(row: BudgetRow): Promise<void>;
  update(ownerKey: string, patch: Partial<Omit<BudgetRow, 'ownerKey'>>): Promise<void>;
  /** Gives a run these holds instead of those that it has; none = it has ended. */
  replaceHolds(runId: string, holds: readonly BudgetHoldRow[]): Promise<void>;
}

/** What may be asked about tokens and cost. */
import type { UsageBy } from '../../protocol/answers/usage-answers.ts';

/** Of a run, of a session, of a session and all below it (`tree`), or of everything. */
export interface UsageQuery {
  sessionKey?: string;
  runId?: string;
  tree?: boolean;
  /** first and last day, `YYYY-MM-DD` of UTC, both included */
  since?: string;
  until?: string;
  by?: UsageBy;
  limit?: number;
  cursor?: string;
}

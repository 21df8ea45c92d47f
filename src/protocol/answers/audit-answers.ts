/** What is told of changes made by hand. */
/** One change as the operator sees it. */
export interface AuditView {
  id: string;
  at: number;
  actor: string;
  action: string;
  subjectKind: string;
  subjectId: string;
  sessionKey?: string;
  /** states and numbers */
  detail?: Record<string, unknown>;
}

export interface AuditPage {
  lines: AuditView[];
  count: number;
  limitApplied: number;
  hasMore: boolean;
  nextCursor?: string;
}

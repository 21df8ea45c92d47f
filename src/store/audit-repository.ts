/** The rows of what somebody changed by hand, and what reads and writes them. */

/** Which lines of the audit log a page sees; each has an index. */
export type AuditScope =
  | { sessionKey: string }
  | { subjectKind: string; subjectId: string }
  | { action: string }
  | { actor: string };

/** One change that somebody made by hand; append only, and never with content. */
export interface AuditRow {
  id: string;
  at: number;
  /** `operator`, a device, a session key, `gateway` */
  actor: string;
  /** the method: `deliveries.retry` */
  action: string;
  /** `delivery`, `session`, … */
  subjectKind: string;
  subjectId: string;
  /** the session it is about, null = none */
  sessionKey: string | null;
  /** states and numbers as JSON */
  detailJson: string | null;
}

export interface AuditReads {
  /** Lines strictly after `cursor`, newest first, of one session, subject, action or actor, or all. */
  page(query: {
    of?: AuditScope;
    cursor: AuditCursor | undefined;
    limit: number;
  }): Promise<AuditRow[]>;
}

/** A page position in newest-first order. */
export interface AuditCursor {
  at: number;
  id: string;
}

export interface AuditWrites extends AuditReads {
  /** Call it in the unit of the change that it tells of. */
  insert(row: AuditRow): Promise<void>;
}

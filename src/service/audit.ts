/** Writing down who changed what by hand, in the unit of the change. */
import { randomUUID } from 'node:crypto';
import type { AuditRow } from '../store/audit-repository.ts';
import type { WriteTx } from '../store/store.ts';

export interface AuditedAction extends Pick<
  AuditRow,
  'actor' | 'action' | 'subjectKind' | 'subjectId'
> {
  sessionKey?: string | null;
  /** states and numbers, never content */
  detail?: Record<string, string | number | boolean | null>;
}

/** Adds a line to the audit log of what this unit changes. */
export function audit(
  tx: WriteTx,
  { detail, sessionKey, ...action }: AuditedAction,
): Promise<void> {
  return tx.audit.insert({
    ...action,
    id: randomUUID(),
    at: tx.now,
    sessionKey: sessionKey ?? null,
    detailJson: detail === undefined ? null : JSON.stringify(detail),
  });
}

/** What the store and its thread of slow reads say to each other: statements, one after another. */
import type { ErrorCode } from '../../protocol/errors.ts';
import type { SqlResult, SqlValue } from '../sql/connection.ts';

export interface ThreadQuestion {
  id: number;
  sql: string;
  params: readonly SqlValue[];
}
export interface ThreadAnswer {
  id: number;
  result?: SqlResult;
  /** `code`: of a `GatewayError` */
  error?: { code: ErrorCode | undefined; message: string };
}

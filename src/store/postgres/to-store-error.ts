import { GatewayError } from '../../protocol/errors.ts';

/** SQLSTATE of a unit that did not fit to others and runs again: serialisation, deadlock, a lock held too long. */
const CONFLICTS: ReadonlySet<string> = new Set(['40001', '40P01', '55P03']);

/** Starts of SQLSTATE that say the database cannot be used now, whatever the statement. */
const UNUSABLE: readonly [start: string, reason: string][] = [
  ['08', 'the connection failed'],
  ['25006', 'it is read-only; it may be a standby'],
  ['25P03', 'the connection was idle too long in a transaction'],
  ['28', 'it refuses these credentials'],
  ['3D000', 'the database does not exist'],
  ['42501', 'its user lacks a permission'],
  ['53100', 'the disk is full'],
  ['53', 'it is out of resources'],
  ['55P03', 'another program holds a lock of it for long; a gateway may be migrating it'],
  ['57', 'it is shutting down or starting'],
  ['58', 'it reports a system error'],
  ['XX', 'it reports an internal error'],
];

/** Returns the SQLSTATE of an error of the server. */
function sqlStateOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return;
  // a server's error has a severity; a socket's error has a code such as ECONNREFUSED
  return 'severity' in error ? error.code : undefined;
}

/** Whether the unit may run again as it is. */
export function isConflict(error: unknown): boolean {
  return CONFLICTS.has(sqlStateOf(error) ?? '');
}

/** Whether the connection, and not the statement, is at fault: it cannot be used again. */
export function isConnectionLoss(error: unknown): boolean {
  const state = sqlStateOf(error);
  if (state !== undefined) return /^(08|57P|25P03|FATAL)/.test(state);
  return error instanceof Error && !(error instanceof GatewayError);
}

/** Returns `unavailable` naming the database when it cannot be used, else the error itself. */
export function toStoreError(error: unknown, place: string): unknown {
  if (error instanceof GatewayError || !(error instanceof Error)) return error;
  const state = sqlStateOf(error);
  const reason =
    state === undefined
      ? `no connection (${socketReason(error)})`
      : UNUSABLE.find(([start]) => state.startsWith(start))?.[1];
  if (reason === undefined) return error;
  return new GatewayError('unavailable', `the store ${place} cannot be used: ${reason}`, {
    details: { sqlState: state },
    cause: error,
  });
}

/** Never the text of the error: it may name users and hosts of others. */
function socketReason(error: Error): string {
  if ('code' in error && typeof error.code === 'string') return error.code;
  return /timeout/i.test(error.message) ? 'timeout' : 'connection lost';
}

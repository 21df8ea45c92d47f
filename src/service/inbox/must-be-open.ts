import { closureOf } from '../../core/access.ts';
import { GatewayError } from '../../protocol/errors.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { ReadTx } from '../../store/store.ts';

/** Returns the row of a client's session that takes messages. Throws `not_found` when it is gone, or closed meanwhile. */
export async function mustBeOpen(
  tx: Pick<ReadTx, 'sessions'>,
  sessionKey: string,
): Promise<SessionRow> {
  const session = await tx.sessions.get(sessionKey);
  if (session !== undefined && closureOf(session) === undefined) return session;
  throw new GatewayError(
    'not_found',
    `session ${sessionKey} is not open (any more); make it with sessions.create`,
  );
}

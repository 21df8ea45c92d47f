import { queueSettings } from '../../core/queue-settings.ts';
import type { Config } from '../../protocol/options/config.ts';
import type { ReadTx } from '../../store/store.ts';
import { findPlace, messageRefusal } from '../messages/check-message.ts';
import { capRefusal } from '../messages/check-send.ts';
import { messageOverCap } from '../messages/queue-message.ts';
import { newSessionRow } from '../sessions/session-rows.ts';
import type { Verdict } from './decide-verb.ts';
import type { ExplainPolicy } from './policy-answers.ts';

/** Returns what `chat.send` by the operator would meet. Its session need not be there yet: then it is judged as it would be made. */
export async function decideMessage(
  tx: ReadTx,
  { config, query, now }: { config: Config; query: ExplainPolicy; now: number },
): Promise<Verdict> {
  const { to, agentId } = query;
  const place = await findPlace(tx, config, {
    ...(to === undefined ? {} : { sessionKey: to }),
    ...(agentId === undefined ? {} : { agentId }),
  });
  if ('rule' in place) return place;
  if (place.stale !== undefined) return place.stale;
  const { key } = place;
  const session = (await tx.sessions.get(key)) ?? newSessionRow(config, { ...place, now });
  const refusal = messageRefusal(config, session);
  if (refusal !== undefined) return refusal;
  const settings = queueSettings(config, session, 'webchat');
  const full = await messageOverCap(tx, { sessionKey: key, settings });
  if (full !== undefined) return capRefusal(full, session);
  return { grantedBy: 'operator', key };
}

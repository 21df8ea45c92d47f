/** What stands against a `sessions_send`, in the order in which it is told (A5, A6, A11, B12). Writes nothing. */
import type { SessionCaller } from '../../core/caller.ts';
import { loopRefusal } from '../../core/loops.ts';
import type { Refusal } from '../../core/refusals.ts';
import type { Config } from '../../protocol/options/config.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { ReadTx } from '../../store/store.ts';
import { sendPolicyRefusal } from '../delivery/outbox.ts';
import {
  resolveTarget,
  type ResolvedTarget,
  type TargetAddress,
} from '../sessions/resolve-target.ts';
import { sendOverCap } from './queue-message.ts';

/** Returns the session that may be addressed, or why not. */
export async function findRecipient(
  tx: ReadTx,
  config: Config,
  { caller, address }: { caller: SessionCaller; address: TargetAddress },
): Promise<ResolvedTarget | Refusal> {
  const target = await resolveTarget(tx, { config, caller, address, verb: 'send' });
  if (!target.ok || !target.isSelf) return target;
  const error = 'cannot send to self: this is your own session';
  return { status: 'error', error, rule: 'self_send' };
}

export interface SendPlace {
  caller: SessionCaller;
  target: ResolvedTarget;
  rootRunId: string;
  /** of the message that would be sent */
  hops: number;
  isNote: boolean;
}

/** Returns what refuses a message to a session that may be addressed, or undefined. */
export async function sendRefusal(
  tx: ReadTx,
  config: Config,
  place: SendPlace,
): Promise<Refusal | undefined> {
  const { caller, target, rootRunId, hops } = place;
  const policy = target.session && sendPolicyRefusal(config, target.session);
  if (policy !== undefined) return policy;
  const from = caller.sessionKey;
  const loop = loopRefusal(
    { from, to: target.key, rootRunId },
    {
      limits: config.session.agentToAgent,
      counts: {
        hops,
        edgeRepeats: await tx.inputs.countEdge(rootRunId, from, target.key),
        messages: await tx.inputs.countUnderRoot(rootRunId),
      },
    },
  );
  if (loop !== undefined) return { status: 'error', error: loop.text, rule: loop.rule };
  return place.isNote ? undefined : fullRefusal(tx, config, target);
}

/** Beyond the cap a message is refused at once, and never dropped later (BR-188). */
async function fullRefusal(
  tx: ReadTx,
  config: Config,
  { key, session }: ResolvedTarget,
): Promise<Refusal | undefined> {
  const ownCap = session?.queueCap ?? null;
  const full = await sendOverCap(tx, {
    sessionKey: key,
    cap: ownCap ?? config.messages.queue.cap,
  });
  return full === undefined ? undefined : capRefusal(full, session);
}

/** Returns the refusal of one message too many; the session's own cap is what decides, where it has one. */
export function capRefusal(
  error: string,
  session: Pick<SessionRow, 'queueCap'> | undefined,
): Refusal {
  const value = session?.queueCap ?? null;
  const own = value === null ? {} : { setting: { name: 'session override queueCap', value } };
  return { status: 'error', error, rule: 'queue_cap', ...own };
}

/** The outbox against the chats, and what became unknown against the gateways that came to their end. */
import { type Evidence, type Problem, repeated } from './evidence.ts';
import type { Row } from './store-state.ts';

/** Returns texts that were shown twice, never, or without being owed, and outcomes that nobody can explain. */
export function judgeDeliveries(evidence: Evidence): Problem[] {
  const cut = cutHandOvers(evidence);
  return [
    ...evidence.rows.deliveries.flatMap((row) => judgeDelivery(evidence, { row, cut })),
    ...judgeChats(evidence),
  ];
}

/**
 * Returns the deliveries that a gateway had in hand when it was killed, or declared dead in a pause: begun by
 * it, and their outcome not committed by it. A chat sees only some of them: a kill can also come before the
 * request, or after the answer.
 */
export function cutHandOvers({ gateway }: Evidence): Set<string> {
  const mayCut = new Set<number>();
  /** hand-overs of a delivery by a gateway that were begun and not booked; a part may be handed over again */
  const open = new Map<string, { pid: number; deliveryId: string; count: number }>();
  for (const entry of gateway) {
    if (entry.type === 'killed' || entry.type === 'paused') mayCut.add(entry.pid);
    if (entry.type !== 'sending' && entry.type !== 'booked') continue;
    const { pid, deliveryId } = entry;
    const name = `${pid} ${deliveryId}`;
    const { count } = open.get(name) ?? { count: 0 };
    open.set(name, { pid, deliveryId, count: count + (entry.type === 'sending' ? 1 : -1) });
  }
  const cut = [...open.values()].filter(({ pid, count }) => count > 0 && mayCut.has(pid));
  return new Set(cut.map(({ deliveryId }) => deliveryId));
}

/** Sent is shown once, failed and unknown at most once; unknown only where a hand-over was cut. */
function judgeDelivery(
  { channel }: Evidence,
  { row, cut }: { row: Row; cut: ReadonlySet<string> },
): Problem[] {
  const name = `delivery ${row['delivery_id']} to ${row['channel']}`;
  const state = String(row['state']);
  if (state === 'queued' || state === 'sending')
    return [{ kind: 'open', what: `${name} ${state}` }];
  if (row['channel'] !== 'keyed' && row['channel'] !== 'plain') return [];
  const isShown = channel.some(
    (part) => part.isShown && part.to === row['route_to'] && part.text === row['text'],
  );
  if (state === 'suppressed') {
    return isShown ? [{ kind: 'wrong', what: `${name}: suppressed, but shown` }] : [];
  }
  if (state === 'sent' && !isShown) return [{ kind: 'lost', what: `${name}: not shown` }];
  const mayFail = row['channel'] === 'plain';
  if (state !== 'sent' && !mayFail) return [{ kind: 'lost', what: `${name}: ${state}` }];
  if (state === 'unknown' && !cut.has(String(row['delivery_id'])))
    return [{ kind: 'wrong', what: `${name}: unknown, but nobody was cut short at it` }];
  return [];
}

/** No two texts of a campaign are the same, so the same text twice in a chat is a double. */
function judgeChats({ channel, rows }: Evidence): Problem[] {
  const shown = channel.filter(({ isShown }) => isShown);
  const nameOf = (name: string, to: string, text: string): string => `${name} ${to}: ${text}`;
  const owed = new Set(
    rows.deliveries.map((row) =>
      nameOf(String(row['channel']), String(row['route_to']), String(row['text'])),
    ),
  );
  const names = shown.map((part) => nameOf(part.channel, String(part.to), part.text));
  return [
    ...repeated(names).map((name): Problem => ({ kind: 'doubled', what: `shown: ${name}` })),
    ...names
      .filter((name) => !owed.has(name))
      .map((name): Problem => ({ kind: 'lost', what: `shown, but not in the outbox: ${name}` })),
  ];
}

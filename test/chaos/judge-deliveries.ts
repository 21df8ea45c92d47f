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
  const mayCut = new Set(
    gateway.flatMap((entry) =>
      entry.type === 'killed' || entry.type === 'paused' ? entry.pid : [],
    ),
  );
  const nameOf = (pid: number, deliveryId: string): string => `${pid} ${deliveryId}`;
  const booked = new Set(
    gateway.flatMap((entry) =>
      entry.type === 'booked' ? nameOf(entry.pid, entry.deliveryId) : [],
    ),
  );
  return new Set(
    gateway.flatMap((entry) => {
      if (entry.type !== 'sending' || !mayCut.has(entry.pid)) return [];
      return booked.has(nameOf(entry.pid, entry.deliveryId)) ? [] : entry.deliveryId;
    }),
  );
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

import type { RunEvents } from '../service/run-events.ts';
import type { Clock } from '../util/clock.ts';
import type { Connection } from './connection.ts';

/** Tells who decides about devices of their requests, and closes the sockets of a revoked one; returns the way to stop. */
export function watchDevices(
  events: RunEvents,
  { connections, clock }: { connections: ReadonlySet<Connection>; clock: Clock },
): () => void {
  const deciders = () =>
    [...connections].filter((connection) => connection.hasScope('operator.pairing'));
  return events.subscribe((event) => {
    if (event.type === 'pairing_requested')
      for (const decider of deciders()) decider.tell('device.pair.requested', event.pairing);
    if (event.type === 'pairing_resolved') {
      const { type: _type, ...resolved } = event;
      const payload = { ...resolved, ts: clock.now() };
      for (const decider of deciders()) decider.tell('device.pair.resolved', payload);
    }
    if (event.type === 'device_revoked')
      for (const connection of connections) connection.closeDevice(event.deviceId);
  });
}

/** What is told of devices and those that ask to be let in. */
import type { PlainPayloads } from '../events.ts';

export interface DeviceView {
  deviceId: string;
  name: string;
  platform: string;
  scopes: string[];
  approvedBy: string;
  approvedAt: number;
  hasToken: boolean;
  lastSeenAt?: number;
  revokedAt?: number;
}

/** A request, as the event that tells of it says it. */
export type PairingView = PlainPayloads['device.pair.requested'];

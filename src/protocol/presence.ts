/** A program that is connected, or was until lately (SPEC B10.5). */
export interface PresenceEntry {
  /** as the client names itself; of the gateway the name of its machine */
  host: string;
  /** as the gateway sees it; of the gateway where it listens */
  ip: string;
  version: string;
  platform: string;
  deviceFamily?: string;
  modelIdentifier?: string;
  mode: string;
  reason: 'self' | 'connect' | 'disconnect';
  /** epoch ms: when it was there last */
  ts: number;
  instanceId?: string;
  deviceId?: string;
  roles?: string[];
  scopes?: string[];
}

/** Grows with each change of what it counts. */
export interface StateVersion {
  presence: number;
  health: number;
}

/** The rows of devices and of those that ask to be let in, and what reads and writes them. */

/** A client that proves who it is with a key of its own, once it was approved. */
export interface DeviceRow {
  /** sha256 of the public key, hex */
  id: string;
  /** Ed25519, base64url of the 32 bytes */
  publicKey: string;
  /** as the client called itself */
  name: string;
  platform: string;
  /** what it was approved for */
  scopesJson: string;
  /** `operator`, a device, `loopback` = by itself, with the shared secret on this machine */
  approvedBy: string;
  approvedAt: number;
  /** sha256 of its token, null = it has none */
  tokenHash: string | null;
  /** null = nobody has shown the token yet */
  tokenUsedAt: number | null;
  lastSeenAt: number | null;
  /** null = it may connect */
  revokedAt: number | null;
}

/** A device that asks to be let in; one request a device. */
export interface PairingRow {
  id: string;
  deviceId: string;
  publicKey: string;
  name: string;
  platform: string;
  /** where it was asked from */
  address: string;
  /** what it asks for */
  scopesJson: string;
  createdAt: number;
  /** no longer open from then on */
  expiresAt: number;
}

export interface DeviceReads {
  get(id: string): Promise<DeviceRow | undefined>;
  /** Devices strictly after `cursor`, approved last first, revoked ones too. */
  page(query: { cursor: DeviceCursor | undefined; limit: number }): Promise<DeviceRow[]>;
  /** How many rows there are, counted up to `atMost`. */
  count(atMost: number): Promise<number>;
  /** The device whose revocation is longest ago. */
  oldestRevoked(): Promise<DeviceRow | undefined>;
}

/** A page position, approved last first. */
export interface DeviceCursor {
  approvedAt: number;
  id: string;
}

export interface DeviceWrites extends DeviceReads {
  insert(row: DeviceRow): Promise<void>;
  /** Rejects `not_found` when there is no such device. */
  update(id: string, patch: Partial<Omit<DeviceRow, 'id'>>): Promise<void>;
  remove(id: string): Promise<void>;
}

export interface PairingReads {
  get(id: string): Promise<PairingRow | undefined>;
  ofDevice(deviceId: string): Promise<PairingRow | undefined>;
  /** Requests that are open at `now`, those that end first first, at most `limit`. */
  open(now: number, limit: number): Promise<PairingRow[]>;
}

export interface PairingWrites extends PairingReads {
  insert(row: PairingRow): Promise<void>;
  update(id: string, patch: Partial<Omit<PairingRow, 'id' | 'deviceId'>>): Promise<void>;
  remove(id: string): Promise<void>;
  /** Removes what is no longer open at `now`. */
  removeExpired(now: number): Promise<void>;
}

/** Devices and their requests as rows, and as an operator sees them. */
import { createHash, randomBytes } from 'node:crypto';
import { expandScopes } from '../../protocol/scopes.ts';
import type { OperatorScope } from '../../protocol/scopes.ts';
import type { DeviceRow, PairingRow } from '../../store/device-repository.ts';
import type { DeviceView, PairingView } from '../../protocol/answers/device-answers.ts';

/** Returns a token that nobody can guess, and the hash that is stored of it. */
export function newDeviceToken(): { token: string; tokenHash: string } {
  const token = randomBytes(32).toString('base64url');
  return { token, tokenHash: tokenHashOf(token) };
}

/** A token is random and long, so a plain hash gives nothing of it away. */
export function tokenHashOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

/** Returns the scopes of a row; what cannot be read grants nothing. */
export function scopesOf({ scopesJson }: Pick<DeviceRow, 'scopesJson'>): OperatorScope[] {
  try {
    const scopes: unknown = JSON.parse(scopesJson);
    if (!Array.isArray(scopes)) return [];
    return expandScopes(scopes.filter((scope) => typeof scope === 'string'));
  } catch {
    return [];
  }
}

/** Returns a device as `device.list` shows it: nothing of its token but that it has one. */
export function toDeviceView(row: DeviceRow): DeviceView {
  const { lastSeenAt, revokedAt } = row;
  return {
    deviceId: row.id,
    name: row.name,
    platform: row.platform,
    scopes: scopesOf(row),
    approvedBy: row.approvedBy,
    approvedAt: row.approvedAt,
    hasToken: row.tokenHash !== null,
    ...(lastSeenAt === null ? {} : { lastSeenAt }),
    ...(revokedAt === null ? {} : { revokedAt }),
  };
}

/** Returns a request as `device.pair.list` and the event show it. */
export function toPairingView(row: PairingRow): PairingView {
  return {
    requestId: row.id,
    deviceId: row.deviceId,
    name: row.name,
    platform: row.platform,
    address: row.address,
    scopes: scopesOf(row),
    ts: row.createdAt,
    expiresAt: row.expiresAt,
  };
}

/** What the door and the use cases of devices say to each other. */
import type { OperatorScope } from '../../protocol/scopes.ts';

/** A device that has proved its key, and what it shows beside. */
export interface AdmitDevice {
  device: { id: string; publicKey: string; name: string; platform: string };
  /** where it connects from */
  address: string;
  /** from this machine itself, not through a proxy */
  isLocal: boolean;
  /** undefined = it has not said */
  asked: readonly string[] | undefined;
  grant: { type: 'secret'; scopes: readonly OperatorScope[] } | { type: 'token'; token: string };
}
export type DeviceAdmission =
  /** `deviceToken` is told once, and not stored in a form that tells it */
  | { type: 'admitted'; scopes: OperatorScope[]; deviceToken?: string }
  | { type: 'pairing_required'; pairingId: string; why: 'not_paired' | 'revoked' }
  | { type: 'wrong_token' };

import type { AuthRateLimit } from './auth-limiter.ts';
import { createSharedSecret } from './authenticate.ts';
import type { GatewayAuth, SharedSecret } from './authenticate.ts';
import type { HttpToolPolicy } from './http-tool-policy.ts';
import { DEFAULT_RATE_LIMIT } from './limits.ts';
import { refusedOrigin } from './origin-policy.ts';
import type { OriginPolicy, RequestHeaders } from './origin-policy.ts';

/** What of the door may change while it is open. */
export interface GatewaySettings {
  auth: GatewayAuth;
  /** pages that may connect, as `https://console.example`; loopback pages of our own port always may */
  allowedOrigins?: readonly string[] | undefined;
  /** `gateway.tools`: what the HTTP door offers */
  toolPolicy?: HttpToolPolicy | undefined;
  /** `gateway.http.endpoints.chatCompletions.enabled` */
  isCompletionsOpen?: boolean | undefined;
  rateLimit?: Partial<AuthRateLimit> | undefined;
}
/** The settings in force, as the parts of the door ask for them. */
export interface DoorSettings {
  readonly secret: SharedSecret;
  rateLimit(): AuthRateLimit;
  toolPolicy(): HttpToolPolicy;
  isCompletionsOpen(): boolean;
  /** Returns why a page or name may not use this gateway. */
  refusedOrigin(
    headers: RequestHeaders,
    at: Pick<OriginPolicy, 'host' | 'port'>,
  ): string | undefined;
  /** Returns whether another secret is in force now. */
  replace(next: GatewaySettings): boolean;
}

/** Returns the holder of the settings; throws `config` when the mode lacks its secret. */
export function createDoorSettings(first: GatewaySettings): DoorSettings {
  let settings = first;
  const secret = createSharedSecret(first.auth);
  return {
    secret,
    rateLimit: () => ({ ...DEFAULT_RATE_LIMIT, ...settings.rateLimit }),
    toolPolicy: () => settings.toolPolicy ?? {},
    isCompletionsOpen: () => settings.isCompletionsOpen === true,
    refusedOrigin: (headers, at) =>
      refusedOrigin(headers, { ...at, allowedOrigins: settings.allowedOrigins ?? [] }),
    replace: (next) => {
      const isRotated = secret.replace(next.auth);
      settings = next;
      return isRotated;
    },
  };
}

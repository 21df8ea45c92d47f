/** Whether the gateway's address and its credentials go together. */
import type { Config } from '../protocol/options/config.ts';
import type { ConfigIssue } from './config-issue.ts';
import type { Environment } from './env-references.ts';
import { given } from './state-files.ts';

type GatewaySettings = Config['gateway'];

/** Returns what keeps a gateway with these settings from being opened; values are in no text. */
export function checkGateway({ auth, bind }: GatewaySettings): ConfigIssue[] {
  const errors: ConfigIssue[] = [];
  if (auth.mode === 'none' && !isLoopbackBind(bind)) {
    const message =
      'reaches beyond this machine, and gateway.auth.mode "none" lets in everyone; use "loopback", or mode "token"';
    errors.push({ path: 'gateway.bind', message });
  }
  if (auth.mode === 'password' && (auth.password ?? '').trim() === '') {
    const message = 'is missing: mode "password" needs it here or in TRUNKLINE_GATEWAY_PASSWORD';
    errors.push({ path: 'gateway.auth.password', message });
  }
  return errors;
}

/** The gateway's settings with what the environment adds to them. */
export function withSecrets({ gateway }: Config, env: Environment): Config['gateway'] {
  const password = gateway.auth.password ?? given(env, 'TRUNKLINE_GATEWAY_PASSWORD');
  if (password === undefined) return gateway;
  return { ...gateway, auth: { ...gateway.auth, password } };
}

function isLoopbackBind(bind: string): boolean {
  return bind === 'loopback' || bind === '::1' || /^127(?:\.\d{1,3}){3}$/.test(bind);
}

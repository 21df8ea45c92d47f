import { z } from 'zod';
import { later, option, secret, section } from './option.ts';

const ipAddress = z.union([z.ipv4(), z.ipv6()]);
const BIND_WORDS_OF_LATER = ['lan', 'tailnet', 'auto', 'custom'];

const bind = z
  .string()
  .trim()
  .superRefine((value, context) => {
    if (value === 'loopback' || ipAddress.safeParse(value).success) return;
    const message = BIND_WORDS_OF_LATER.includes(value)
      ? `"${value}" is not supported yet; use "loopback" or an IP address of this machine`
      : 'use "loopback" or an IP address of this machine';
    context.addIssue({ code: 'custom', message });
  });

/** `gateway.*`: where the gateway listens and whom it lets in (SPEC B10.1, B13). */
export const gatewayOptions = section({
  port: option(z.int().min(0).max(65_535).default(18_789), 'TCP port; 0 takes a free one.', {
    needsRestart: true,
  }),
  bind: option(
    bind.default('loopback'),
    '`loopback`, or an IP address of this machine; with `gateway.auth.mode` `none` only loopback.',
    { needsRestart: true },
  ),
  allowedOrigins: option(
    z.array(z.string()).default([]),
    'Web pages that may connect, as `https://console.example`; pages of this port on loopback always may.',
  ),
  auth: section({
    mode: later(
      z.enum(['token', 'password', 'none', 'trusted-proxy']).default('token'),
      'How callers prove themselves; `none` lets in every program on this machine.',
      { alsoAccepted: ['password', 'none'] },
    ),
    token: secret(
      z.string().min(1).optional(),
      'The token. Default: `TRUNKLINE_GATEWAY_TOKEN`, else one made at first start in `<state>/gateway.token`.',
    ),
    password: secret(
      z.string().min(1).optional(),
      'The password of mode `password`. Default: `TRUNKLINE_GATEWAY_PASSWORD`.',
    ),
    rateLimit: section({
      maxAttempts: option(
        z.int().min(1).max(10_000).default(10),
        'Wrong credentials of one address within `windowMs`; then it is locked out for `lockoutMs`.',
      ),
      windowMs: option(z.int().min(1000).max(86_400_000).default(60_000), 'Milliseconds.'),
      lockoutMs: option(z.int().min(1000).max(86_400_000).default(300_000), 'Milliseconds.'),
      exemptLoopback: option(
        z.boolean().default(true),
        'Programs on this machine are never locked out; pages, and what comes through a proxy, are.',
      ),
    }),
  }),
  http: section({
    endpoints: section({
      chatCompletions: section({
        enabled: option(
          z.boolean().default(false),
          'Whether `POST /v1/chat/completions` and `GET /v1/models` answer: agents as models.',
        ),
      }),
      mcp: section({
        enabled: option(
          z.boolean().default(true),
          'Whether `POST /mcp` answers, with the credentials of the gateway.',
        ),
        maxWaitSeconds: option(
          z.number().min(1).max(3600).default(50),
          'Longest wait of one call over `/mcp`: below the limit at which clients give a call up.',
        ),
      }),
    }),
  }),
  tools: section({
    allow: option(
      z.array(z.string()).default([]),
      'Tools that `POST /tools/invoke` opens although they are closed by default: `sessions_send`, `sessions_spawn` and others.',
    ),
    deny: option(z.array(z.string()).default([]), 'Tools that `POST /tools/invoke` closes.'),
  }),
});

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
  port: option(z.int().min(0).max(65_535).default(18_789), 'TCP port; 0 takes a free one.'),
  bind: option(
    bind.default('loopback'),
    '`loopback`, or an IP address of this machine. Every address needs the token.',
  ),
  allowedOrigins: option(
    z.array(z.string()).default([]),
    'Web pages that may connect, as `https://console.example`; pages of this port on loopback always may.',
  ),
  auth: section({
    mode: later(
      z.enum(['token', 'password', 'none', 'trusted-proxy']).default('token'),
      'How callers prove themselves.',
    ),
    token: secret(
      z.string().min(1).optional(),
      'The token. Default: `TRUNKLINE_GATEWAY_TOKEN`, else one made at first start in `<state>/gateway.token`.',
    ),
    password: later(z.string().min(1).optional(), 'The password of mode `password`.', {
      secret: true,
    }),
    rateLimit: later(z.record(z.string(), z.unknown()).optional(), 'Limit of failed attempts.'),
  }),
  http: section({
    endpoints: section({
      chatCompletions: section({
        enabled: later(z.boolean().default(false), 'Whether `POST /v1/chat/completions` answers.'),
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

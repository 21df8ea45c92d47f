import { z } from 'zod';
import { later, option, section } from './option.ts';

const RESERVED_MAIN_KEYS = ['global', 'unknown', 'current'];

const sendPolicyAction = z.enum(['allow', 'deny']);

const sendPolicyRule = z.object({
  match: option(
    z
      .object({
        channel: option(z.string().optional(), 'Channel of the session, in any case.'),
        chatType: option(
          z.enum(['direct', 'dm', 'group', 'channel', 'room']).optional(),
          'Chat type of the session; `dm` is `direct`, `room` is `channel`.',
        ),
        keyPrefix: option(
          z.string().optional(),
          'Beginning of the session key without `agent:<id>:`.',
        ),
        rawKeyPrefix: option(z.string().optional(), 'Beginning of the whole session key.'),
      })
      .prefault({}),
    'All fields given must match; an empty match fits every session.',
  ),
  action: option(sendPolicyAction, 'What a match decides. The first `deny` wins over any `allow`.'),
});

const duration = z.union([
  z
    .string()
    .regex(/^\s*\d+(\.\d+)?\s*(ms|s|m|h|d|w)?\s*$/, 'must be a duration such as "30d" or "12h"'),
  z.number().min(0),
]);

const resetPolicy = z.record(z.string(), z.unknown());

/** `session.*`: keys, exchanges between agents, who may be sent to (SPEC B2.6, B2.7, B6). */
export const sessionOptions = section({
  scope: option(
    z.enum(['per-sender', 'global']).default('per-sender'),
    '`global`: all direct chats share one session, which every tool shows as `main`.',
  ),
  dmScope: later(
    z.enum(['main', 'per-peer', 'per-channel-peer', 'per-account-channel-peer']).default('main'),
    'Which session a direct chat message goes to.',
  ),
  identityLinks: later(
    z.record(z.string(), z.array(z.string())).default({}),
    'Canonical names of people and their `<channel>:<peerId>` addresses.',
  ),
  mainKey: option(
    z
      .string()
      .trim()
      .toLowerCase()
      .regex(/^[a-z0-9_-]{1,64}$/, 'use 1 to 64 letters, digits, `_` or `-`')
      .refine((key) => !RESERVED_MAIN_KEYS.includes(key), 'is a reserved word; choose another')
      .default('main'),
    'Last part of the key of an agent’s main session, `agent:<agentId>:<mainKey>`.',
  ),
  reset: section({
    mode: later(
      z.enum(['daily', 'idle', 'none']).default('daily'),
      'When an inbound message starts a new transcript. Automatic resets are not there yet: no value resets anything.',
      { alsoAccepted: ['none'] },
    ),
    atHour: later(
      z.int().min(0).max(23).default(4),
      'Hour of the daily reset, local time of the gateway.',
    ),
    idleMinutes: later(
      z.number().positive().optional(),
      'Minutes without a message after which the session resets.',
    ),
  }),
  resetByType: later(resetPolicy.default({}), 'Reset policy per chat type.'),
  resetByChannel: later(resetPolicy.default({}), 'Reset policy per channel.'),
  resetTriggers: later(
    z.array(z.string()).default(['/new', '/reset']),
    'Messages that start a new transcript.',
  ),
  idleMinutes: later(
    z.number().positive().optional(),
    'Older form of `session.reset.idleMinutes`.',
  ),
  store: later(
    z.string().optional(),
    'Path template of the session store; moves the folder of the transcript files. Default: `<state>/agents/{agentId}/sessions/sessions.json`.',
  ),
  agentToAgent: section({
    maxPingPongTurns: option(
      z.int().min(0).max(5).default(5),
      'Reply-back turns of an exchange after the first reply, 0 to 5; 0 turns the loop off.',
    ),
    maxHops: option(
      z.int().min(1).max(1000).default(16),
      'Longest chain of routed messages under one root.',
    ),
    maxEdgeRepeats: option(
      z.int().min(1).max(1000).default(6),
      'How often one session may message another in one direction under one root.',
    ),
    maxMessagesPerRoot: option(
      z.int().min(1).max(100_000).default(64),
      'Routed messages under one root in all.',
    ),
  }),
  sendPolicy: section({
    rules: option(
      z.array(sendPolicyRule).default([]),
      'Rules by channel, chat type and key; the first `deny` that matches wins.',
    ),
    default: option(sendPolicyAction.default('allow'), 'What holds when no rule matches.'),
  }),
  threadBindings: section({
    enabled: later(z.boolean().default(true), 'Master switch of sessions bound to a thread.'),
    idleHours: later(
      z.number().min(0).default(24),
      'Hours without a message until unbound; 0 = never.',
    ),
    maxAgeHours: later(
      z.number().min(0).default(0),
      'Longest life of a binding in hours; 0 = no limit.',
    ),
  }),
  maintenance: section({
    mode: option(
      z.enum(['warn', 'enforce']).default('warn'),
      'With `warn` only deleted sessions are purged, and the log says what else `enforce` would purge.',
    ),
    pruneAfter: option(
      duration.default('30d'),
      'Age after which deleted sessions, and with `enforce` archived ones, are purged: `30d`, `12h`; a number is days.',
    ),
    maxEntries: later(z.int().min(1).default(500), 'Sessions kept.'),
    rotateBytes: later(
      z.union([z.string(), z.number()]).default('10mb'),
      'Size at which a store file rotates.',
    ),
    resetArchiveRetention: option(
      z.union([duration, z.boolean()]).optional(),
      'Age after which `enforce` purges transcripts from before a reset; `false` = never, absent = as `pruneAfter`.',
    ),
    maxDiskBytes: later(
      z.union([z.string(), z.number()]).optional(),
      'Disk space for all sessions.',
    ),
    highWaterBytes: later(
      z.union([z.string(), z.number()]).default('80%'),
      'Disk space to fall back to once the limit is hit.',
    ),
  }),
});

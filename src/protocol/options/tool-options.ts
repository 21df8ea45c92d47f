import { z } from 'zod';
import { VISIBILITY_LEVELS } from '../words.ts';
import { later, option, section } from './option.ts';

export const TOOL_PROFILES = ['minimal', 'coding', 'messaging', 'full'] as const;
/** A named set of tools that a policy starts from (SPEC B7.5). */
export type ToolProfile = (typeof TOOL_PROFILES)[number];

const names = (): z.ZodOptional<z.ZodArray<z.ZodString>> => z.array(z.string()).optional();

/** The options `profile`, `allow` and `deny` of one place of the tool policy. */
function policyEntryOptions() {
  return {
    profile: option(
      z.enum(TOOL_PROFILES).optional(),
      'Named set of tools to start from: `minimal`, `coding`, `messaging` or `full`.',
    ),
    allow: option(
      names(),
      'Tool names, `group:<name>` or patterns with `*`; a `*` alone is the default set. Absent = nothing is narrowed.',
    ),
    deny: option(names(), 'Tool names, groups or patterns that are taken away; wins over `allow`.'),
  };
}

const policyEntry = z.object(policyEntryOptions());
/** One place of the tool policy: each of its parts narrows what is offered. */
export type ToolPolicyEntry = Partial<z.output<typeof policyEntry>>;

/** The options of the tool policy of all sessions, and of those of one agent. */
export function toolPolicyOptions() {
  return {
    ...policyEntryOptions(),
    byProvider: option(
      z.record(z.string(), policyEntry).default({}),
      'Tool policy per model in effect: `{"<provider>" or "<provider>/<model>": {profile, allow, deny}}`. It narrows further; the entry of a model stands in place of that of its provider.',
    ),
  };
}

/** `tools.*`: which tools an agent is offered and how far its session tools reach (SPEC B7.5, B9). */
export const toolOptions = section({
  ...toolPolicyOptions(),
  sandbox: section({
    tools: later(
      z.object({ allow: names(), deny: names() }).default({}),
      'Tool policy of sandboxed sessions; refused until there are any.',
    ),
  }),
  sessions: section({
    visibility: option(
      z.enum(VISIBILITY_LEVELS).default('tree'),
      'Sessions that the session tools reach: `self`, `tree` (own and spawned), `agent`, `all`.',
    ),
  }),
  agentToAgent: section({
    enabled: option(
      z.boolean().default(false),
      'Whether visibility `all` reaches the sessions of other agents.',
    ),
    allow: option(
      names(),
      'Agent ids or patterns; requester and target must both match. Absent or empty = every agent.',
    ),
  }),
  subagents: section({
    tools: section({
      allow: option(
        names(),
        'Tools of sub-agents. Session tools come back only by exact name or `group:sessions`.',
      ),
      deny: option(names(), 'Tools that sub-agents lose; wins over `allow`.'),
    }),
  }),
  sessions_history: section({
    maxBytes: option(
      z.int().min(1024).max(16_777_216).default(81_920),
      'Size of an answer of `sessions_history` in bytes, up to which messages are unchanged.',
    ),
    mask: option(
      z.boolean().default(true),
      'Whether credentials are masked when another session reads.',
    ),
  }),
  sessions_spawn: section({
    attachments: section({
      enabled: option(
        z.boolean().default(true),
        'Whether `sessions_spawn` takes attachments, which are files in the workspace of the child.',
      ),
      maxTotalBytes: option(
        z.int().min(0).default(5_242_880),
        'Bytes of all attachments of one spawn, decoded.',
      ),
      maxFiles: option(z.int().min(0).default(50), 'Attachments of one spawn.'),
      maxFileBytes: option(z.int().min(0).default(1_048_576), 'Bytes of one attachment, decoded.'),
      retainOnSessionKeep: option(
        z.boolean().default(false),
        'Whether attachments of a kept child outlive its archiving; they go with its deletion.',
      ),
    }),
  }),
  exec: section({
    host: later(z.boolean().default(false), 'Whether `exec` may run on the host itself.'),
  }),
});

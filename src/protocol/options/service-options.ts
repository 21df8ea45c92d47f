import { z } from 'zod';
import { CHANNELS, QUEUE_DROPS, QUEUE_MODES } from '../words.ts';
import { later, option, section } from './option.ts';

const anything = () => z.record(z.string(), z.unknown());

/** `recovery.*`: how interrupted work goes on after a restart (A12, DESIGN 4). */
export const recoveryOptions = section({
  maxAgeHours: option(
    z.number().positive().default(24),
    'Work older than this at a restart ends with `timeout`, in hours.',
  ),
  maxAttempts: option(
    z.int().min(1).max(100).default(5),
    'Attempts of a run whose process died in it.',
  ),
});

/** `messages.*`: what happens to messages into a busy session (B12). */
export const messageOptions = section({
  queue: section({
    mode: option(
      z.enum(QUEUE_MODES).default('collect'),
      'What a person’s message into a busy session does. `collect`: those that wait share one later turn. `followup`: each gets its own. `steer`: it joins the running turn after the next tool results. `steer-backlog`: that, and a turn of its own later. `interrupt`: it ends the running turn and goes next. `queue`: as `steer`.',
    ),
    debounceMs: option(
      z.int().min(0).max(3_600_000).default(1000),
      'How long `collect` waits for quiet after the last message, in ms.',
    ),
    cap: option(
      z.int().min(1).max(500).default(20),
      'Messages that wait in one session: of people, and apart from them of `sessions_send`, which is refused beyond it.',
    ),
    drop: option(
      z.enum(QUEUE_DROPS).default('summarize'),
      'Which of people’s messages gives way beyond the cap: the `new` one is refused, the `old`est ends with an error, and with `summarize` its beginning is told to the next turn.',
    ),
    byChannel: option(
      z.partialRecord(z.enum(CHANNELS), z.enum(QUEUE_MODES)).default({}),
      'Mode per channel, for example `{ webchat: "steer" }`.',
    ),
  }),
});

/** `cron.*`: scheduled jobs. */
export const cronOptions = section({
  enabled: option(z.boolean().default(true), 'Whether jobs run. There are none so far.'),
  store: later(z.string().optional(), 'Path of the jobs. Default: `<state>/cron/jobs.json`.'),
  maxConcurrentRuns: later(z.int().min(1).default(1), 'Runs of jobs at a time.'),
  sessionRetention: later(
    z.union([z.string(), z.number(), z.literal(false)]).default('24h'),
    'Age after which the session of a job’s run is purged.',
  ),
});

/** `hooks.*`: webhooks that start runs (B15). */
export const hookOptions = section({
  enabled: later(z.boolean().default(false), 'Whether `POST /hooks/…` answers.'),
  token: later(z.string().optional(), 'Token of the hooks.', { secret: true }),
  path: later(z.string().default('/hooks'), 'Path of the hooks.'),
  defaultSessionKey: later(z.string().optional(), 'Session key of hooks that name none.'),
  allowRequestSessionKey: later(
    z.boolean().default(false),
    'Whether a request may name its session key.',
  ),
  allowedSessionKeyPrefixes: later(
    z.array(z.string()).optional(),
    'Beginnings of session keys that a request may name.',
  ),
  allowedAgentIds: later(z.array(z.string()).optional(), 'Agents that a request may name.'),
  mappings: later(z.array(anything()).default([]), 'Named hooks.'),
});

/** A longer id would be read as that of somebody else. */
const ownerNumber = z.int(
  'a number must be whole and not too long to be exact; write the id in quotes',
);

/** `commands.*`: slash commands in chats (B14). */
export const commandOptions = section({
  text: option(
    z.boolean().default(true),
    'Whether an owner’s `/send on`, `off` or `inherit`, alone in a message, is a command; `false`: it is plain text.',
  ),
  allowFrom: later(anything().optional(), 'Who may give commands, per channel.'),
  useAccessGroups: later(z.boolean().default(true), 'Whether access groups of channels apply.'),
  ownerAllowFrom: option(
    z.array(z.union([z.string(), ownerNumber])).optional(),
    'Who is an owner in chats: sender ids, as `<channel>:<id>` or, in every channel, as `<id>`, long numbers in quotes; `*` is nobody. On webchat and the command line the scope `operator.admin` decides. Absent: nobody in a chat.',
  ),
});

const channel = (name: string) =>
  z
    .object({})
    .catchall(later(z.unknown(), `Settings of the ${name} channel.`))
    .prefault({});

/** `channels.*`: the chat services. Webchat needs no setting. */
export const channelOptions = section({
  discord: z
    .object({
      threadBindings: section({
        enabled: later(z.boolean().optional(), 'As `session.threadBindings.enabled`.'),
        idleHours: later(z.number().min(0).optional(), 'As `session.threadBindings.idleHours`.'),
        maxAgeHours: later(
          z.number().min(0).optional(),
          'As `session.threadBindings.maxAgeHours`.',
        ),
        spawnSubagentSessions: later(
          z.boolean().default(false),
          'Whether `thread: true` of `sessions_spawn` makes a thread.',
        ),
        spawnAcpSessions: later(z.boolean().default(false), 'The same for ACP sessions.'),
      }),
    })
    .catchall(later(z.unknown(), 'Settings of the Discord channel.'))
    .prefault({}),
  telegram: channel('Telegram'),
  whatsapp: channel('WhatsApp'),
  signal: channel('Signal'),
  imessage: channel('iMessage'),
  webchat: channel('webchat'),
});

/** `bindings[]`: which agent answers which chat (B13). */
export const bindingOptions = later(
  z.array(anything()).default([]),
  'Which agent answers which chat. Every chat goes to the default agent so far.',
);

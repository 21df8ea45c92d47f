import { z } from 'zod';
import { later, option, secret, section } from './option.ts';

/** Numbers and switches are written without quotes as often as not. */
const scalar = () => z.union([z.string(), z.number(), z.boolean()]);
const patterns = () => z.array(z.string().trim().min(1)).min(1).optional();
const HOUR_MS = 3_600_000;

const server = z.object({
  enabled: option(z.boolean().default(true), 'Whether agents may use it; `false` keeps its entry.'),
  command: option(
    z.string().trim().min(1).optional(),
    'Program to start, which speaks MCP on its standard input and output. This or `url`.',
  ),
  args: option(z.array(z.string()).default([]), 'Arguments of the program.'),
  env: z
    .record(
      z.string(),
      secret(
        scalar(),
        'Environment of the program, beside `PATH`, `HOME` and what else every program needs; nothing more of the gateway’s own reaches it. Best as an environment reference `"${NAME}"`.',
      ),
    )
    .default({}),
  cwd: option(z.string().trim().min(1).optional(), 'Folder that the program starts in.'),
  url: secret(
    z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).optional(),
    'Address of a server that speaks MCP over streamable HTTP. This or `command`.',
  ),
  headers: z
    .record(
      z.string(),
      secret(scalar(), 'Header of each request, such as `Authorization: "Bearer ${NAME}"`.'),
    )
    .default({}),
  transport: option(
    z.enum(['stdio', 'streamable-http']).optional(),
    'How it is spoken to. Default: by `command` or `url`.',
  ),
  agents: option(
    z.array(z.string()).optional(),
    'Ids of the agents that may use it. Absent = every agent; which tools each is offered is up to the tool policy.',
  ),
  toolFilter: section({
    include: option(
      patterns(),
      'Its tools that there are: names as the server gives them or as they are offered, or patterns with `*`. Absent = all.',
    ),
    exclude: option(patterns(), 'Its tools that there are not; wins over `include`.'),
  }),
  connectionTimeoutMs: option(
    z.int().min(100).max(HOUR_MS).default(30_000),
    'Longest wait for its start and its list of tools, in ms. A turn that comes first waits as long; after a failure the next ones do not.',
  ),
  requestTimeoutMs: option(
    z
      .int()
      .min(100)
      .max(24 * HOUR_MS)
      .default(60_000),
    'Longest call of one of its tools, in ms.',
  ),
  auth: later(z.literal('oauth').optional(), 'OAuth in place of static headers.'),
  oauth: later(z.record(z.string(), z.unknown()).optional(), 'Settings of OAuth.'),
  sslVerify: later(z.boolean().default(true), 'Whether its certificate is checked.'),
  clientCert: later(z.string().optional(), 'Certificate that it is shown.'),
  clientKey: later(z.string().optional(), 'Key of that certificate.'),
  supportsParallelToolCalls: later(
    z.boolean().default(false),
    'Whether one message’s calls of it go side by side.',
  ),
});

/** `mcp.*`: servers whose tools agents may call. */
export const mcpOptions = section({
  servers: option(
    z.record(z.string(), server).default({}),
    'MCP servers by name. Their tools are offered as `<name>__<tool>`.',
  ),
  sessionIdleTtlMs: option(
    z
      .int()
      .min(0)
      .max(24 * HOUR_MS)
      .default(600_000),
    'A server that no turn has used for so long is ended, until the next one needs it, in ms; 0 = never.',
  ),
});

/** One entry of `mcp.servers`. */
export type McpServerSettings = z.output<typeof server>;

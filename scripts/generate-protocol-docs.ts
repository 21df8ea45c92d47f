/** Writes `docs/protocol.md` from the schemas and types of `src/protocol`: `node scripts/generate-protocol-docs.ts`. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { ERROR_CODES } from '../src/protocol/errors.ts';
import { EVENT_NAMES, type EventName } from '../src/protocol/events.ts';
import { connectParams } from '../src/protocol/frames.ts';
import { REFUSED_PARAMS } from '../src/protocol/method-params.ts';
import { LATER_METHODS, METHOD_NAMES, METHODS, type MethodName } from '../src/protocol/methods.ts';
import { PROTOCOL_MAX, PROTOCOL_MIN } from '../src/protocol/versions.ts';

export const PROTOCOL_PAGE = fileURLToPath(new URL('../docs/protocol.md', import.meta.url));
const SOURCE = fileURLToPath(new URL('../src/protocol/', import.meta.url));

const INTRODUCTION = `# The gateway protocol

<!-- Generated from src/protocol by scripts/generate-protocol-docs.ts; edit the schemas and types, not this page. -->

A WebSocket on the gateway's port, one JSON object per text frame, versions ${PROTOCOL_MIN} and ${PROTOCOL_MAX}. [The client](client.md) speaks it for
you. The methods are the same over every transport, and so are their scopes.

| frame | form |
|---|---|
| request | \`{"type": "req", "id", "method", "params"?}\` |
| response | \`{"type": "res", "id", "ok": true, "payload"}\` or \`{"type": "res", "id", "ok": false, "error"}\`; in any order, one per request, two for \`agent\` |
| event | \`{"type": "event", "event", "payload", "seq", "stateVersion"?}\`; \`seq\` counts the events of a connection from 1, without gaps |
| error | \`{"code", "message", "details"?, "retryable"?, "retryAfterMs"?}\` |

The gateway speaks first: the event \`connect.challenge\`. The first frame of the client is the request \`connect\`; its answer
(\`HelloOk\` below) says protocol, methods, events, scopes and limits. Events are live only and are not told later, but for
\`session.message\`, which goes on from a place. Parameters that are not listed are refused by name.
`;

/** What each method is for, in one line. */
const METHOD_NOTES: Record<MethodName, string> = {
  health: 'Whether the gateway takes calls.',
  status:
    'Version, counts of sessions and runs, the sessions that were active last, how MCP servers are doing. No content.',
  'sessions.list': 'Every session, newest first, page by page.',
  'sessions.search': 'Messages that have all words of a query, newest first.',
  'sessions.patch': 'Changes the settings of a session; `null` clears one.',
  'sessions.reset': 'Gives a session a new, empty transcript.',
  'sessions.delete': 'Hides a session and its transcripts from every tool.',
  'sessions.windows': 'Every transcript that a key has had.',
  'sessions.get':
    'The messages of a session page by page, newest page first, tool results included; `nextCursor` leads to older ones.',
  'sessions.preview':
    'The newest messages of several sessions in few words: 12 of each in 240 characters, at most 50 in 2,000. A session that is not there is `missing`.',
  'sessions.resolve':
    'The canonical key of what a key, a sessionId or a label names. One that is not there, or not the only one, is an error that says which there are.',
  'sessions.send':
    'The same as `chat.send`, with `key` for `sessionKey`; the two share their keys.',
  'sessions.abort':
    'The same as `chat.abort`, with `key` for `sessionKey`; a run can be named alone.',
  'sessions.create': 'Makes the session of a client without a runtime here, or finds it.',
  'sessions.subscribe':
    'This connection is told `sessions.changed`, as each is from its beginning.',
  'sessions.unsubscribe': 'This connection is told `sessions.changed` no more.',
  'sessions.messages.subscribe':
    'Follows a session: `session.message` for each of its messages, once, in order. Without `afterSeq` from now on; a number counts in the transcript that `key` names; `{sessionId, seq}` leads across resets. Asked again for the same session it goes on from the new place.',
  'sessions.messages.unsubscribe': 'Ends that.',
  'chat.send': 'Accepts a message of a person; answers once it is committed.',
  'chat.history': 'The newest messages of a session, tool results included, and what waits.',
  agent:
    'Accepts a message and answers twice: when it is committed, and when its run has ended (`AgentFinal`).',
  'agent.wait': 'Waits for a run, up to `timeoutMs`; the run goes on when the wait is over.',
  'runs.get': 'Where a run is and how it ended.',
  'runs.list': 'Runs of a session, in a state, or all, newest first.',
  'runs.wait': 'Waits for up to 100 runs, all or any of them.',
  'runs.stop': 'Stops a run and everything below it.',
  'exchanges.get': 'An agent-to-agent exchange: who said what, and what became of its announce.',
  'exchanges.list': 'The exchanges of a session, on either side.',
  usage:
    'Tokens and cost of a run, a session, a tree or everything, by day, model, agent or session.',
  send: 'Puts a text into the outbox of a chat, once per key.',
  'deliveries.list':
    'Texts that are stuck on their way to a chat, or those of one session or chat.',
  'deliveries.retry': 'Has a failed or unknown part handed over again.',
  'deliveries.drop': 'Gives a part up.',
  'audit.list': 'What was changed by hand.',
  'chat.abort': 'Stops a run of a session, or all of its runs.',
  'chat.inject':
    "Puts a text into a transcript as the agent's words, without a run and without a delivery. While the session is at work it waits (`pending`) for the end of its turn.",
  'models.list':
    'The models that the configuration names. Nothing of the access to their providers.',
  'system-presence':
    'Who is connected to this gateway, and who was within the last five minutes; at most 200, the gateway itself first. A client of the mode `cli` is left out.',
  'agents.list': 'The configured agents.',
  'tools.catalog': 'The session tools that a session is offered, as a model sees them.',
  'policy.explain':
    'Whether a session may do something, by which rule, and which setting decides it. Changes nothing.',
  'tools.invoke':
    'Calls a session tool as a session; `result` is the JSON of the tool, its refusals included.',
  'calls.start':
    'Makes a call of `sessions_send` or `sessions_wait` as a session, and answers at once with a handle on it; `result` instead when the tool refuses it. The same key is the same call.',
  'calls.get':
    'How such a call stands, with its answer once it has one; with `timeoutMs` it waits for that.',
  'calls.list': 'Those of a session, newest first.',
  'calls.cancel': 'Ends the wait of one; what it waits for goes on.',
  'device.pair.list': 'Devices that ask to be let in.',
  'device.pair.approve': 'Lets a device in.',
  'device.pair.reject': 'Does not.',
  'device.list': 'Devices that were let in.',
  'device.revoke': 'Shuts a device out and closes its sockets.',
  'device.token.rotate': 'Gives a device another token.',
  'config.reload': 'Takes the configuration over anew.',
};

const EVENT_NOTES: Record<EventName, string> = {
  'connect.challenge': 'the first frame of a connection',
  agent: 'start, end and tool calls of runs; their text, for who started one with `agent`',
  chat: 'the text of runs, for everybody else',
  'sessions.changed': 'a session has another state, setting or transcript',
  'session.message': 'a message of a session that this connection follows',
  presence:
    'somebody has connected or gone: the whole list, at most once in two seconds, and not to who has just been told by `connect`',
  tick: 'each `policy.tickIntervalMs`; a connection without any is dead',
  shutdown: 'the gateway goes away; connect again',
  'device.pair.requested': 'a device asks to be let in (`operator.pairing`)',
  'device.pair.resolved': 'it was approved or rejected (`operator.pairing`)',
};

/** Returns the page as text. */
export function protocolPage(): string {
  const answers = answerTypes();
  return [
    INTRODUCTION,
    `\n## connect\n\n${paramsTable(connectParams, 'connect')}`,
    '\n## Methods\n\n| method | scope | |\n|---|---|---|\n',
    ...METHOD_NAMES.map(
      (name) =>
        `| [\`${name}\`](#${anchorOf(name)}) | \`${METHODS[name].scope}\` | ${METHOD_NOTES[name]} |\n`,
    ),
    ...METHOD_NAMES.map((name) => methodSection(name, answers.get(name) ?? '')),
    `\nDocumented and not there yet, refused by name: ${LATER_METHODS.map((name) => `\`${name}\``).join(', ')}, \`node.pending.*\` and other \`device.*\`.\n`,
    eventSection(),
    errorSection(),
    typeSection(),
  ].join('');
}

function methodSection(name: MethodName, answer: string): string {
  const work = METHODS[name].isWork ? ' Refused while the gateway shuts down.' : '';
  return `\n### ${name}\n\n${METHOD_NOTES[name]}${work}\n\n${paramsTable(METHODS[name].params, name)}\nAnswer: \`${answer}\`\n`;
}

function anchorOf(heading: string): string {
  return heading.toLowerCase().replace(/[^a-z0-9-]/g, '');
}

interface JsonSchema {
  type?: string;
  const?: unknown;
  enum?: unknown[];
  anyOf?: JsonSchema[];
  items?: JsonSchema;
  properties?: Record<string, JsonSchema>;
  required?: string[];
  minimum?: number;
  exclusiveMinimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  maxItems?: number;
  pattern?: string;
  default?: unknown;
}

function paramsTable(schema: z.ZodType, method: string): string {
  const json = z.toJSONSchema(schema, { io: 'input' }) as JsonSchema;
  const rows = Object.entries(json.properties ?? {}).map(([name, one]) => {
    const isNeeded = json.required?.includes(name) ?? false;
    const fallback = one.default === undefined ? '' : `default \`${JSON.stringify(one.default)}\``;
    return `| \`${name}\` | ${typeOf(one)} | ${isNeeded ? 'needed' : fallback} |\n`;
  });
  const refused = Object.entries(REFUSED_PARAMS[method] ?? {}).map(
    ([name, why]) => `| \`${name}\` | | refused: ${why} |\n`,
  );
  if (rows.length + refused.length === 0) return 'It takes no parameters.\n';
  return `| parameter | values | |\n|---|---|---|\n${[...rows, ...refused].join('')}`;
}

function typeOf(schema: JsonSchema): string {
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (schema.enum !== undefined)
    return schema.enum.map((value) => `\`${String(value)}\``).join(', ');
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeOf).join(' or ');
  switch (schema.type) {
    case 'array':
      return `list${schema.maxItems === undefined ? '' : ` of at most ${schema.maxItems}`}: ${typeOf(schema.items ?? {})}`;
    case 'object':
      return schema.properties === undefined ? 'object' : objectType(schema);
    case 'integer':
    case 'number':
      return numberType(schema);
    case 'string':
      return textType(schema);
    default:
      return schema.type === 'boolean' ? 'true or false' : (schema.type ?? 'any value');
  }
}

function objectType({ properties = {}, required = [] }: JsonSchema): string {
  const members = Object.entries(properties).map(
    ([name, one]) => `\`${name}${required.includes(name) ? '' : '?'}\` ${typeOf(one)}`,
  );
  return `{${members.join('; ')}}`;
}

function numberType({ type, minimum, exclusiveMinimum, maximum }: JsonSchema): string {
  const isBounded = (bound: number | undefined): bound is number =>
    bound !== undefined && Math.abs(bound) < Number.MAX_SAFE_INTEGER;
  return [
    type === 'integer' ? 'whole number' : 'number',
    isBounded(exclusiveMinimum) ? `above ${exclusiveMinimum}` : '',
    isBounded(minimum) ? `from ${minimum}` : '',
    isBounded(maximum) ? `to ${maximum}` : '',
  ]
    .filter((part) => part !== '')
    .join(' ');
}

function textType({ pattern, maxLength }: JsonSchema): string {
  const length = maxLength === undefined ? '' : ` of at most ${maxLength} characters`;
  if (pattern === undefined) return `text${length}`;
  return pattern === '\\S' ? `text that is not blank${length}` : `text like \`${pattern}\``;
}

function eventSection(): string {
  const rows = EVENT_NAMES.map((name) => `| \`${name}\` | ${EVENT_NOTES[name]} |\n`);
  return `\n## Events\n\nTo connections with \`operator.read\`, where nothing else is said; payloads are in \`EventPayloads\` below.\n\n| event | |\n|---|---|\n${rows.join('')}`;
}

function errorSection(): string {
  const rows = Object.entries(ERROR_CODES).map(
    ([code, { wire, httpStatus, retryable }]) =>
      `| \`${code}\` | \`${wire}\` | ${httpStatus} | ${retryable ? 'yes' : 'no'} |\n`,
  );
  return `\n## Error codes\n\n\`details.code\` is the code in capitals, or something finer; [errors](errors.md) says what each means and what to do.\n\n| code | wire code | HTTP | retryable |\n|---|---|---|---|\n${rows.join('')}`;
}

/** The answer of each method, as its type is written. */
function answerTypes(): Map<string, string> {
  const text = readFileSync(`${SOURCE}answers/method-answers.ts`, 'utf8');
  const [, body = ''] = /export interface MethodAnswers \{\n([^]*?)\n\}/.exec(text) ?? [];
  return new Map(
    [...body.matchAll(/^ {2}'?([\w.-]+)'?: ([^]*?);$/gm)].map(([, name = '', type = '']) => [
      name,
      type.replace(/^Done<(.*)>$/, '{ ok: true } & $1'),
    ]),
  );
}

/** The types that answers and events are made of, as they are written. */
function typeSection(): string {
  const files = [
    ...readdirSync(`${SOURCE}answers`)
      .sort()
      .map((name) => `answers/${name}`),
    'frames.ts',
    'events.ts',
    'presence.ts',
    'message.ts',
    'tools/session-tools.ts',
    'tools/session-tool-answers.ts',
    'tools/inbox-answer.ts',
  ];
  const blocks = files.map((file) => {
    const text = readFileSync(`${SOURCE}${file}`, 'utf8');
    return `\n\`\`\`ts\n${declarationsOf(text).join('\n')}\`\`\`\n`;
  });
  return `\n## Types\n\nAs TypeScript. A property with \`?\` is there only when it is known.\n${blocks.join('')}`;
}

const DECLARATION =
  /^(?:\/\*\*(?:[^*]|\*(?!\/))*\*\/\n)?(?:export )?(?:interface \w+[^{]*\{\n[^]*?^\}|type \w+(?:<[^=]*>)? =[^]*?;)\n/gm;

function declarationsOf(text: string): string[] {
  return [...text.matchAll(DECLARATION)]
    .map(([declaration]) => declaration.replace(/^export /m, ''))
    .filter(
      (declaration) =>
        !/z\.output|typeof |interface MethodAnswers|SessionToolName/.test(declaration),
    );
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  writeFileSync(PROTOCOL_PAGE, protocolPage());

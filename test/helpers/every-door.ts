/** Every door of a gateway by which a message or a tool call gets in, behind one interface. */
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import {
  Client,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { runCli } from './captured-io.ts';
import { call, type TestWorld } from './test-world.ts';

type Json = Record<string, unknown>;

export interface Order {
  sessionKey: string;
  message: string;
  idempotencyKey?: string;
  /** false: resolves once the message is accepted */
  wait?: false;
}
/** How a door answered: with a run, or with an error that changed nothing. */
export interface Said {
  runId?: string | undefined;
  reply?: string | undefined;
  error?: string | undefined;
}
/** Where a message gets in: said by a person, or sent by a session. */
export interface MessageDoor {
  name: string;
  speaker: 'person' | 'session';
  /** false: a call is named by its place in the turn */
  takesKey: boolean;
  send(order: Order): Promise<Said>;
}
/** Where a session tool is called; what the call throws is an answer with `error`. */
export interface ToolDoor {
  name: string;
  takesKey: boolean;
  call(tool: string, args: Json, idempotencyKey?: string): Promise<Json>;
}
export interface EveryDoor {
  tools: ToolDoor[];
  /** those of people, and those of tools by `sessions_send` */
  messages: MessageDoor[];
  /** a client of `/mcp`, and one of `trunkline mcp` */
  mcp: { name: string; client: Client }[];
}

/** Opens `/v1`, and `/tools/invoke` for all session tools. */
export const EVERY_DOOR: Json = {
  gateway: {
    tools: { allow: ['sessions_send', 'sessions_spawn'] },
    http: { endpoints: { chatCompletions: { enabled: true } } },
  },
};
/** The session that calls tools, where a door does not bring its own. */
export const CALLER = 'agent:c:cli:caller';
const AGENT_TURN = 'an agent’s turn';
const PROGRAM = join(import.meta.dirname, '..', '..', 'bin', 'trunkline.js');

/** Opens the doors of a world with `EVERY_DOOR`; they close with the test. */
export async function openEveryDoor(t: TestContext, world: TestWorld): Promise<EveryDoor> {
  await world.say(CALLER, 'SAY: here');
  const mcp = await Promise.all([
    connect(t, { name: 'MCP over HTTP', transport: httpTransport(world) }),
    connect(t, { name: 'MCP over stdio', transport: stdioTransport(world) }),
  ]);
  const tools = [...toolsOf(world), ...mcp.map(mcpDoor)];
  return { tools, messages: [...peopleOf(world), ...tools.map(senderBy)], mcp };
}

async function connect(
  t: TestContext,
  { name, transport }: { name: string; transport: Transport },
): Promise<{ name: string; client: Client }> {
  const client = new Client({ name, version: '1' }, { versionNegotiation: { mode: 'auto' } });
  t.after(() => client.close());
  await client.connect(transport);
  return { name, client };
}

function httpTransport({ gateway }: TestWorld): Transport {
  const requestInit = { headers: { authorization: `Bearer ${gateway.token}` } };
  return new StreamableHTTPClientTransport(new URL('/mcp', gateway.url), { requestInit });
}

function stdioTransport({ gateway }: TestWorld): Transport {
  return new StdioClientTransport({
    command: process.execPath,
    args: [PROGRAM, 'mcp', '--url', gateway.url],
    env: { PATH: process.env['PATH'] ?? '', TRUNKLINE_GATEWAY_TOKEN: gateway.token ?? '' },
    stderr: 'ignore',
  });
}

async function runJson({ gateway }: TestWorld, argv: readonly string[]): Promise<Json> {
  const { out } = await runCli([...argv, '--json'], { TRUNKLINE_STATE_DIR: gateway.stateDir });
  return JSON.parse(out) as Json;
}

function peopleOf(world: TestWorld): MessageDoor[] {
  const { client } = world;
  let count = 0;
  const keyOf = ({ idempotencyKey = `every-door-${(count += 1)}` }: Order): string =>
    idempotencyKey;
  const cli = (...argv: string[]): Promise<Json> => runJson(world, argv);
  const chat = (method: string, order: Order): Promise<Said> =>
    chatBy(world, { method, order: { ...order, idempotencyKey: keyOf(order) } });
  const doors: Record<string, MessageDoor['send']> = {
    'chat.send': (order) => chat('chat.send', order),
    'sessions.send': (order) => chat('sessions.send', order),
    agent: async (order) => {
      const { sessionKey, message, wait } = order;
      const params = { sessionKey, message, idempotencyKey: keyOf(order) };
      if (wait === false) return saidBy(await client.request('agent', params));
      return finalBy(await client.runAgent(params));
    },
    'trunkline agent': async (order) => {
      const { sessionKey, message, wait } = order;
      const given = ['--session', sessionKey, '--message', message, '--idempotency-key'];
      const waiting = wait === false ? ['--no-wait'] : [];
      return finalBy(await cli('agent', ...given, keyOf(order), ...waiting));
    },
    'trunkline sessions send': async (order) => {
      const { sessionKey, message, wait } = order;
      const given = ['sessions', 'send', sessionKey, message, '--idempotency-key', keyOf(order)];
      return saidBy(await cli(...given, '--timeout', wait === false ? '0' : '30'));
    },
    '/v1/chat/completions': (order) => complete(world, { ...order, idempotencyKey: keyOf(order) }),
  };
  return Object.entries(doors).map(([name, send]) => ({
    name,
    speaker: 'person',
    takesKey: true,
    send: (order) => send(order).catch((error: Error): Said => ({ error: error.message })),
  }));
}

/** A message of a person, by either of the methods that take one. */
async function chatBy(
  { client }: TestWorld,
  { method, order }: { method: string; order: Order },
): Promise<Said> {
  const { sessionKey, wait, ...params } = order;
  const place = method === 'sessions.send' ? { key: sessionKey } : { sessionKey };
  const { runId } = await client.request(method, { ...place, ...params });
  if (wait === false) return { runId: textOf(runId) };
  return saidBy(await client.request('agent.wait', { runId, timeoutMs: 30_000 }));
}

async function complete(
  { gateway }: TestWorld,
  { sessionKey, message, idempotencyKey, wait }: Order & { idempotencyKey: string },
): Promise<Said> {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${gateway.token}`,
      'x-openclaw-session-key': sessionKey,
      'idempotency-key': idempotencyKey,
    },
    body: JSON.stringify({
      model: 'trunkline',
      messages: [{ role: 'user', content: message }],
      stream: wait === false,
    }),
  });
  if (wait === false && response.ok && response.body !== null) {
    // the first piece says that it is accepted; nobody reads the others
    for await (const piece of response.body) {
      const [, runId] = /"id":"([^"]+)"/.exec(new TextDecoder().decode(piece)) ?? [];
      return { runId };
    }
  }
  const body = (await response.json()) as {
    id: string;
    choices?: { message: { content: string } }[];
    error?: { message: string; run_id?: string };
  };
  if (body.error !== undefined) return { error: body.error.message, runId: body.error.run_id };
  return { runId: body.id, reply: body.choices?.[0]?.message.content };
}

function toolsOf(world: TestWorld): ToolDoor[] {
  const { gateway } = world;
  const doors: Record<string, ToolDoor['call']> = {
    [AGENT_TURN]: async (tool, args) => {
      await world.say(CALLER, `${call(tool, args)}\nSAY: done`);
      return (await world.toolAnswers(CALLER)).at(-1) ?? {};
    },
    'tools.invoke': async (tool, args, idempotencyKey) => {
      const params = { tool, args, sessionKey: CALLER, ...keyed(idempotencyKey) };
      return (await world.client.request<{ result: Json }>('tools.invoke', params)).result;
    },
    'POST /tools/invoke': async (tool, args, idempotencyKey) => {
      const response = await fetch(`${gateway.url}/tools/invoke`, {
        method: 'POST',
        headers: { authorization: `Bearer ${gateway.token}` },
        body: JSON.stringify({ tool, args, sessionKey: CALLER, ...keyed(idempotencyKey) }),
      });
      const { result, error } = (await response.json()) as {
        result?: Json;
        error?: { message: string };
      };
      return result ?? { error: error?.message };
    },
    'trunkline tool': async (tool, args, idempotencyKey) => {
      const flags = idempotencyKey === undefined ? [] : ['--idempotency-key', idempotencyKey];
      const argv = ['tool', tool, JSON.stringify(args), '--as', CALLER, ...flags];
      const { error, ...answer } = await runJson(world, argv);
      return { ...answer, ...(error === undefined ? {} : { error: errorOf(error) }) };
    },
  };
  return Object.entries(doors).map(([name, callTool]) => ({
    name,
    takesKey: name !== AGENT_TURN,
    call: (...given) => callTool(...given).catch((error: Error) => ({ error: error.message })),
  }));
}

function mcpDoor({ name, client }: { name: string; client: Client }): ToolDoor {
  return {
    name,
    takesKey: true,
    call: async (tool, args, idempotencyKey) => {
      const given = { name: tool, arguments: { ...args, ...keyed(idempotencyKey) } };
      const answer = await client.callTool(given).catch((error: Error) => ({
        structuredContent: { error: error.message },
      }));
      return (answer.structuredContent ?? {}) as Json;
    },
  };
}

/** A message that a session sends by the tool. */
function senderBy({ name, takesKey, call: callTool }: ToolDoor): MessageDoor {
  return {
    takesKey,
    name: `sessions_send by ${name}`,
    speaker: 'session',
    send: async ({ sessionKey, message, idempotencyKey, wait }) => {
      const timeoutSeconds = wait === false ? 0 : 30;
      const args = { sessionKey, message, timeoutSeconds, maxTurns: 0 };
      return saidBy(await callTool('sessions_send', args, idempotencyKey));
    },
  };
}

const keyed = (idempotencyKey?: string): Json =>
  idempotencyKey === undefined ? {} : { idempotencyKey };

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined;

function saidBy({ runId, reply, error }: Json): Said {
  return { runId: textOf(runId), reply: textOf(reply), error: errorOf(error) };
}

/** As text, or as the command line has it in JSON. */
function errorOf(error: unknown): string | undefined {
  return textOf(error) ?? textOf((error as { message?: unknown } | undefined)?.message);
}

/** The last answer of `agent`. */
function finalBy(final: object): Said {
  const { result, ...rest } = final as Json & { result?: { payloads: { text: string }[] } };
  return saidBy({ ...rest, reply: result?.payloads[0]?.text });
}

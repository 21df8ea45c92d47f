/** Requests to `/mcp`, behind the credential: messages and headers of both generations of the protocol. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { createMcpHttpDoor } from '../../../src/mcp/create-http-door.ts';
import { createSocketGateway } from '../../../src/mcp/socket-gateway.ts';
import { SESSION_TOOL_NAMES } from '../../../src/protocol/tools/session-tools.ts';
import { SESSION_TOOL_ARGS } from '../../../src/protocol/tools/session-tool-arg-schemas.ts';
import { silentLogger } from '../../../src/util/logger.ts';
import type { Grammar } from '../grammar.ts';
import { CLIENT_KEY, CURSOR_SECRET, type FuzzWorld, SECRET } from '../fuzz-world.ts';
import { nearName, oddObject, oddText, oddValue } from '../odd-values.ts';
import { assertRefusal } from '../oracles.ts';
import { suitingValue } from '../suiting-values.ts';

interface McpInput {
  body: unknown;
  headers: Record<string, string>;
}
type Json = Record<string, unknown>;

const NEWEST = '2026-07-28';
const revision = fc.oneof(fc.constantFrom(NEWEST, '2025-11-25', '2025-06-18'), oddText);
const clientInfo = fc.oneof(fc.record({ name: oddText, version: fc.constant('1') }), oddValue);
const envelope = oddObject(['protocolVersion', 'clientInfo', 'clientCapabilities'], (name) =>
  name === 'clientInfo' ? clientInfo : name === 'protocolVersion' ? revision : fc.constant({}),
).map((fields) =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [`io.modelcontextprotocol/${name}`, value]),
  ),
);
const uri = fc.oneof(
  oddText,
  oddText.map((text) => `trunkline://sessions/${text}`),
);

const PARAMS = new Map<string, fc.Arbitrary<Json>>(
  Object.entries({
    initialize: fc.record(
      { protocolVersion: revision, capabilities: fc.constant({}), clientInfo },
      { requiredKeys: ['protocolVersion', 'capabilities'] },
    ),
    'tools/call': fc.constantFrom(...SESSION_TOOL_NAMES).chain((tool) =>
      fc.record({
        name: nearName([tool]),
        arguments: fc.oneof(
          {
            weight: 5,
            arbitrary: oddObject(Object.keys(SESSION_TOOL_ARGS[tool].shape), suitingValue),
          },
          { weight: 1, arbitrary: oddValue },
        ),
      }),
    ),
    'resources/read': fc.record({ uri: fc.oneof(uri, oddValue) }),
    'resources/list': oddObject(['cursor'], () => oddValue),
    'subscriptions/listen': oddObject(['notifications'], () => oddValue),
  }),
);
const OTHERS = ['ping', 'tools/list', 'server/discover', 'prompts/list', 'notifications/cancelled'];

const params = (method: string): fc.Arbitrary<Json> =>
  PARAMS.get(method) ?? oddObject(['x'], () => oddValue);
const message = nearName([...PARAMS.keys(), ...OTHERS]).chain((method) =>
  fc
    .record({
      id: fc.oneof(fc.constant(1), oddValue),
      given: params(method),
      _meta: envelope,
      isNew: fc.boolean(),
    })
    .map(({ id, given, _meta, isNew }) => ({
      jsonrpc: '2.0',
      ...(method.startsWith('notifications/') ? {} : { id }),
      method,
      params: isNew ? { ...given, _meta } : given,
    })),
);
const body: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 12, arbitrary: message },
  { weight: 1, arbitrary: fc.array(message, { maxLength: 3 }) },
  { weight: 1, arbitrary: oddValue },
);

const HEADERS: Record<string, fc.Arbitrary<string>> = {
  'mcp-protocol-version': revision,
  'mcp-method': nearName([...PARAMS.keys(), ...OTHERS]),
  'mcp-name': nearName(SESSION_TOOL_NAMES),
  'mcp-session-id': fc.oneof(
    oddText,
    oddText.map((text) => Buffer.from(text).toString('base64url')),
  ),
  'x-trunkline-session-key': fc.oneof(fc.constantFrom('main', CLIENT_KEY, 'agent:b:main'), oddText),
  accept: fc.constantFrom('application/json', '*/*', ''),
  'content-type': fc.constantFrom('text/plain', 'application/json; charset=x', ''),
};
const headers = fc
  .subarray(Object.keys(HEADERS), { maxLength: 3 })
  .chain((names) =>
    fc.tuple(...names.map((name) => fc.tuple(fc.constant(name), HEADERS[name] ?? oddText))),
  );
const inputs: fc.Arbitrary<McpInput> = fc
  .tuple(body, headers)
  .map(([given, pairs]) => ({ body: given, headers: Object.fromEntries(pairs) }));

/** What an exchange over HTTP may end with. */
const STATUSES = [200, 202, 400, 404, 406, 415];

export function mcpGrammar(world: FuzzWorld): Grammar<McpInput> {
  const door = createMcpHttpDoor({
    gateway: createSocketGateway({ call: world.call as never }),
    version: 'fuzz',
    maxWaitSeconds: () => 1,
    logger: silentLogger,
  });
  return { inputs, feed: (input) => feedDoor(world, { door, input }) };
}

async function feedDoor(
  world: FuzzWorld,
  { door, input }: { door: ReturnType<typeof createMcpHttpDoor>; input: McpInput },
): Promise<void> {
  const request = requestOf(input);
  if (request === undefined) return;
  const before = world.watch.version();
  try {
    const response = await door(request, input.body);
    const text = await response.text();
    assert.ok(STATUSES.includes(response.status), `status ${response.status}`);
    for (const secret of [SECRET, CURSOR_SECRET]) assert.ok(!text.includes(secret), 'a secret');
    for (const answer of answersOf(text)) assertAnswer(answer);
    if (!response.ok) world.watch.assertUnchanged(before, 'refused by the protocol');
  } catch (error) {
    assertRefusal(error, { input, secrets: [SECRET, CURSOR_SECRET] });
    world.watch.assertUnchanged(before, 'refused by the door');
  }
  assert.deepEqual(world.takeFaults(), [], 'a request caused a fault');
}

/** Undefined where HTTP itself cannot carry the headers. */
function requestOf({ body: given, headers: own }: McpInput): Request | undefined {
  const usual = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  };
  try {
    return new Request('http://127.0.0.1/mcp', {
      method: 'POST',
      headers: { ...usual, ...own },
      body: JSON.stringify(given),
    });
  } catch {
    return undefined;
  }
}

/** The messages of a body or of a stream. */
function answersOf(text: string): Json[] {
  const streamed = [...text.matchAll(/^data: (.+)$/gm)].map(([, data]) => data ?? '');
  const messages = streamed.length > 0 || text.startsWith('event:') ? streamed : [text];
  return messages.filter((each) => each !== '').map((each) => JSON.parse(each) as Json);
}

/** With a gateway that is there every refusal is of what was asked. */
function assertAnswer({ jsonrpc, error }: Json): void {
  assert.equal(jsonrpc, '2.0');
  if (error === undefined) return;
  const { code, data, message: said } = error as { code: unknown; data?: Json; message: unknown };
  assert.equal(typeof code, 'number');
  assert.equal(typeof said, 'string');
  // parameters of a wrong form are the library's to refuse, and it does so with a list of issues
  const isOfLibrary = String(said).startsWith('[');
  if (!isOfLibrary) assert.notEqual(code, -32_603, `${String(said)} ${JSON.stringify(data)}`);
}

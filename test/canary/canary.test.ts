/**
 * What leaves the gateway, by which door, and which credentials may be in it. The table is written by
 * hand; a method, session tool, event or command without a row fails, and so does a row that nothing left by.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COMMAND_NAMES } from '../../src/cli/main.ts';
import { MASK } from '../../src/core/mask-secrets.ts';
import { EVENT_NAMES } from '../../src/protocol/events.ts';
import { METHOD_NAMES } from '../../src/protocol/methods.ts';
import { SESSION_TOOL_NAMES } from '../../src/protocol/tools/session-tools.ts';
import { CANARIES } from './canary-config.ts';
import { startCanaryWorld } from './canary-world.ts';
import { openEveryDoor } from './open-every-door.ts';

/**
 * Where a person or the operator reads what sessions said, as it was said (A8), where a model is asked and
 * where transcripts are kept; and where a device is given its own token.
 */
const SHOWS: Record<string, string> = {
  'method sessions.list': 'message task',
  'method sessions.search': 'message result',
  'method sessions.get': 'message result',
  'method sessions.preview': 'message',
  'method chat.history': 'message result task',
  // what others say to a client is its own message
  'tool sessions_inbox': 'message',
  'method tools.invoke': 'message',
  'method agent': 'message',
  'method agent.wait': 'message',
  'method runs.list': 'message task',
  'method exchanges.get': 'message',
  'method deliveries.list': 'message',
  'method device.token.rotate': 'rotatedToken',
  'event agent': 'message result task',
  'http completions': 'message',
  'event chat': 'message task',
  'event session.message': 'message result',
  'command agent': 'message',
  'command sessions': 'message',
  'command call': 'message result',
  'hello of a device': 'deviceToken',
  'request to the model': 'message result task prompt',
  'transcript file': 'message result task',
  'backup file': 'message result task prompt',
};

/** Where a credential was on its way out; proof that the story is played. */
const MASKED = [
  'tool sessions_list',
  'tool sessions_history',
  'tool sessions_search',
  'tool sessions_send',
  'tool sessions_wait',
  'method calls.get',
  'http tool',
  'http mcp',
  'http refusal',
  'socket refusal',
  'announce post',
  'announce relay',
  'announce template',
  'announce silent',
  'exchange turn',
  'command tool',
  'log',
];

/** Doors beside the methods, tools, events and commands. */
const OTHER_DOORS = [
  'hello',
  'hello of a device',
  'log',
  'http health',
  'http refusal',
  'http tool',
  'http mcp',
  'http completions',
  'socket refusal',
  'announce post',
  'announce relay',
  'announce template',
  'announce silent',
  'exchange turn',
  'request to the model',
  'transcript file',
  'backup file',
];

/** They carry a time, a nonce or a reason, and come when it is time. */
const BARE_EVENTS = ['event connect.challenge', 'event tick', 'event shutdown'];

test('[MK8, BR-071] every credential stays behind every door but those that show it', async (t) => {
  const world = await startCanaryWorld(t);
  const secrets: Record<string, string> = { ...CANARIES, ...(await openEveryDoor(world)) };
  const doors = [
    ...METHOD_NAMES.map((name) => `method ${name}`),
    ...SESSION_TOOL_NAMES.map((name) => `tool ${name}`),
    ...EVENT_NAMES.map((name) => `event ${name}`),
    ...COMMAND_NAMES.map((name) => `command ${name}`),
    ...OTHER_DOORS,
  ];
  const silent = doors.filter((door) => !BARE_EVENTS.includes(door) && !world.kept.has(door));
  assert.deepEqual(silent, [], 'something left by each door');
  const unlisted = [...world.kept.keys()].filter((door) => !doors.includes(door));
  assert.deepEqual(unlisted, [], 'each door is listed');
  const seen = Object.fromEntries(
    doors.map((door) => {
      const text = world.kept.get(door) ?? '';
      const names = Object.keys(secrets).filter((name) => text.includes(secrets[name]!));
      return [door, names.join(' ')];
    }),
  );
  const expected = Object.fromEntries(doors.map((door) => [door, SHOWS[door] ?? '']));
  assert.deepEqual(seen, expected);
  const unmasked = MASKED.filter((door) => !world.kept.get(door)?.includes(MASK));
  assert.deepEqual(unmasked, [], 'where a credential was on its way, a mask is');
  assert.match(world.kept.get('request to the model') ?? '', /MCP_TOKEN/, 'a server told its own');
  assert.match(world.kept.get('log') ?? '', /"msg":"the gateway has broken and ends"/);
});

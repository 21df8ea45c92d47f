import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseToolArgs } from './parse-tool-args.ts';
import { SESSION_TOOL_NAMES } from './session-tools.ts';
import type { SessionToolName } from './session-tools.ts';
import { KEY_MAX } from './tool-limits.ts';

const send = { sessionKey: 'k', message: 'm' };

const ACCEPTED: [SessionToolName, unknown, Record<string, unknown>][] = [
  ['sessions_list', undefined, {}],
  ['sessions_list', null, {}],
  ['sessions_list', { kinds: [], limit: null }, { kinds: [] }],
  ['sessions_list', { limit: 999, messageLimit: 50 }, { limit: 200, messageLimit: 20 }],
  [
    'sessions_list',
    { messageLimit: 0, activeMinutes: 0.5 },
    { messageLimit: 0, activeMinutes: 0.5 },
  ],
  [
    'sessions_list',
    { includeGlobal: true, includeUnknown: true },
    { includeGlobal: true, includeUnknown: true },
  ],
  ['sessions_history', { sessionKey: '  main ', limit: 5000 }, { sessionKey: 'main', limit: 1000 }],
  ['sessions_send', send, send],
  ['sessions_send', { ...send, timeoutSeconds: 0 }, { ...send, timeoutSeconds: 0 }],
  ['sessions_send', { ...send, timeoutSeconds: 1.5 }, { ...send, timeoutSeconds: 1.5 }],
  ['sessions_send', { ...send, timeoutSeconds: 9999 }, { ...send, timeoutSeconds: 3600 }],
  [
    'sessions_send',
    { label: 'l', agentId: 'A', message: ' kept ' },
    { label: 'l', agentId: 'A', message: ' kept ' },
  ],
  [
    'sessions_send',
    { agentId: 'a', message: 'm', mode: 'note', maxTurns: 0 },
    { agentId: 'a', message: 'm', mode: 'note', maxTurns: 0 },
  ],
  [
    'sessions_spawn',
    { task: 't', thread: false, mode: 'run', cleanup: 'keep', sandbox: 'inherit', attachments: [] },
    { task: 't', thread: false, mode: 'run', cleanup: 'keep', sandbox: 'inherit', attachments: [] },
  ],
  [
    'sessions_spawn',
    { task: 't', attachAs: { mountPath: '/in' } },
    { task: 't', attachAs: { mountPath: '/in' } },
  ],
  [
    'sessions_spawn',
    { task: 't', thread: true, mode: 'session', sandbox: 'require', attachments: [{}] },
    { task: 't', thread: true, mode: 'session', sandbox: 'require', attachments: [{}] },
  ],
  ['sessions_spawn', { task: 't', agentId: ' ' }, { task: 't' }],
  ['agents_list', {}, {}],
];

describe('accepted arguments', () => {
  for (const [tool, raw, args] of ACCEPTED) {
    test(`[TL2] ${tool} takes ${JSON.stringify(raw)} as ${JSON.stringify(args)}`, () => {
      assert.deepEqual(parseToolArgs(tool, raw), { ok: true, args });
    });
  }
});

test('[TL2] wherever a tool takes a session key it takes the longest there is', () => {
  const longest = 'k'.repeat(KEY_MAX);
  const calls: [SessionToolName, object][] = [
    ['sessions_list', { spawnedBy: longest }],
    ['sessions_history', { sessionKey: longest }],
    ['sessions_send', { ...send, sessionKey: longest }],
    ['sessions_wait', { sessionKeys: [longest] }],
    ['sessions_stop', { sessionKey: longest }],
    ['sessions_search', { query: 'q', sessionKey: longest }],
  ];
  for (const [tool, args] of calls)
    assert.deepEqual(parseToolArgs(tool, args), { ok: true, args }, tool);
});

const long = 'x'.repeat(3_000);
const REFUSED: [SessionToolName, unknown, RegExp][] = [
  ['sessions_list', [], /arguments of sessions_list must be an object/],
  [
    'sessions_list',
    { limit: 0 },
    /limit of sessions_list must be a whole number of at least 1; got 0/,
  ],
  ['sessions_list', { limit: 1.5 }, /limit .* got 1\.5/],
  ['sessions_list', { limit: '5' }, /limit .* got "5"/],
  ['sessions_list', { activeMinutes: 0 }, /activeMinutes .*above 0.*got 0/],
  ['sessions_list', { activeMinutes: -1 }, /activeMinutes .*got -1/],
  ['sessions_list', { activeMinutes: 'x' }, /activeMinutes .*got "x"/],
  ['sessions_list', { messageLimit: -1 }, /messageLimit .*got -1/],
  ['sessions_list', { kinds: ['main', 'slack'] }, /kinds .* list of main, group.*"slack"/],
  ['sessions_list', { agentId: 'a b' }, /agentId .*letters, digits/],
  ['sessions_list', { label: '  ' }, /label .*not blank/],
  ['sessions_list', { limti: 3 }, /unknown parameter "limti" of sessions_list, nearest: "limit"/],
  ['sessions_history', {}, /sessions_history needs sessionKey/],
  ['sessions_history', { sessionKey: ' ' }, /sessionKey of sessions_history must be/],
  ['sessions_history', { sessionKey: 'k', includeTool: true }, /nearest: "includeTools"/],
  ['sessions_send', { message: 'm' }, /needs sessionKey/],
  [
    'sessions_send',
    { sessionKey: 'k', agentId: 'a', message: 'm' },
    /sessionKey together with agentId/,
  ],
  [
    'sessions_send',
    { sessionKey: 'k', label: 'l', message: 'm' },
    /sessionKey together with label/,
  ],
  ['sessions_send', { sessionKey: 'k' }, /needs message/],
  ['sessions_send', { sessionKey: 'k', message: ' \n' }, /message .*not blank/],
  ['sessions_send', { ...send, timeoutSeconds: -1 }, /timeoutSeconds .*0 or more; got -1/],
  ['sessions_send', { ...send, timeoutSeconds: Number.NaN }, /timeoutSeconds .*got NaN/],
  ['sessions_send', { ...send, timeoutSeconds: '30' }, /timeoutSeconds .*got "30"/],
  ['sessions_send', { ...send, maxTurns: 6 }, /maxTurns .*0 to 5; got 6/],
  ['sessions_send', { ...send, mode: 'steer' }, /mode of sessions_send must be "run" or "note"/],
  [
    'sessions_send',
    { ...send, timeout: 3 },
    /unknown parameter "timeout".*nearest: "timeoutSeconds"/,
  ],
  ['sessions_send', { ...send, provenance: {} }, /unknown parameter "provenance"/],
  ['sessions_spawn', {}, /needs task/],
  ['sessions_spawn', { task: 't', thinking: 'huge' }, /thinking .*one of off, minimal.*"huge"/],
  ['sessions_spawn', { task: 't', runTimeoutSeconds: -1 }, /runTimeoutSeconds .*got -1/],
  ['sessions_spawn', { task: 't', mode: 'other' }, /mode of sessions_spawn must be/],
  ['sessions_spawn', { task: 't', attachments: 'x' }, /attachments .*a list of files/],
  ...[
    {},
    'much',
    [],
    { token: 5 },
    { tokens: 0 },
    { tokens: -1 },
    { tokens: 2 ** 53 + 1 },
    { tokens: 1e13 },
    { runs: 1.5 },
    { usd: Number.NaN },
    { usd: JSON.parse('1e309') as number },
    { usd: '1' },
    { seconds: 0 },
    { seconds: null },
    { tokens: 1, usd: -0 },
  ].map((budget): [SessionToolName, unknown, RegExp] => [
    'sessions_spawn',
    { task: 't', budget },
    /budget of sessions_spawn must be an object with one or more of tokens \(whole/,
  ]),
  ['sessions_spawn', { task: 't', attachAs: { path: 'x' } }, /attachAs .*mountPath/],
  [
    'sessions_spawn',
    { task: 't', channel: 'discord' },
    /unknown parameter "channel".*requester's chat/,
  ],
  ['sessions_spawn', { task: 't', to: 'x' }, /unknown parameter "to".*requester's chat/],
  ['sessions_spawn', { task: 't', modle: 'x' }, /nearest: "model"/],
  ['sessions_wait', {}, /needs runIds or sessionKeys/],
  ['sessions_wait', { runIds: 'r' }, /runIds of sessions_wait must be a list of runIds/],
  [
    'sessions_wait',
    { runIds: ['r'], mode: 'first' },
    /mode of sessions_wait must be "any" or "all"/,
  ],
  ['sessions_wait', { runIds: ['r'], timeout: 5 }, /nearest: "timeoutSeconds"/],
  ['sessions_stop', {}, /needs sessionKey: give exactly one of sessionKey .* and runId/],
  ['sessions_stop', { sessionKey: 'k', runId: 'r' }, /together with runId/],
  ['sessions_send', { ...send, message: 'm'.repeat(1_000_001) }, /message .*at most 1000000 char/],
  ['sessions_spawn', { task: 't'.repeat(1_000_001) }, /task .*at most 1000000 characters/],
  ['sessions_list', { search: long }, /search .*at most 256 characters; got "x{80}…"$/],
  ['sessions_list', { label: long }, /label .*at most 256 characters; got "x{80}…"$/],
  ['sessions_history', { sessionKey: long }, /sessionKey .*at most 512 characters; got "x{80}…"$/],
  ['sessions_send', { sessionKey: long, message: 'm' }, /sessionKey .*at most 512 characters/],
  ['sessions_spawn', { task: 't', label: long }, /label .*at most 256 characters; got "x{80}…"$/],
  ['sessions_spawn', { task: 't', model: long }, /model .*at most 256 characters/],
  [
    'sessions_spawn',
    { task: 't', idempotencyKey: long },
    /idempotencyKey .*at most 256 characters/,
  ],
  ['sessions_spawn', { task: 't', [long]: 1 }, /unknown parameter "x{80}…"/],
  ['sessions_spawn', { task: 't', mode: long }, /mode .*got "x{80}…"$/],
  ['sessions_list', { invalidJson: 'x' }, /^sessions_list: the arguments were not a JSON object/],
  ['agents_list', { invalidJson: 'x' }, /^agents_list: the arguments were not a JSON object/],
  ['agents_list', { all: true }, /agents_list takes no parameters; got "all"/],
];

describe('refused arguments', () => {
  for (const [tool, raw, error] of REFUSED) {
    test(`[TL1] ${tool} refuses ${show(raw).slice(0, 100)} by name`, () => {
      const parsed = parseToolArgs(tool, raw);
      assert.equal(parsed.ok, false);
      assert.match(parsed.ok ? '' : parsed.error, error);
    });
  }
});

test('every session tool refuses an unknown parameter', () => {
  for (const tool of SESSION_TOOL_NAMES)
    assert.equal(parseToolArgs(tool, { __proto_x: 1 }).ok, false);
});

function show(raw: unknown): string {
  return JSON.stringify(raw, (_, value: unknown) => (Number.isNaN(value) ? 'NaN' : value));
}

test('[TL12] a text over its bound is refused by the limit, and echoed in short', () => {
  const long = 'x'.repeat(2_000_000);
  for (const args of [{ label: long }, { search: long }, { [long]: 1 }]) {
    const parsed = parseToolArgs('sessions_list', args);
    assert.equal(parsed.ok, false);
    assert.ok(!parsed.ok && parsed.error.length < 500, 'short');
  }
});

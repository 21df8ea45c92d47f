import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseSessionEntry } from './parse-session-entry.ts';
import { collectSessions } from './source-session.ts';
import type { KeyRules, SourceStore } from './source-session.ts';

const NOW = 1_800_000_000_000;
const RULES: KeyRules = { mainKey: 'main', scope: 'per-sender', defaultAgentId: 'main' };
const store = (agentId: string, entries: Record<string, unknown>): SourceStore => ({
  agentId,
  file: `agents/${agentId}/sessions/sessions.json`,
  entries,
});
const collect = (entries: Record<string, unknown>, rules = RULES) =>
  collectSessions([store('ops', entries)], { ...rules, now: NOW });
const entry = (sessionId: string, more: object = {}): object => ({
  sessionId,
  updatedAt: 5,
  ...more,
});

const BAD_IDS = [
  '../../etc/passwd',
  '..\\x',
  'a/b',
  'C:\\x',
  '%2e%2e/x',
  'x\u0000y',
  'x'.repeat(200),
  '',
  '..',
  '.hidden',
  7,
];
for (const sessionId of BAD_IDS) {
  test(`[BR-062] a session with sessionId ${JSON.stringify(sessionId).slice(0, 30)} is left`, () => {
    const { sessions, left } = collect({ 'agent:ops:main': { sessionId, updatedAt: 5 } });
    assert.equal(sessions.length, 0);
    assert.match(left[0]?.reason ?? '', /sessionId/);
  });
}

test('[BR-062] a sessionFile counts only as a file name of its sessionId', () => {
  const fileOf = (sessionFile: unknown): [string, number] => {
    const parsed = parseSessionEntry(entry('S1', { sessionFile }), { now: NOW });
    assert.ok(parsed.ok);
    return [parsed.entry.transcriptFile, parsed.entry.notes.length];
  };
  assert.deepEqual(fileOf('/home/ada/.openclaw/agents/main/sessions/S1.jsonl'), ['S1.jsonl', 0]);
  assert.deepEqual(fileOf('C:\\state\\S1-topic-5.jsonl'), ['S1-topic-5.jsonl', 0]);
  assert.deepEqual(fileOf('/etc/passwd'), ['S1.jsonl', 1]);
  assert.deepEqual(fileOf('../S2.jsonl'), ['S1.jsonl', 1]);
  assert.deepEqual(fileOf(5), ['S1.jsonl', 1]);
});

test('keys become canonical, and bare keys keep the agent of their folder', () => {
  const { sessions, left } = collect({
    main: entry('1'),
    'AGENT:Beta:Discord:group:aB': entry('2'),
    'cron:Job': entry('3'),
    'agent:other:cron:job2': entry('4'),
    'group:G1': entry('5', { channel: 'WhatsApp' }),
    'group:G2': entry('6'),
    unknown: entry('7'),
    global: entry('8'),
    '+3161234': entry('9'),
  });
  assert.deepEqual(sessions.map(({ key, agentId }) => `${key} ${agentId}`).sort(), [
    'agent:beta:discord:group:aB beta',
    'agent:ops:main ops',
    'agent:ops:whatsapp:group:G1 ops',
    'cron:Job ops',
    'cron:job2 other',
  ]);
  assert.deepEqual(left.map((item) => item.name).sort(), [
    '+3161234',
    'global',
    'group:G2',
    'unknown',
  ]);
});

test('in global scope the shared session belongs to the default agent', () => {
  const { sessions } = collect({ global: entry('1') }, { ...RULES, scope: 'global' });
  assert.deepEqual(
    sessions.map(({ key, agentId }) => [key, agentId]),
    [['global', 'main']],
  );
});

test('of two spellings of one key, and of two keys with one transcript, the newest is taken', () => {
  const { sessions, left } = collect({
    'agent:ops:cron:j': entry('1', { updatedAt: 1 }),
    'cron:j': entry('2', { updatedAt: 2 }),
    'cron:j:run:r': entry('2', { updatedAt: 1 }),
  });
  assert.deepEqual(
    sessions.map(({ key, fields }) => [key, fields.sessionId]),
    [['cron:j', '2']],
  );
  assert.equal(left.length, 2);
});

test('an entry gives its columns, and what is unusable is noted', () => {
  const parsed = parseSessionEntry(
    {
      sessionId: 'ABCDEF00-0000-4000-8000-000000000000',
      updatedAt: 9,
      chatType: 'dm',
      channel: 'Telegram',
      subject: 'Team',
      label: ' l ',
      providerOverride: 'p',
      modelOverride: 'm',
      modelProvider: 'q',
      model: 'n',
      thinkingLevel: 'enormous',
      verboseLevel: 'on',
      sendPolicy: 'deny',
      queueMode: 'steer-backlog',
      queueDebounceMs: 500,
      queueCap: 0,
      queueDrop: 'old',
      inputTokens: 3,
      outputTokens: -1,
      totalTokens: 7,
      totalTokensFresh: false,
      systemSent: true,
      abortedLastRun: 'yes',
      lastChannel: 'Telegram',
      deliveryContext: { to: '42', threadId: 7 },
      spawnedBy: 'agent:a:main',
    },
    { now: NOW },
  );
  assert.ok(parsed.ok);
  assert.deepEqual(parsed.entry.fields, {
    sessionId: 'abcdef00-0000-4000-8000-000000000000',
    updatedAt: 9,
    chatType: 'direct',
    channel: 'telegram',
    displayName: 'Team',
    label: 'l',
    model: 'p/m',
    lastModel: 'q/n',
    thinkingLevel: null,
    verboseLevel: 'on',
    reasoningLevel: null,
    elevatedLevel: null,
    sendPolicy: 'deny',
    queueMode: 'steer-backlog',
    queueDebounceMs: 500,
    queueCap: null,
    queueDrop: 'old',
    inputTokens: 3,
    outputTokens: 0,
    totalTokens: null,
    systemSent: true,
    abortedLastRun: false,
    lastChannel: 'telegram',
    lastTo: '42',
    lastAccountId: null,
    lastThreadId: '7',
  });
  assert.equal(parsed.entry.transcriptFile, 'ABCDEF00-0000-4000-8000-000000000000.jsonl');
  assert.deepEqual(parsed.entry.notes, ['its thinkingLevel has no counterpart and was left out']);
  assert.equal(parsed.entry.spawnedBy, 'agent:a:main');
});

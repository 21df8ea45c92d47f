/** Values that a parameter of that name may take, so that inputs get past the check of their form. */
import fc from 'fast-check';
import { oddText, oddValue } from './odd-values.ts';

const PARTS = [
  'agent',
  'Agent ',
  'a',
  'b',
  'A',
  'c',
  'main',
  'MAIN',
  'current',
  'global',
  'unknown',
  'subagent',
  'group',
  'channel',
  'room',
  'direct',
  'dm',
  'discord',
  'telegram',
  'thread',
  'topic',
  'cron',
  'hook',
  'node',
  'node-x',
  'acp',
  '',
  ' ',
  'x',
  '!Ab',
  '0f0e0d0c-0000-4000-8000-00000000000a',
  '\u202Ex',
  '\0',
  '..',
  'Ä',
  'z'.repeat(600),
];

/** Session keys in every spelling, and texts that are nearly some. */
export const keyText: fc.Arbitrary<string> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      'main',
      'agent:a:main',
      'agent:b:main',
      'agent:a:one',
      'AGENT:B: Main',
      'current',
    ),
  },
  {
    weight: 4,
    arbitrary: fc
      .array(fc.constantFrom(...PARTS), { minLength: 1, maxLength: 8 })
      .map((parts) => parts.join(':')),
  },
  {
    weight: 1,
    arbitrary: fc.integer({ min: 1, max: 300 }).map((times) => `${'agent:a:'.repeat(times)}main`),
  },
  { weight: 1, arbitrary: oddText },
);

const SUITING: Record<string, fc.Arbitrary<unknown>> = {
  limit: fc.integer({ min: 1, max: 300 }),
  messageLimit: fc.integer({ min: 0, max: 30 }),
  activeMinutes: fc.integer({ min: 1, max: 99 }),
  kinds: fc.subarray(['main', 'group', 'cron', 'hook', 'node', 'other']),
  state: fc.constantFrom('idle', 'queued', 'running', 'ok', 'error', 'sent', 'failed'),
  mode: fc.constantFrom('run', 'note', 'any', 'all', 'session'),
  thinking: fc.constantFrom('off', 'low', 'high'),
  thinkingLevel: fc.constantFrom('off', 'low', null),
  sendPolicy: fc.constantFrom('allow', 'deny', null),
  by: fc.constantFrom('session', 'agent', 'model', 'day'),
  since: fc.constantFrom('2026-01-01', '2026-02-31', '9999-12-31', '0000-00-00'),
  until: fc.constantFrom('2026-01-01', '2026-12-31'),
  agentId: fc.constantFrom('a', 'b', 'B', 'none', ' a ', '__proto__'),
  agentIds: fc.subarray(['a', 'b', 'none']),
  model: fc.constantFrom('scripted/scripted', 'none/none', 'x'),
  tool: fc.constantFrom(
    'sessions_list',
    'sessions_history',
    'sessions_send',
    'sessions_spawn',
    'agents_list',
    'sessions_search',
    'sessions_inbox',
    'sessions_stop',
    'exec',
  ),
  args: fc.dictionary(
    fc.constantFrom('sessionKey', 'message', 'query', 'limit', 'runId', 'label', 'timeoutSeconds'),
    fc.oneof(keyText, fc.constant(0)),
    { maxKeys: 3 },
  ),
  runIds: fc.array(oddText, { maxLength: 3 }),
  sessionKeys: fc.array(keyText, { maxLength: 3 }),
  timeoutMs: fc.constantFrom(0, 1, 1e12, 2 ** 40),
  timeout: fc.constantFrom(0, 1, 1e9, Number.MAX_VALUE),
  runTimeoutSeconds: fc.constantFrom(0, 1, 1e15, Number.MAX_VALUE),
  timeoutSeconds: fc.constantFrom(0, -1, 'soon'),
  maxTurns: fc.integer({ min: -1, max: 6 }),
  channel: fc.constantFrom('webchat', 'discord', 'telegram', 'none'),
  attachments: fc.array(
    fc.record(
      { name: oddText, content: oddText, encoding: fc.constantFrom('utf8', 'base64', 'x') },
      { requiredKeys: [] },
    ),
    { maxLength: 3 },
  ),
  attachAs: fc.record({ mountPath: oddText }, { requiredKeys: [] }),
  budget: fc.dictionary(
    fc.constantFrom('tokens', 'costUsd', 'usd', 'runs', '__proto__'),
    oddValue,
    { maxKeys: 3 },
  ),
  reply: fc.record({ messageId: oddText, text: oddText }, { requiredKeys: [] }),
  cleanup: fc.constantFrom('keep', 'delete'),
  sandbox: fc.constantFrom('inherit', 'require'),
  queueMode: fc.constantFrom('steer', 'collect', 'followup', null),
};
const KEYS = new Set(['sessionKey', 'key', 'spawnedBy', 'sessionId', 'to', 'as']);
const FLAGS = /^(?:deliver|include|archived|tree|probe|thread$|bestEffort|deleteTranscript)/;

/** Returns values for a parameter: mostly of its kind, sometimes of any other. */
export function suitingValue(name: string): fc.Arbitrary<unknown> {
  const usual = KEYS.has(name)
    ? keyText
    : FLAGS.test(name)
      ? fc.boolean()
      : (SUITING[name] ?? oddText);
  return fc.oneof({ weight: 7, arbitrary: usual }, { weight: 1, arbitrary: oddValue });
}

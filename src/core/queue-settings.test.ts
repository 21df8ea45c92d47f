import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ConfigInput, defaultConfig } from '../protocol/options/config.ts';
import { queueSettings } from './queue-settings.ts';

const NONE = { queueMode: null, queueDebounceMs: null, queueCap: null, queueDrop: null };

type Queue = NonNullable<NonNullable<ConfigInput['messages']>['queue']>;

const cases: [what: string, queue: Queue, session: object, expected: object][] = [
  ['the defaults', {}, {}, { mode: 'collect', debounceMs: 1000, cap: 20, drop: 'summarize' }],
  ['the configuration', { mode: 'followup', cap: 3 }, {}, { mode: 'followup', cap: 3 }],
  [
    'the channel',
    { mode: 'followup', byChannel: { webchat: 'interrupt' } },
    {},
    { mode: 'interrupt' },
  ],
  [
    'another channel',
    { mode: 'followup', byChannel: { signal: 'steer' } },
    {},
    { mode: 'followup' },
  ],
  [
    'the session',
    { mode: 'followup', byChannel: { webchat: 'interrupt' }, cap: 3 },
    { queueMode: 'steer-backlog', queueCap: 7, queueDebounceMs: 0, queueDrop: 'new' },
    { mode: 'steer-backlog', cap: 7, debounceMs: 0, drop: 'new' },
  ],
  ['another word', { mode: 'queue' }, {}, { mode: 'steer' }],
  ['another word for the session', {}, { queueMode: 'queue' }, { mode: 'steer' }],
];
for (const [what, queue, session, expected] of cases) {
  test(`[QU9] ${what} decides how a message waits`, () => {
    const config = defaultConfig({ messages: { queue } });
    const settings = queueSettings(config, { ...NONE, ...session }, 'webchat');
    assert.deepEqual({ ...settings, ...expected }, settings);
  });
}

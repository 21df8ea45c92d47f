import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { announceParts, announceText, formatRuntime, statsLine } from './announce-text.ts';
import type { AnnounceInput } from './announce-text.ts';

const STATS: AnnounceInput['stats'] = {
  runtimeMs: 312_000,
  tokens: { input: 1000, output: 234, total: 1234 },
  costUsd: 0.0123,
  sessionKey: 'agent:main:subagent:u',
  sessionId: 'S',
  transcriptPath: '/state/agents/main/sessions/S.jsonl',
};
const BASE: AnnounceInput = { status: 'success', finalReply: 'all 3 files read', stats: STATS };

test('the announce text has Status, Result, Notes and one stats line', () => {
  const text = announceText({
    ...BASE,
    announceReply: 'I read 3 files.',
    notes: ['one was empty'],
  });
  assert.equal(
    text,
    'Status: success\nResult: I read 3 files.\nNotes: one was empty\n\n' +
      'Stats: runtime 5m12s • tokens 1234 (in 1000 / out 234) • est $0.01 • sessionKey agent:main:subagent:u' +
      ' • sessionId S • transcript /state/agents/main/sessions/S.jsonl',
  );
  assert.doesNotMatch(announceText(BASE), /Notes:/);
});

const PARTS: [name: string, input: Partial<AnnounceInput>, result: string, notes: string][] = [
  ['without an announce turn the result is the last text', {}, 'all 3 files read', ''],
  [
    '[BR-118] headings are not doubled',
    { announceReply: 'Status: success\nResult: ok\nNotes: n' },
    'ok',
    'n',
  ],
  [
    '[BR-118] a Status written by the model goes',
    { status: 'error', announceReply: 'Status: success\nResult: ok' },
    'ok',
    '',
  ],
  [
    'marked-up headings are headings',
    { announceReply: '**Status:** done\n## Result: ok\n**Notes**: n' },
    'ok',
    'n',
  ],
  ['a stats line written by the model goes', { announceReply: 'ok\nStats: runtime 0s' }, 'ok', ''],
  ['text before a heading stays', { announceReply: 'Well.\nNotes: n\nmore' }, 'Well.', 'n\nmore'],
  [
    'lower-case words are no headings',
    { announceReply: 'status: up\nnotes: none' },
    'status: up\nnotes: none',
    '',
  ],
  [
    'fenced lines are no headings',
    { announceReply: '```\nStatus: 200\n```' },
    '```\nStatus: 200\n```',
    '',
  ],
  [
    'an announce of nothing but a Status falls back',
    { announceReply: 'Status: done' },
    'all 3 files read',
    '',
  ],
  [
    '[BR-113] an empty reply gives the newest tool result and says so',
    { finalReply: ' ', newestToolResult: 'T-last' },
    'T-last',
    'The run ended without assistant text.',
  ],
  [
    '[BR-113] the announce text then goes to the notes',
    { finalReply: '', newestToolResult: 'T-last', announceReply: 'Done.' },
    'T-last',
    'Done.\nThe run ended without assistant text.',
  ],
  [
    '[BR-207] a failed run without text says so',
    { status: 'error', finalReply: '', notes: ['model call failed'] },
    '(not available)',
    'model call failed\nThe run ended without assistant text.',
  ],
  [
    'a silence word is no text',
    { finalReply: 'NO_REPLY', newestToolResult: 'T' },
    'T',
    'The run ended without assistant text.',
  ],
];

for (const [name, input, result, notes] of PARTS) {
  test(name, () => {
    const status = input.status ?? 'success';
    assert.deepEqual(announceParts({ ...BASE, ...input }), { status, result, notes });
  });
}

test('[BR-118] the one Status line is the first and comes from the runtime', () => {
  const line = fc.constantFrom(
    'Status: success',
    '**Status:** x',
    'STATUS: y',
    'Result: r',
    'Notes: n',
    'text',
    '',
    'Stats: s',
  );
  const reply = fc.array(line, { maxLength: 8 }).map((lines) => lines.join('\n'));
  fc.assert(
    fc.property(reply, reply, (announceReply, finalReply) => {
      const lines = announceText({ ...BASE, status: 'error', announceReply, finalReply }).split(
        '\n',
      );
      assert.equal(lines[0], 'Status: error');
      assert.equal(lines.filter((text) => /^\W*status\W*:/i.test(text)).length, 1);
      assert.equal(lines.filter((text) => /^\W*stats\W*:/i.test(text)).length, 1);
    }),
  );
});

test('[BR-117] unknown usage is n/a and has no cost', () => {
  const line = statsLine({ ...STATS, tokens: undefined, transcriptPath: undefined });
  assert.equal(
    line,
    'Stats: runtime 5m12s • tokens n/a • sessionKey agent:main:subagent:u • sessionId S',
  );
  assert.doesNotMatch(statsLine({ ...STATS, costUsd: undefined }), /est/);
  assert.match(statsLine({ ...STATS, costUsd: 0.0004 }), /est \$0\.0004/);
  assert.match(statsLine({ ...STATS, runtimeMs: undefined }), /runtime n\/a/);
});

test('a runtime is short and exact to the second', () => {
  const cases = [
    [0, '0s'],
    [499, '0s'],
    [59_600, '1m0s'],
    [312_000, '5m12s'],
    [3_725_000, '1h2m5s'],
    [-5, '0s'],
  ] as const;
  for (const [ms, text] of cases) assert.equal(formatRuntime(ms), text);
});

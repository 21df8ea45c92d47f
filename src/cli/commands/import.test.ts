import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { runCli } from '../../../test/helpers/captured-io.ts';

const root = mkdtempSync(join(tmpdir(), 'trunkline-import-'));
after(() => rmSync(root, { recursive: true, force: true }));

const GOOD = { sessionId: '0e5b4c58-8a34-4c3c-9f0e-6f5b6a1c2d3e', updatedAt: 1_700_000_000_000 };

function makeSource(name: string, entries: Record<string, unknown>): string {
  const dir = join(root, name);
  const sessions = join(dir, 'agents/main/sessions');
  mkdirSync(sessions, { recursive: true });
  writeFileSync(join(sessions, 'sessions.json'), JSON.stringify(entries));
  const lines = [
    {
      type: 'session',
      version: 3,
      id: GOOD.sessionId,
      timestamp: '2026-01-01T00:00:00Z',
      cwd: '/',
    },
    {
      type: 'message',
      id: 'm1',
      parentId: null,
      timestamp: '2026-01-01T00:00:01Z',
      message: { role: 'user', content: 'hello', timestamp: 1_700_000_000_000 },
    },
  ];
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  writeFileSync(join(sessions, `${GOOD.sessionId}.jsonl`), text);
  return dir;
}

const BAD = { updatedAt: 'never' };
const CASES: [title: string, entries: Record<string, unknown>, exitCode: number, text: RegExp][] = [
  ['all', { 'agent:main:main': GOOD }, 0, /1 sessions taken, 0 left/],
  ['some', { 'agent:main:main': GOOD, 'agent:main:x': BAD }, 3, /1 sessions taken, 1 left/],
  ['none', { 'agent:main:x': BAD }, 1, /0 sessions taken, 1 left\n {2}left: agent:main:x/],
];
for (const [title, entries, exitCode, text] of CASES) {
  test(`an import that takes ${title} ends with exit code ${exitCode} and says so`, async () => {
    const dir = makeSource(title, entries);
    const argv = ['import', 'openclaw', dir, '--state-dir', join(root, `state-${title}`)];
    const first = await runCli(argv);
    assert.equal(first.exitCode, exitCode, first.notes);
    assert.match(first.out, text);
    const again = await runCli([...argv, '--json']);
    assert.equal(again.exitCode, exitCode);
    assert.equal(JSON.parse(again.out).sessions.taken.length, 0);
  });
}

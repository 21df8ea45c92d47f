/** Sessions of the older form go on in a gateway, also from a transcript that is damaged. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { importIntoState } from '../src/app/import-state.ts';
import { textOf } from '../src/protocol/message.ts';
import type { ImportReport } from '../src/service/import-openclaw/import-report.ts';
import { startWorld, type TestWorld } from './helpers/test-world.ts';

const KEY = 'agent:b:discord:group:G1';
const SESSION_ID = '5f0c6a52-6f3b-4f0e-9d55-0a7c2c1f9e11';
const FOLDER = 'agents/b/sessions';

/** A transcript of so many messages, one a line, below its header. */
function transcriptLines(count: number): string[] {
  const entries = Array.from({ length: count }, (_, at) => ({
    type: 'message',
    id: `m${at}`,
    parentId: at === 0 ? null : `m${at - 1}`,
    timestamp: '2026-01-02T03:04:05.000Z',
    message: { role: 'user', content: [{ type: 'text', text: `old ${at}` }], timestamp: 1 },
  }));
  const header = {
    type: 'session',
    version: 3,
    id: SESSION_ID,
    timestamp: '2026-01-02T03:04:04.000Z',
  };
  return [header, ...entries].map((line) => JSON.stringify(line));
}

interface Imported {
  world: TestWorld;
  report: ImportReport;
  /** the transcript file as it is after the import */
  file: string;
}

/** Imports one group of agent b with this transcript, and starts a gateway on the result. */
async function startImported(t: TestContext, text: string): Promise<Imported> {
  let report: ImportReport | undefined;
  let path = '';
  const prepare = async (stateDir: string): Promise<void> => {
    const dir = join(stateDir, 'older');
    path = join(dir, FOLDER, `${SESSION_ID}.jsonl`);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    const store = { [KEY]: { sessionId: SESSION_ID, updatedAt: 5, chatType: 'group' } };
    writeFileSync(join(dir, FOLDER, 'sessions.json'), JSON.stringify(store));
    report = await importIntoState({ dir, stateDir, env: {} });
  };
  const world = await startWorld(t, { prepare });
  return { world, report: report!, file: readFileSync(path, 'utf8') };
}

async function textsOf(world: TestWorld): Promise<string[]> {
  return (await world.history(KEY)).map((message) => textOf(message));
}

test('a send to an imported session runs with its history as context', async (t) => {
  const { world, report } = await startImported(t, `${transcriptLines(3).join('\n')}\n`);
  assert.equal(report.outcome, 'all');
  const answer = await world.tool('sessions_send', { sessionKey: KEY, message: 'SAY: new' });
  assert.equal(answer['reply'], 'new');
  const prompt = world.model.requests[0]?.raw ?? '';
  const places = ['old 0', 'old 1', 'old 2', 'SAY: new'].map((text) => prompt.indexOf(text));
  assert.ok(
    places.every((place, at) => place > (places[at - 1] ?? 0)),
    String(places),
  );
  assert.deepEqual(await textsOf(world), ['old 0', 'old 1', 'old 2', 'SAY: new', 'new']);
});

test('[BR-053] of a transcript with a torn line all others are read, and the line is named', async (t) => {
  const lines = transcriptLines(50);
  lines[19] = lines[19]!.slice(0, 40);
  const text = `${lines.join('\n')}\n`;
  const { world, report, file } = await startImported(t, text);
  const texts = await textsOf(world);
  assert.equal(texts.length, 49);
  assert.deepEqual(
    [texts[0], texts[17], texts[18], texts[48]],
    ['old 0', 'old 17', 'old 19', 'old 49'],
  );
  const [note] = report.notes;
  assert.deepEqual([note?.line, note?.text], [20, 'unreadable line skipped']);
  assert.equal(file, text, 'the file is as it was');
});

test('[BR-159] a transcript with a broken first line goes on where it was', async (t) => {
  const lines = transcriptLines(40);
  lines[0] = lines[0]!.slice(0, 30);
  const { world } = await startImported(t, `${lines.join('\n')}\n`);
  const final = await world.client.runAgent({
    sessionKey: KEY,
    message: 'SAY: hi',
    idempotencyKey: 'k',
  });
  assert.equal(final.status, 'ok');
  const history = await world.tool('sessions_history', { sessionKey: KEY, limit: 100 });
  assert.equal(history['sessionId'], SESSION_ID);
  const texts = await textsOf(world);
  assert.deepEqual(
    [texts.length, texts[0], texts[39], texts[40], texts[41]],
    [42, 'old 0', 'old 39', 'SAY: hi', 'hi'],
  );
});

/** Transcripts as files beside the database (A25, B11.2). */
import assert from 'node:assert/strict';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { startGateway } from '../src/app/start-gateway.ts';
import { importIntoState } from '../src/app/import-state.ts';
import { connectGateway } from '../src/client/gateway-client.ts';
import { transcriptPathOf } from '../src/service/sessions/session-row-view.ts';
import { silentLogger } from '../src/util/logger.ts';

interface Place {
  stateDir: string;
  /** runs a gateway while `texts` are said to `main`, one after the other */
  say(...texts: string[]): Promise<void>;
  /** transcript file of `main` */
  path(): string;
  entries(): Record<string, unknown>[];
}

function makePlace(t: TestContext): Place {
  const stateDir = mkdtempSync(join(tmpdir(), 'mirror-'));
  t.after(() => rmSync(stateDir, { recursive: true, force: true }));
  const query = (sql: string): Record<string, unknown>[] => {
    const db = new DatabaseSync(join(stateDir, 'trunkline.db'), { readOnly: true });
    try {
      return db
        .prepare(sql)
        .all()
        .map((row) => ({ ...row }));
    } finally {
      db.close();
    }
  };
  return {
    stateDir,
    say: (...texts) => sayAll(stateDir, texts),
    path: () => {
      const [row] = query("select session_id from sessions where key = 'agent:main:main'");
      const sessionId = String(row?.['session_id']);
      return transcriptPathOf(stateDir, { agentId: 'main', sessionId });
    },
    entries: () =>
      query(
        `select entry_id, parent_id, type, json from entries where session_id =
          (select session_id from sessions where key = 'agent:main:main') order by seq`,
      ),
  };
}

async function sayAll(stateDir: string, texts: readonly string[]): Promise<void> {
  const gateway = await startGateway({ stateDir, port: 0, env: {}, logger: silentLogger });
  const { url, token } = gateway;
  const client = await connectGateway({ url, token, clientName: 'test' });
  try {
    for (const text of texts) {
      const message = `SAY: ${text}`;
      const idempotencyKey = `${Math.random()}`;
      const sent = { sessionKey: 'main', message, idempotencyKey };
      const { runId } = await client.request<{ runId: string }>('chat.send', sent);
      await client.request('agent.wait', { runId, timeoutMs: 20_000 });
    }
  } finally {
    await client.close();
    await gateway.stop();
  }
}

function linesOf(path: string): Record<string, unknown>[] {
  const text = readFileSync(path, 'utf8');
  assert.ok(text.endsWith('\n'), 'no torn line');
  const lines = text.slice(0, -1).split('\n');
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** The file says exactly what the database does. */
function assertMirrored(place: Place): void {
  const [header, ...lines] = linesOf(place.path());
  const id = place.path().split('/').at(-1)?.replace('.jsonl', '');
  assert.deepEqual(
    { type: header?.['type'], version: header?.['version'], id: header?.['id'] },
    { type: 'session', version: 3, id },
  );
  assert.ok(!Number.isNaN(Date.parse(String(header?.['timestamp']))));
  assert.deepEqual(
    lines.map((line) => [line['id'], line['parentId'], line['type'], line['message']]),
    place
      .entries()
      .map((row) => [
        row['entry_id'],
        row['parent_id'],
        row['type'],
        JSON.parse(String(row['json'])),
      ]),
  );
}

test('[MI1] each ended run is in the transcript file, a header and a chain of entries for its owner alone', async (t) => {
  const place = makePlace(t);
  await place.say('one', 'two\n\u2028 with "quotes" and 🦊');
  assertMirrored(place);
  assert.equal(linesOf(place.path()).length, 5);
  assert.equal(statSync(place.path()).mode & 0o077, 0);
  assert.equal(statSync(dirname(place.path())).mode & 0o077, 0);
});

test('[MI1] a session that nobody has written to has no file', async (t) => {
  const place = makePlace(t);
  await place.say();
  assert.ok(!existsSync(place.path()));
  assert.ok(!existsSync(join(place.stateDir, 'agents')));
});

const DAMAGE: [title: string, damage: (path: string) => void, isKept: boolean][] = [
  ['is missing', (path) => rmSync(path), false],
  ['is empty', (path) => truncateSync(path, 0), false],
  ['has a torn end', (path) => truncateSync(path, statSync(path).size - 7), false],
  ['has rubbish at its end', (path) => appendFileSync(path, '{"type":"mess'), false],
  [
    'lacks its last entries',
    (path) =>
      writeFileSync(path, `${readFileSync(path, 'utf8').split('\n').slice(0, 3).join('\n')}\n`),
    false,
  ],
  [
    'has a broken first line',
    (path) => writeFileSync(path, readFileSync(path, 'utf8').slice(40)),
    true,
  ],
  [
    'has entries that the database does not know',
    (path) => appendFileSync(path, '{"type":"message","id":"later","parentId":null}\n'),
    true,
  ],
];
for (const [title, damage, isKept] of DAMAGE) {
  test(`[MI2] a file that ${title} is repaired at the next start, nobody having to write`, async (t) => {
    const place = makePlace(t);
    await place.say('one', 'two');
    damage(place.path());
    const left = existsSync(place.path()) ? readFileSync(place.path(), 'utf8') : '';
    await place.say();
    assertMirrored(place);
    const kept = readdirSync(dirname(place.path())).filter((name) => name.includes('.replaced.'));
    assert.equal(kept.length, isKept ? 1 : 0);
    if (isKept) {
      const [name = ''] = kept;
      assert.equal(readFileSync(join(dirname(place.path()), name), 'utf8'), left);
    }
    await place.say('three');
    assertMirrored(place);
  });
}

test('[MI3] a file that cannot be written fails no run, and is written when it can be', async (t) => {
  const place = makePlace(t);
  await place.say('one');
  const path = place.path();
  rmSync(path);
  mkdirSync(path);
  await place.say('two');
  assert.equal(place.entries().length, 4);
  rmSync(path, { recursive: true });
  await place.say('three');
  assertMirrored(place);
});

test(
  '[MI3] a symbolic link in place of a file is not followed',
  { skip: process.platform === 'win32' },
  async (t) => {
    const place = makePlace(t);
    await place.say('one');
    const path = place.path();
    const victim = join(place.stateDir, 'victim');
    rmSync(path);
    symlinkSync(victim, path);
    await place.say('two');
    assert.ok(!existsSync(victim), 'nothing is made where a link leads');
    writeFileSync(victim, 'mine');
    await place.say('three');
    assert.equal(readFileSync(victim, 'utf8'), 'mine');
  },
);

const HOSTILE_IDS = [
  '../../etc/passwd',
  '..\\x',
  'a/b',
  'C:\\x',
  '%2e%2e/x',
  'x\u0000y',
  '.',
  '..',
  '.hidden',
  '',
  'x'.repeat(5000),
];
test('[MI4, BR-062] whatever a sessionId or agentId is, its file stays in the folder and is its own', () => {
  const folder = '/state/agents/main/sessions';
  const paths = [...HOSTILE_IDS, 'a_b', '%2e%2e_x'].map((sessionId) =>
    transcriptPathOf('/state', { agentId: 'main', sessionId }),
  );
  for (const path of paths) {
    assert.equal(dirname(path), folder);
    assert.match(path.slice(folder.length + 1), /^[A-Za-z0-9_][A-Za-z0-9._%-]{0,140}\.jsonl$/);
  }
  assert.equal(new Set(paths).size, paths.length, 'no two share a file');
  for (const agentId of HOSTILE_IDS) {
    const path = transcriptPathOf('/state', { agentId, sessionId: 's' });
    assert.equal(dirname(dirname(dirname(path))), '/state/agents');
  }
});

test('[MI4, BR-062] a session whose id names a path is mirrored inside the folder', async (t) => {
  const place = makePlace(t);
  await place.say('one');
  const db = new DatabaseSync(join(place.stateDir, 'trunkline.db'));
  for (const table of ['sessions', 'windows', 'entries', 'runs'])
    db.exec(`update ${table} set session_id = '../../../escape' where session_id is not null`);
  db.close();
  await place.say('two');
  assert.equal(dirname(place.path()), join(place.stateDir, 'agents', 'main', 'sessions'));
  assert.equal(linesOf(place.path())[0]?.['id'], '../../../escape');
  assert.ok(!readdirSync(place.stateDir).some((name) => name.includes('escape')));
  assert.ok(!readdirSync(dirname(place.stateDir)).some((name) => name.startsWith('escape')));
});

test('[MI5] a mirrored transcript can be imported again, entry by entry', async (t) => {
  const place = makePlace(t);
  await place.say('one', 'two');
  const db = new DatabaseSync(join(place.stateDir, 'trunkline.db'));
  db.exec(
    `insert into entries (session_id, seq, entry_id, parent_id, type, json, created_at)
       select session_id, next_seq, 'c1', last_entry_id, 'compaction',
         '{"type":"compaction","id":"old","summary":"so far","tokensBefore":9}', 1 from windows where next_seq > 1`,
  );
  db.exec("update windows set next_seq = next_seq + 1, last_entry_id = 'c1' where next_seq > 1");
  db.close();
  await place.say('three');
  const source = mkdtempSync(join(tmpdir(), 'mirror-source-'));
  t.after(() => rmSync(source, { recursive: true, force: true }));
  const sessions = join(source, 'agents', 'main', 'sessions');
  mkdirSync(sessions, { recursive: true });
  const sessionId = place.path().split('/').at(-1)?.replace('.jsonl', '') ?? '';
  writeFileSync(join(sessions, `${sessionId}.jsonl`), readFileSync(place.path()));
  writeFileSync(
    join(sessions, 'sessions.json'),
    JSON.stringify({ 'agent:main:main': { sessionId, updatedAt: 1_700_000_000_000 } }),
  );
  const copy = makePlace(t);
  const report = await importIntoState({ dir: source, stateDir: copy.stateDir, env: {} });
  assert.equal(report.outcome, 'all');
  const withoutPlace = (rows: Record<string, unknown>[]): unknown[] =>
    rows.map((row) => {
      const json = JSON.parse(String(row['json'])) as Record<string, unknown>;
      // what is no message is stored with its own id and place
      const { id: _id, parentId: _parent, timestamp: _time, ...rest } = json;
      return [
        row['entry_id'],
        row['parent_id'],
        row['type'],
        row['type'] === 'message' ? json : rest,
      ];
    });
  assert.deepEqual(withoutPlace(copy.entries()), withoutPlace(place.entries()));
  assert.equal(copy.entries().length, 7);
});

test('[MI6, BR-054] files that no session knows are neither opened nor listed', async (t) => {
  const place = makePlace(t);
  await place.say('one');
  const folder = dirname(place.path());
  const orphans = Array.from({ length: 500 }, (_, at) => join(folder, `orphan-${at}.jsonl`));
  for (const path of orphans) {
    writeFileSync(path, 'not even JSON', { mode: 0o000 });
    // read last long ago: whoever reads it now moves that, also where the mode stops nobody
    utimesSync(path, new Date(1000), new Date());
  }
  const gateway = await startGateway({
    stateDir: place.stateDir,
    port: 0,
    env: {},
    logger: silentLogger,
  });
  t.after(() => gateway.stop());
  const { url, token } = gateway;
  const client = await connectGateway({ url, token, clientName: 'test' });
  t.after(() => client.close());
  const list = await client.request<{ count: number }>('sessions.list', {});
  assert.equal(list.count, 1);
  for (const path of orphans) {
    const { atimeMs, size } = statSync(path);
    assert.deepEqual([atimeMs, size], [1000, 13], path);
  }
});

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { channelOf } from '../../core/keys.ts';
import { defaultConfig } from '../../protocol/options/config.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import { openSqliteStore } from '../../store/sqlite/open-sqlite-store.ts';
import type { Store } from '../../store/store.ts';
import { silentLogger } from '../../util/logger.ts';
import { newSessionRow } from '../sessions/session-rows.ts';
import { importOpenClaw } from './import-openclaw.ts';

const NOW = 1_800_000_000_000;
const CHILD = 'agent:main:subagent:11111111-0000-4000-8000-000000000000';
const GRANDCHILD = 'agent:ops:subagent:22222222-0000-4000-8000-000000000000';
const GROUP = 'agent:main:discord:group:42';

interface Place {
  dir: string;
  state: string;
  store: Store;
  write(file: string, content: unknown): void;
}

function createPlace(t: TestContext): Place {
  const root = mkdtempSync(join(tmpdir(), 'import-openclaw-'));
  const dir = join(root, 'source');
  const state = join(root, 'state');
  mkdirSync(dir);
  const clock = { now: () => NOW };
  const store = openSqliteStore({ path: join(state, 'test.db'), clock, logger: silentLogger });
  t.after(async () => {
    await store.close();
    rmSync(root, { recursive: true });
  });
  const write = (file: string, content: unknown): void => {
    mkdirSync(dirname(join(dir, file)), { recursive: true });
    writeFileSync(join(dir, file), typeof content === 'string' ? content : JSON.stringify(content));
  };
  return { dir, state, store, write };
}

const message = (id: string, parentId: string | null, text: string): object => ({
  type: 'message',
  id,
  parentId,
  timestamp: '2026-01-02T03:04:05.000Z',
  message: { role: 'user', content: [{ type: 'text', text }], timestamp: 1, extra: { kept: id } },
});
const transcript = (...texts: string[]): string =>
  [
    { type: 'session', version: 3, id: 'x', timestamp: '2026-01-02T03:04:04.000Z' },
    ...texts.map((text, at) => message(`m${at}`, at === 0 ? null : `m${at - 1}`, text)),
  ]
    .map((line) => `${JSON.stringify(line)}\n`)
    .join('');

/** Two agents, five sessions, two spawns. */
function fill({ write }: Place): void {
  write('agents/main/sessions/sessions.json', {
    // the child first: its parent must still be written before it
    [CHILD]: {
      sessionId: 'S-child',
      updatedAt: 3,
      spawnedBy: 'agent:main:main',
      label: 'kid',
      lastChannel: 'webchat',
    },
    'agent:main:main': {
      sessionId: 'S-main',
      updatedAt: 4,
      lastChannel: 'telegram',
      lastTo: '7',
      channel: 'telegram',
      totalTokens: 99,
      sessionFile: '/elsewhere/S-main.jsonl',
    },
    [GROUP]: { sessionId: 'S-group', updatedAt: 2, sendPolicy: 'deny', label: 'grp' },
  });
  write('agents/ops/sessions/sessions.json', {
    [GRANDCHILD]: { sessionId: 'S-grand', updatedAt: 5 },
    'agent:ops:cron:j1': { sessionId: 'S-cron', updatedAt: 1, lastChannel: 'telegram' },
  });
  write('agents/main/sessions/S-main.jsonl', transcript('hello', 'again'));
  write('agents/main/sessions/S-child.jsonl', transcript('task'));
  write('agents/main/sessions/S-group.jsonl', transcript('hi group'));
  write('agents/ops/sessions/S-grand.jsonl', transcript('deeper'));
  write('agents/ops/sessions/S-cron.jsonl', transcript('tick'));
  write('subagents/runs.json', {
    version: 2,
    runs: {
      r1: {
        runId: 'r1',
        childSessionKey: CHILD,
        requesterSessionKey: 'agent:main:main',
        requesterOrigin: { channel: 'webchat' },
        task: 'do it',
        cleanup: 'keep',
        label: 'kid',
        createdAt: 10,
        archiveAtMs: 3_600_010,
        endedAt: 20,
      },
      r2: {
        runId: 'r2',
        childSessionKey: GRANDCHILD,
        requesterSessionKey: CHILD,
        task: 'more',
        createdAt: 11,
      },
      r3: {
        runId: 'r3',
        childSessionKey: 'agent:main:subagent:gone',
        requesterSessionKey: CHILD,
        createdAt: 12,
      },
    },
  });
}

const rowOf = async (store: Store, key: string): Promise<SessionRow> => {
  const row = await store.read((tx) => tx.sessions.get(key));
  assert.ok(row, key);
  return row;
};
const historyOf = (store: Store, sessionId: string): Promise<unknown[]> =>
  store.read(async (tx) => {
    const tail = await tx.entries.tail({
      sessionId,
      includeTools: true,
      beforeSeq: undefined,
      limit: 100,
    });
    return tail.map((entry) => JSON.parse(entry.json) as unknown);
  });

/** Names, contents and times of everything below a folder. */
function fingerprint(dir: string): string {
  const hash = createHash('sha256');
  for (const file of readdirSync(dir, { recursive: true, encoding: 'utf8' }).sort()) {
    const stat = statSync(join(dir, file));
    hash.update(
      `${file} ${stat.mtimeMs} ${stat.isFile() ? readFileSync(join(dir, file), 'utf8') : ''}`,
    );
  }
  return hash.digest('hex');
}

test('sessions come with key, kind, channel, lineage, policy, route and their messages as they were', async (t) => {
  const place = createPlace(t);
  fill(place);
  const before = fingerprint(place.dir);
  const report = await importOpenClaw({ dir: place.dir, store: place.store, now: NOW });
  assert.equal(fingerprint(place.dir), before);
  assert.equal(report.outcome, 'all');
  assert.equal(report.sessions.taken.length, 5);
  assert.deepEqual(
    report.subagentRuns.left.map((item) => item.name),
    ['r3'],
  );
  const main = await rowOf(place.store, 'agent:main:main');
  assert.deepEqual(
    [main.kind, channelOf(main), main.lastTo, main.sessionId, main.totalTokens, main.updatedAt],
    ['main', 'telegram', '7', 'S-main', 99, 4],
  );
  assert.equal(main.createdAt, Date.parse('2026-01-02T03:04:04.000Z'));
  const group = await rowOf(place.store, GROUP);
  assert.deepEqual(
    [group.kind, channelOf(group), group.sendPolicy, group.label],
    ['group', 'discord', 'deny', 'grp'],
  );
  const cron = await rowOf(place.store, 'cron:j1');
  assert.deepEqual([cron.kind, channelOf(cron), cron.agentId], ['cron', 'internal', 'ops']);
  const grandchild = await rowOf(place.store, GRANDCHILD);
  assert.deepEqual(
    [grandchild.spawnedBy, grandchild.rootKey, grandchild.spawnDepth, grandchild.kind],
    [CHILD, 'agent:main:main', 2, 'other'],
  );
  await place.store.read(async (tx) => {
    assert.equal(await tx.sessions.isDescendant('agent:main:main', GRANDCHILD), true);
    const spawn = await tx.spawns.get(CHILD);
    assert.deepEqual(
      [
        spawn?.state,
        spawn?.settledAt,
        spawn?.runId,
        spawn?.task,
        spawn?.archiveAfterMinutes,
        spawn?.routeJson,
      ],
      ['settled', NOW, 'r1', 'do it', 60, '{"channel":"webchat"}'],
    );
  });
  assert.deepEqual(await historyOf(place.store, 'S-main'), [
    {
      role: 'user',
      content: [{ type: 'text', text: 'hello' }],
      timestamp: 1,
      extra: { kept: 'm0' },
    },
    {
      role: 'user',
      content: [{ type: 'text', text: 'again' }],
      timestamp: 1,
      extra: { kept: 'm1' },
    },
  ]);
  assert.ok(report.notes.some((note) => /run r2 had not ended/.test(note.text)));
});

test('a second import takes nothing twice and says so', async (t) => {
  const place = createPlace(t);
  fill(place);
  await importOpenClaw({ dir: place.dir, store: place.store, now: NOW });
  const again = await importOpenClaw({ dir: place.dir, store: place.store, now: NOW + 1 });
  assert.deepEqual(
    [again.outcome, again.sessions.taken.length, again.sessions.alreadyThere.length],
    ['all', 0, 5],
  );
  assert.deepEqual([again.subagentRuns.taken, again.subagentRuns.alreadyThere], [0, 2]);
  assert.equal((await historyOf(place.store, 'S-main')).length, 2);
});

const emptyMain = (sessionId: string): SessionRow =>
  newSessionRow(defaultConfig(), { key: 'agent:main:main', agentId: 'main', now: NOW, sessionId });

test('a main session that nobody has used gives way; a used one stays and is reported', async (t) => {
  for (const isUsed of [false, true]) {
    const place = createPlace(t);
    fill(place);
    await place.store.write('test', async (tx) => {
      await tx.sessions.insert(emptyMain('fresh'));
      const json = '{"role":"user","content":"mine"}';
      const entry = {
        entryId: 'e',
        type: 'message',
        role: 'user',
        runId: null,
        json,
        createdAt: NOW,
      } as const;
      if (isUsed) await tx.entries.append({ ...entry, sessionId: 'fresh' });
    });
    const report = await importOpenClaw({ dir: place.dir, store: place.store, now: NOW });
    const main = await rowOf(place.store, 'agent:main:main');
    assert.equal(main.sessionId, isUsed ? 'fresh' : 'S-main');
    assert.equal(report.outcome, isUsed ? 'some' : 'all');
    if (!isUsed) assert.equal((await historyOf(place.store, 'S-main')).length, 2);
    else assert.match(report.sessions.left[0]?.reason ?? '', /here already/);
  }
});

for (const [name, content] of [
  ['0 bytes', ''],
  ['half of its JSON', '{"agent:main:main":{"sessionId":"S-ma'],
  ['a list', '[]'],
] as const) {
  test(`[BR-087] a sessions.json of ${name} is reported, and other agents are still taken`, async (t) => {
    const place = createPlace(t);
    fill(place);
    place.write('agents/main/sessions/sessions.json', content);
    place.write('agents/main/sessions/sessions.json.bak', '{}');
    const report = await importOpenClaw({ dir: place.dir, store: place.store, now: NOW });
    assert.equal(report.outcome, 'some');
    assert.deepEqual(
      report.sessions.left.map((item) => item.file),
      ['agents/main/sessions/sessions.json'],
    );
    assert.match(report.sessions.left[0]?.reason ?? '', /sessions\.json\.bak/);
    assert.equal(report.sessions.taken.length, 2);
    assert.equal(
      readFileSync(join(place.dir, 'agents/main/sessions/sessions.json'), 'utf8'),
      content,
    );
    const grandchild = await rowOf(place.store, GRANDCHILD);
    assert.deepEqual([grandchild.spawnedBy, grandchild.rootKey], [CHILD, CHILD]);
  });
}

test('[BR-062] nothing outside the sessions folder is read, not even through a link', async (t) => {
  const place = createPlace(t);
  const outside = join(place.state, 'outside');
  mkdirSync(join(outside, 'sessions'), { recursive: true });
  writeFileSync(join(outside, 'secret.jsonl'), transcript('secret'));
  writeFileSync(join(outside, 'sessions/sessions.json'), '{"agent:evil:main":{"sessionId":"E"}}');
  place.write('agents/main/sessions/sessions.json', {
    'agent:main:main': { sessionId: 'link', updatedAt: 1 },
    'agent:main:a': { sessionId: '../../../state/outside/secret', updatedAt: 1 },
    'agent:main:b': { sessionId: 'B', updatedAt: 1, sessionFile: join(outside, 'secret.jsonl') },
  });
  symlinkSync(join(outside, 'secret.jsonl'), join(place.dir, 'agents/main/sessions/link.jsonl'));
  symlinkSync(outside, join(place.dir, 'agents/evil'));
  const report = await importOpenClaw({ dir: place.dir, store: place.store, now: NOW });
  assert.deepEqual(report.sessions.taken.map(({ key, messages }) => `${key} ${messages}`).sort(), [
    'agent:main:b 0',
    'agent:main:main 0',
  ]);
  assert.deepEqual(
    report.sessions.left.map((item) => item.name),
    ['agent:main:a'],
  );
  assert.equal(report.outcome, 'some');
  const texts = report.notes.map((note) => note.text).join('\n');
  assert.match(texts, /link\.jsonl is a symbolic link; not followed/);
  assert.match(texts, /sessionFile is not a transcript/);
});

test('the configuration is written once, beside an existing one, without secrets', async (t) => {
  const place = createPlace(t);
  fill(place);
  place.write(
    'openclaw.json',
    `{ // JSON5
    gateway: { port: 18791, auth: { token: 'hunter2' } },
    models: { providers: { fake: { baseUrl: 'http://127.0.0.1:1/v1', apiKey: 'hunter2' } } },
    session: { mainKey: 'main' }, }`,
  );
  const path = join(place.state, 'trunkline.json');
  const besidePath = join(place.state, 'trunkline.imported.json');
  const run = () =>
    importOpenClaw({ dir: place.dir, store: place.store, now: NOW, config: { path, besidePath } });
  const first = await run();
  assert.deepEqual(
    [first.config?.result, first.config?.path, first.config?.isBeside],
    ['written', path, false],
  );
  const text = readFileSync(path, 'utf8');
  assert.doesNotMatch(text + JSON.stringify(first), /hunter2/);
  assert.match(text, /\$\{FAKE_API_KEY\}/);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.equal((await run()).config?.result, 'already_there');
  writeFileSync(path, '{}');
  const beside = await run();
  assert.deepEqual(
    [beside.config?.result, beside.config?.path, beside.config?.isBeside],
    ['written', besidePath, true],
  );
  assert.equal(readFileSync(path, 'utf8'), '{}');
  assert.equal(readFileSync(besidePath, 'utf8'), text);
  assert.equal((await run()).config?.result, 'already_there');
  place.write('openclaw.json', '{ broken');
  assert.deepEqual((await run()).config?.result, 'unreadable');
});

test('the main key of the imported configuration is understood', async (t) => {
  const place = createPlace(t);
  place.write('openclaw.json', { session: { mainKey: 'work' } });
  place.write('agents/main/sessions/sessions.json', {
    'agent:main:work': { sessionId: 'S', updatedAt: 1 },
  });
  await importOpenClaw({ dir: place.dir, store: place.store, now: NOW });
  assert.equal((await rowOf(place.store, 'agent:main:work')).kind, 'main');
});

test('a folder without sessions takes none, the newer form is named, and no folder is an error', async (t) => {
  const place = createPlace(t);
  const empty = await importOpenClaw({ dir: place.dir, store: place.store, now: NOW });
  assert.equal(empty.outcome, 'none');
  assert.match(empty.notes[0]?.text ?? '', /no sessions/);
  place.write('agents/main/agent/openclaw-agent.sqlite', 'x');
  const newer = await importOpenClaw({ dir: place.dir, store: place.store, now: NOW });
  assert.equal(newer.outcome, 'none');
  assert.match(newer.sessions.left[0]?.reason ?? '', /newer form/);
  await assert.rejects(
    importOpenClaw({ dir: join(place.dir, 'gone'), store: place.store, now: NOW }),
    /is not a folder/,
  );
});

import assert from 'node:assert/strict';
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { runCli } from '../../../test/helpers/captured-io.ts';
import { startGateway } from '../../app/start-gateway.ts';
import { connectGateway } from '../../client/gateway-client.ts';
import { silentLogger } from '../../util/logger.ts';

const root = mkdtempSync(join(tmpdir(), 'trunkline-backup-'));
after(() => rmSync(root, { recursive: true, force: true }));

let states = 0;
function freshState(): string {
  states += 1;
  return join(root, `state-${states}`);
}
const cli = (stateDir: string, ...argv: string[]) => runCli([...argv, '--state-dir', stateDir]);

/** Runs `use` with a gateway that says what it is told to. */
async function withGateway(
  stateDir: string,
  use: (say: (text: string) => Promise<unknown>) => Promise<void>,
): Promise<void> {
  const gateway = await startGateway({ stateDir, port: 0, env: {}, logger: silentLogger });
  const client = await connectGateway({
    url: gateway.url,
    token: gateway.token,
    clientName: 'test',
  });
  try {
    await use(async (text) => {
      const message = `SAY: ${text}`;
      const sent = { sessionKey: 'main', message, idempotencyKey: text };
      const { runId } = await client.request<{ runId: string }>('chat.send', sent);
      return client.request('agent.wait', { runId, timeoutMs: 20_000 });
    });
  } finally {
    await client.close();
    await gateway.stop();
  }
}

function repliesIn(file: string): string[] {
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    const rows = db.prepare("select reply from runs where state = 'ok' order by seq").all();
    return rows.map((row) => String(row['reply']));
  } finally {
    db.close();
  }
}

test('[CA1] a backup of a running gateway is one private file of one moment, and the gateway goes on', async () => {
  const stateDir = freshState();
  const file = join(root, 'running.backup');
  await withGateway(stateDir, async (say) => {
    await say('one');
    const [result] = await Promise.all([
      cli(stateDir, 'backup', file, '--json'),
      ...Array.from({ length: 20 }, (_, at) => say(`busy ${at}`)),
    ]);
    assert.equal(result.exitCode, 0, result.notes + result.out);
    assert.deepEqual(JSON.parse(result.out), {
      file,
      bytes: statSync(file).size,
      schemaVersion: JSON.parse(result.out).schemaVersion,
    });
    await say('two');
  });
  assert.equal(statSync(file).mode & 0o077, 0);
  const besides = readdirSync(root).filter((name) => name.startsWith('running.backup'));
  assert.deepEqual(besides, ['running.backup']);
  assert.equal(repliesIn(file)[0], 'one');
  assert.ok(!repliesIn(file).includes('two'));
});

test('[CA1] a backup never replaces a file, and needs a store and a folder', async () => {
  const stateDir = freshState();
  const none = await cli(stateDir, 'backup', join(root, 'none'));
  assert.equal(none.exitCode, 1);
  assert.match(none.notes, /there is no store/);
  assert.ok(!existsSync(stateDir), 'nothing was made');
  await withGateway(stateDir, async () => {});
  const taken = join(root, 'taken');
  writeFileSync(taken, 'mine');
  assert.match((await cli(stateDir, 'backup', taken)).notes, /exists already/);
  assert.equal(statSync(taken).size, 4);
  const lost = await cli(stateDir, 'backup', join(root, 'no', 'folder'));
  assert.match(lost.notes, /there is no folder/);
});

test('[CA2] a restore puts the backup in place and keeps the store that was there', async () => {
  const stateDir = freshState();
  const file = join(root, 'before.backup');
  await withGateway(stateDir, async (say) => {
    await say('one');
    await cli(stateDir, 'backup', file);
    await say('two');
  });
  const result = await cli(stateDir, 'restore', file, '--json');
  assert.equal(result.exitCode, 0, result.notes + result.out);
  const { keptAs } = JSON.parse(result.out) as { keptAs: string };
  assert.match(keptAs, /trunkline\.db\.before-restore-\d{4}-/);
  assert.deepEqual(repliesIn(keptAs), ['one', 'two']);
  assert.deepEqual(repliesIn(join(stateDir, 'trunkline.db')), ['one']);
  await withGateway(stateDir, async (say) => {
    await say('three');
  });
  assert.deepEqual(repliesIn(join(stateDir, 'trunkline.db')), ['one', 'three']);
});

test('[CA2] a log that a killed gateway has left is kept with its store, not read into the new one', async () => {
  const stateDir = freshState();
  const path = join(stateDir, 'trunkline.db');
  const file = join(root, 'log.backup');
  await withGateway(stateDir, async (say) => {
    await say('one');
    await cli(stateDir, 'backup', file);
  });
  const db = new DatabaseSync(path);
  db.exec("pragma wal_autocheckpoint = 0; update runs set reply = 'from the log'");
  // as after a kill: the log is there and nobody has it open
  const copy = freshState();
  await withGateway(copy, async () => {});
  for (const suffix of ['', '-wal']) {
    copyFileSync(`${path}${suffix}`, join(copy, `trunkline.db${suffix}`));
  }
  db.close();
  const { keptAs } = JSON.parse((await cli(copy, 'restore', file, '--json')).out);
  assert.deepEqual(repliesIn(join(copy, 'trunkline.db')), ['one']);
  assert.deepEqual(repliesIn(keptAs), ['from the log']);
});

test('[CA3] a restore is refused while a gateway runs, and nothing changes', async () => {
  const stateDir = freshState();
  const file = join(root, 'refused.backup');
  await withGateway(stateDir, async (say) => {
    await cli(stateDir, 'backup', file);
    await say('one');
    const result = await cli(stateDir, 'restore', file);
    assert.equal(result.exitCode, 1);
    assert.match(result.notes, /in use by another gateway/);
    await say('two');
  });
  assert.deepEqual(repliesIn(join(stateDir, 'trunkline.db')), ['one', 'two']);
});

const BAD_BACKUPS: [title: string, make: (file: string, from: string) => void, notes: RegExp][] = [
  ['that is not there', () => {}, /there is no file/],
  ['that is empty', (file) => writeFileSync(file, ''), /is damaged \(the file has 0 bytes\)/],
  [
    'that is no database',
    (file) => writeFileSync(file, 'no database at all '.repeat(500)),
    /is damaged \(file is not a database\)/,
  ],
  [
    'that is another database',
    (file) => {
      const db = new DatabaseSync(file);
      db.exec('create table notes (text)');
      db.close();
    },
    /is no store of Trunkline/,
  ],
  [
    'of a newer schema',
    (file, from) => {
      const db = new DatabaseSync(from);
      db.prepare('vacuum into ?').run(file);
      db.close();
      const copy = new DatabaseSync(file);
      copy.exec("insert into schema_version (version, name, applied_at) values (99, 'later', 1)");
      copy.close();
    },
    /has schema version 99, this Trunkline knows versions up to/,
  ],
];
for (const [title, make, notes] of BAD_BACKUPS) {
  test(`[CA3] a restore of a file ${title} is refused, and nothing changes`, async () => {
    const stateDir = freshState();
    await withGateway(stateDir, async (say) => void (await say('one')));
    const path = join(stateDir, 'trunkline.db');
    const file = join(root, `bad ${title}`);
    make(file, path);
    const result = await cli(stateDir, 'restore', file);
    assert.equal(result.exitCode, 1);
    assert.match(result.notes, notes);
    assert.deepEqual(repliesIn(path), ['one']);
    assert.deepEqual(
      readdirSync(stateDir).filter((name) => name.startsWith('trunkline.db.')),
      [],
    );
  });
}

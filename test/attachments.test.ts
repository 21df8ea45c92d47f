/** Files that come with a spawn (A17, B7.8), over a whole gateway. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { connectGateway } from '../src/client/gateway-client.ts';
import { toolCallsOf } from '../src/protocol/message.ts';
import type { AttachmentReceipt } from '../src/protocol/tools/session-tool-answers.ts';
import type { Store } from '../src/store/store.ts';
import { storedRows } from './helpers/stored-rows.ts';
import { call, startWorld, type TestWorld, type WorldOptions } from './helpers/test-world.ts';

const A = 'agent:a:main';
const CANARY = 'canary-5f0e';
const FILES = [
  { name: 'a.txt', content: `first ${CANARY}\n`, mimeType: 'text/plain' },
  {
    name: 'b.bin',
    content: Buffer.from(`second ${CANARY}`).toString('base64'),
    encoding: 'base64',
  },
];
const FACTS = [`first ${CANARY}\n`, `second ${CANARY}`].map((content, at) => ({
  name: FILES[at]?.name,
  bytes: content.length,
  sha256: createHash('sha256').update(content).digest('hex'),
}));

const workspaceOf = ({ gateway }: TestWorld): string => join(gateway.stateDir, 'workspace');
const rootOf = (world: TestWorld): string => join(workspaceOf(world), '.openclaw', 'attachments');
const foldersOf = (world: TestWorld): string[] =>
  existsSync(rootOf(world)) ? readdirSync(rootOf(world)) : [];
const receiptOf = (answer: Record<string, unknown>): AttachmentReceipt =>
  answer['attachments'] as AttachmentReceipt;
const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);
const allowing = (attachments: Record<string, unknown>): WorldOptions => ({
  config: { tools: { sessions_spawn: { attachments } } },
});

test('[AT1] files are in the workspace of the child, with a manifest, for their owner alone', async (t) => {
  const world = await startWorld(t);
  const answer = await world.tool('sessions_spawn', { task: 'SAY: x', attachments: FILES });
  const { relDir, ...receipt } = receiptOf(answer);
  assert.deepEqual(receipt, {
    count: 2,
    totalBytes: FACTS.reduce((sum, { bytes }) => sum + bytes, 0),
    files: FACTS,
  });
  assert.match(relDir, /^\.openclaw\/attachments\/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  const folder = join(workspaceOf(world), relDir);
  assert.deepEqual(readdirSync(folder).toSorted(), ['.manifest.json', 'a.txt', 'b.bin']);
  assert.equal(readFileSync(join(folder, 'b.bin'), 'utf8'), `second ${CANARY}`);
  const manifest = JSON.parse(readFileSync(join(folder, '.manifest.json'), 'utf8')) as object;
  assert.deepEqual((manifest as { files: unknown }).files, [
    { ...FACTS[0], mimeType: 'text/plain' },
    FACTS[1],
  ]);
  for (const path of [folder, rootOf(world), join(rootOf(world), '..')]) {
    assert.equal(modeOf(path), '700', path);
  }
  for (const name of readdirSync(folder)) assert.equal(modeOf(join(folder, name)), '600', name);
});

test('[AT1] under another agent the files are in the workspace of that agent', async (t) => {
  const world = await startWorld(t);
  const args = { task: 'SAY: x', agentId: 'b', attachments: FILES };
  const { relDir } = receiptOf(await world.tool('sessions_spawn', args));
  assert.ok(existsSync(join(world.gateway.stateDir, 'workspace-b', relDir, 'a.txt')));
  assert.ok(!existsSync(rootOf(world)));
});

test('[AT1] an empty list is no attachment', async (t) => {
  const world = await startWorld(t);
  const answer = await world.tool('sessions_spawn', { task: 'SAY: x', attachments: [] });
  assert.equal(answer['status'], 'accepted');
  assert.ok(!('attachments' in answer));
  assert.ok(!existsSync(rootOf(world)));
});

test('[AT5] the child is told of its files before it does anything, may read them, and they go to no chat', async (t) => {
  const world = await startWorld(t);
  const held = world.model.hold('You are a sub-agent');
  const answer = await world.tool('sessions_spawn', {
    task: 'SAY: read it',
    attachments: FILES,
  });
  const { relDir } = receiptOf(answer);
  held.release();
  await world.quiet();
  const [first] = world.model.requests.filter(({ raw }) => raw.includes('You are a sub-agent'));
  const prompt = JSON.stringify(first?.body['messages']);
  assert.ok(prompt.includes(`they are in ${relDir}/`), prompt);
  assert.match(prompt, /- \\"a\.txt\\" \(18 bytes, text\/plain\)/);
  assert.match(prompt, /untrusted data/);
  assert.ok(!prompt.includes(CANARY));
  const tellsOfFiles = world.model.requests.filter(({ raw }) => raw.includes(relDir));
  assert.ok(tellsOfFiles.every(({ raw }) => !raw.includes('[Announce step')));
  const deliveries = await world.store.read((tx) => tx.deliveries.ofSession(A, 100));
  assert.ok(deliveries.every(({ text }) => !text.includes('untrusted')));
  await world.client.request('chat.send', {
    sessionKey: String(answer['childSessionKey']),
    message: call('read', { path: `${relDir}/a.txt` }),
    idempotencyKey: 'k',
  });
  await world.quiet();
  const read = (await world.history(String(answer['childSessionKey']))).filter(
    ({ role }) => role === 'toolResult',
  );
  assert.match(JSON.stringify(read), new RegExp(CANARY));
});

/** a is asked in words that do not hold the content, and its model makes the call of them. */
function spawning(args: Record<string, unknown>): WorldOptions {
  const script = `${call('sessions_spawn', args)}\nSAY: started`;
  return { rewrite: (text) => (text.includes('PLEASE SPAWN') ? script : undefined) };
}

test('[AT6] no content is in a transcript, its file, the index, an event, the log or a later context', async (t) => {
  const logged: string[] = [];
  const log = (fields: object, message: string): void => {
    logged.push(`${inspect(fields, { depth: 9 })} ${message}`);
  };
  const logger = { debug: log, info: log, warn: log, error: log };
  const options = spawning({ task: 'SAY: done', attachments: FILES });
  const world = await startWorld(t, { ...options, logger });
  const events: unknown[] = [];
  const { url, token } = world.gateway;
  const watcher = await connectGateway({
    url,
    token,
    clientName: 'watcher',
    caps: ['tool-events'],
  });
  watcher.on((event) => events.push(event));
  await world.say(A, 'PLEASE SPAWN');
  await world.quiet();
  // what it was told before has come in with the answer
  await watcher.request('health');
  const [answer = {}] = await world.toolAnswers(A);
  assert.equal(answer['status'], 'accepted', JSON.stringify(answer));
  assert.ok(existsSync(join(workspaceOf(world), receiptOf(answer).relDir, 'a.txt')));
  const calls = (await world.history(A)).flatMap((message) =>
    message.role === 'assistant' ? toolCallsOf(message) : [],
  );
  assert.deepEqual(calls[0]?.arguments['attachments'], [
    { ...FACTS[0], mimeType: 'text/plain' },
    FACTS[1],
  ]);
  assert.ok(!holdsCanary(JSON.stringify(storedRows(world.gateway.stateDir))), 'rows');
  assert.ok(JSON.stringify(events).includes(String(FACTS[0]?.sha256)), 'the call was told of');
  assert.ok(!holdsCanary(JSON.stringify(events)), 'events');
  assert.ok(!holdsCanary(logged.join('\n')), 'log');
  for (const { raw } of world.model.requests) assert.ok(!holdsCanary(raw), 'a context');
  await watcher.close();
  await world.gateway.stop();
  const mirrors = globSync('agents/**/*.jsonl', { cwd: world.gateway.stateDir });
  assert.ok(mirrors.length >= 2);
  for (const name of mirrors) {
    const text = readFileSync(join(world.gateway.stateDir, name), 'utf8');
    assert.ok(!holdsCanary(text), name);
  }
});

function holdsCanary(text: string): boolean {
  const inBase64 = FILES[1]?.content ?? '';
  return text.includes(CANARY) || text.includes(inBase64);
}

test('[AT6] a refused call keeps no content either, and the model is told what was wrong', async (t) => {
  const files = [...FILES, { name: 'A.TXT', content: CANARY }];
  const world = await startWorld(t, spawning({ task: 'x', attachments: files }));
  await world.say(A, 'PLEASE SPAWN');
  await world.quiet();
  const [answer = {}] = await world.toolAnswers(A);
  assert.match(String(answer['error']), /same name/);
  assert.ok(!holdsCanary(JSON.stringify(storedRows(world.gateway.stateDir))));
});

test('[AT6] what is held for a call goes with the end of a run that was stopped before it', async (t) => {
  const script = [
    `TOOLS: ${JSON.stringify([
      { name: 'sessions_send', args: { sessionKey: 'agent:b:main', message: 'SLEEP: 60000' } },
      { name: 'sessions_spawn', args: { task: 'x', attachments: FILES } },
    ])}`,
    'SAY: done',
  ].join('\n');
  const world = await startWorld(t, {
    rewrite: (text) => (text.includes('PLEASE SPAWN') ? script : undefined),
  });
  const held = world.model.hold('SLEEP: 60000');
  const { runId } = await world.client.request('chat.send', {
    sessionKey: A,
    message: 'PLEASE SPAWN',
    idempotencyKey: 'k',
  });
  await untilWaiting(world);
  assert.ok(
    holdsCanary(JSON.stringify(storedRows(world.gateway.stateDir)['tool_calls'])),
    'until it is done',
  );
  await world.client.request('runs.stop', { runId });
  held.release();
  await world.quiet();
  assert.ok(!holdsCanary(JSON.stringify(storedRows(world.gateway.stateDir))));
});

async function untilWaiting(world: TestWorld): Promise<void> {
  for (;;) {
    const { waiting = 0 } = await world.store.read((tx) => tx.runs.countByState());
    if (waiting > 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const stop = world.store.onSignal(() => resolve());
    await Promise.race([promise, new Promise((again) => setTimeout(again, 50))]);
    stop();
  }
}

test('[AT2] closed attachments are forbidden, flawed ones an error, and nothing is left of either', async (t) => {
  const closed = await startWorld(t, allowing({ enabled: false }));
  const before = storedRows(closed.gateway.stateDir);
  const answer = await closed.tool('sessions_spawn', { task: 'x', attachments: FILES });
  assert.equal(answer['status'], 'forbidden');
  assert.match(String(answer['error']), /attachments\.enabled/);
  assert.ok(!existsSync(join(workspaceOf(closed), '.openclaw')));
  assert.deepEqual(storedRows(closed.gateway.stateDir), before);

  const small = await startWorld(t, allowing({ maxFiles: 1 }));
  const many = await small.tool('sessions_spawn', { task: 'x', attachments: FILES });
  assert.equal(many['status'], 'error');
  assert.match(String(many['error']), /2 files, tools\.sessions_spawn\.attachments\.maxFiles is 1/);
  assert.ok(!existsSync(join(workspaceOf(small), '.openclaw')));
});

test('[AT2] of a burst the refused spawns leave no folder', async (t) => {
  const world = await startWorld(t);
  const held = world.model.hold('You are a sub-agent');
  const spawns = Array.from({ length: 12 }, () =>
    world.tool('sessions_spawn', { task: 'SAY: x', attachments: FILES }),
  );
  const answers = await Promise.all(spawns);
  const accepted = answers.filter(({ status }) => status === 'accepted');
  assert.equal(accepted.length, 5);
  const named = accepted.map((answer) => receiptOf(answer).relDir.split('/').at(-1));
  assert.deepEqual(new Set(foldersOf(world)), new Set(named));
  held.release();
  await world.quiet();
});

test('[AT7] the same key is the same child and folder; another content under it is refused', async (t) => {
  const world = await startWorld(t);
  const args = { task: 'SAY: x', attachments: FILES, idempotencyKey: 'k' };
  const [first, second] = await Promise.all([
    world.tool('sessions_spawn', args),
    world.tool('sessions_spawn', args),
  ]);
  assert.deepEqual(second, first);
  assert.deepEqual(await world.tool('sessions_spawn', args), first);
  const changed = [{ ...FILES[0], content: 'other' }, FILES[1]];
  const other = await world.tool('sessions_spawn', { ...args, attachments: changed });
  assert.match(String(other['error']), /idempotencyKey was used for another task/);
  assert.equal(foldersOf(world).length, 1);
  const asText = [FILES[0], { name: 'b.bin', content: `second ${CANARY}` }];
  assert.deepEqual(await world.tool('sessions_spawn', { ...args, attachments: asText }), first);
});

const REPLACED: [string, (workspace: string, outside: string) => void][] = [
  [
    'the folder of attachments',
    (workspace, outside) => {
      mkdirSync(join(workspace, '.openclaw'), { recursive: true });
      symlinkSync(outside, join(workspace, '.openclaw', 'attachments'));
    },
  ],
  [
    'the folder above it',
    (workspace, outside) => {
      mkdirSync(workspace, { recursive: true });
      symlinkSync(outside, join(workspace, '.openclaw'));
    },
  ],
  [
    'the folder of attachments by a link within the workspace',
    (workspace) => {
      mkdirSync(join(workspace, '.openclaw'), { recursive: true });
      mkdirSync(join(workspace, 'inside'));
      symlinkSync(join(workspace, 'inside'), join(workspace, '.openclaw', 'attachments'));
    },
  ],
  [
    'the folder of attachments by a file',
    (workspace) => {
      mkdirSync(join(workspace, '.openclaw'), { recursive: true });
      writeFileSync(join(workspace, '.openclaw', 'attachments'), '');
    },
  ],
];
for (const [what, replace] of REPLACED) {
  test(`[AT8, BR-073] with a link in place of ${what} the spawn is rejected, and nothing is written`, async (t) => {
    const world = await startWorld(t);
    const outside = join(world.gateway.stateDir, 'outside');
    mkdirSync(outside);
    replace(workspaceOf(world), outside);
    const files = (): string[] => globSync('**/a.txt', { cwd: world.gateway.stateDir });
    const before = storedRows(world.gateway.stateDir);
    const answer = await world.tool('sessions_spawn', { task: 'x', attachments: FILES });
    assert.equal(answer['status'], 'error');
    assert.match(String(answer['error']), /workspace of agent a.* symbolic link/);
    assert.deepEqual(readdirSync(outside), []);
    assert.deepEqual(files(), []);
    assert.deepEqual(storedRows(world.gateway.stateDir), before);
  });
}

test('[AT9] with cleanup delete the files go once the child was announced', async (t) => {
  const world = await startWorld(t);
  const held = world.model.hold('You are a sub-agent');
  const args = { task: 'SAY: x', cleanup: 'delete', attachments: FILES };
  await world.tool('sessions_spawn', args);
  assert.equal(foldersOf(world).length, 1);
  held.release();
  await world.quiet();
  assert.deepEqual(foldersOf(world), []);
});

for (const [retainOnSessionKeep, left] of [
  [false, 0],
  [true, 1],
] as const) {
  test(`[AT9] archiving a kept child leaves ${left} folders where retainOnSessionKeep is ${retainOnSessionKeep}`, async (t) => {
    const world = await startWorld(t, { ...allowing({ retainOnSessionKeep }), clock: 'movable' });
    const args = { task: 'SAY: x', idempotencyKey: 'k', attachments: FILES };
    const answer = await world.tool('sessions_spawn', args);
    await world.quiet();
    assert.equal(foldersOf(world).length, 1, 'until it is archived');
    await world.passTime(61 * 60_000);
    await world.quiet();
    const child = await world.store.read((tx) =>
      tx.sessions.get(String(answer['childSessionKey'])),
    );
    assert.notEqual(child?.archivedAt, null);
    assert.equal(foldersOf(world).length, left);
    assert.deepEqual(await world.tool('sessions_spawn', args), answer, 'the answer stays');
    const key = String(answer['childSessionKey']);
    await world.client.request('sessions.delete', { key, deleteTranscript: true });
    await world.quiet();
    assert.deepEqual(foldersOf(world), [], 'and a deletion takes all');
    assert.equal(await world.store.read((tx) => tx.attachments.ofChild(key)), undefined);
  });
}

test('[AT9] a deleted session takes its files with it, a reset one keeps them', async (t) => {
  const world = await startWorld(t);
  const answer = await world.tool('sessions_spawn', { task: 'SAY: x', attachments: FILES });
  await world.quiet();
  const key = String(answer['childSessionKey']);
  await world.client.request('sessions.reset', { key });
  await world.quiet();
  assert.equal(foldersOf(world).length, 1);
  await world.client.request('sessions.delete', { key });
  await world.quiet();
  assert.deepEqual(foldersOf(world), []);
});

test('[AT9, BR-073] a removal follows no link: not in the folder, and not in place of it', async (t) => {
  const world = await startWorld(t);
  const outside = join(world.gateway.stateDir, 'outside');
  mkdirSync(join(outside, 'deep'), { recursive: true });
  writeFileSync(join(outside, 'deep', 'kept.txt'), 'kept');
  const answers = [];
  for (const task of ['SAY: one', 'SAY: two']) {
    answers.push(await world.tool('sessions_spawn', { task, attachments: FILES }));
  }
  await world.quiet();
  const [first, second] = answers.map((answer) =>
    join(workspaceOf(world), receiptOf(answer).relDir),
  );
  symlinkSync(outside, join(String(first), 'link'));
  symlinkSync(join(outside, 'deep', 'kept.txt'), join(String(first), 'file'));
  await world.client.request('sessions.delete', { key: answers[0]?.['childSessionKey'] });
  await world.quiet();
  assert.ok(!existsSync(String(first)));

  replaceByLink(String(second), outside);
  await world.client.request('sessions.delete', { key: answers[1]?.['childSessionKey'] });
  await world.quiet();
  assert.deepEqual(foldersOf(world), []);
  assert.equal(readFileSync(join(outside, 'deep', 'kept.txt'), 'utf8'), 'kept');
});

function replaceByLink(path: string, target: string): void {
  renameSync(path, `${target}/moved`);
  symlinkSync(target, path);
}

/** Does something once, between the first look at a spawn and the unit that accepts it. */
function beforeAccepting(act: (world: TestWorld) => Promise<void>): {
  arm: (world: TestWorld) => void;
  wrapStore: (store: Store) => Store;
} {
  let armed: TestWorld | undefined;
  return {
    arm: (world) => (armed = world),
    wrapStore: (store) => ({
      read: (fn) => store.read(fn),
      onSignal: (listener) => store.onSignal(listener),
      close: () => store.close(),
      write: async (unit, fn) => {
        const world = unit === 'accept-spawn' ? armed : undefined;
        if (world !== undefined) {
          armed = undefined;
          await act(world);
        }
        return store.write(unit, fn);
      },
    }),
  };
}

test('[AT2] a spawn that is refused after its files were written is refused also when the disk does not let them go', async (t) => {
  const outside = mkdtempSync(join(tmpdir(), 'outside-'));
  t.after(() => rmSync(outside, { recursive: true }));
  const { arm, wrapStore } = beforeAccepting(async (world) => {
    replaceByLink(rootOf(world), outside);
    await world.tool('sessions_spawn', { task: 'SAY: the only one' });
  });
  const subagents = { maxChildrenPerSession: 1 };
  const config = { agents: { defaults: { subagents } } };
  const world = await startWorld(t, { wrapStore, config });
  arm(world);
  const answer = await world.tool('sessions_spawn', { task: 'SAY: x', attachments: FILES });
  assert.equal(answer['status'], 'forbidden');
  assert.match(String(answer['error']), /maxChildrenPerSession is 1/);
  await world.quiet();
});

test('[AT2] attachments that were closed when a spawn came are closed to it, also when they are opened meanwhile', async (t) => {
  const { arm, wrapStore } = beforeAccepting(async ({ gateway, client }) => {
    const file = join(gateway.stateDir, 'trunkline.json');
    writeFileSync(file, readFileSync(file, 'utf8').replace('"enabled":false', '"enabled":true'));
    await client.request('config.reload');
  });
  const world = await startWorld(t, { wrapStore, ...allowing({ enabled: false }) });
  arm(world);
  const answer = await world.tool('sessions_spawn', { task: 'SAY: x', attachments: FILES });
  assert.equal(answer['status'], 'forbidden');
});

test('[AT11] attachAs is kept, has no effect, and the answer says so', async (t) => {
  const world = await startWorld(t);
  const args = { task: 'SAY: x', attachments: FILES, attachAs: { mountPath: '/elsewhere' } };
  const answer = await world.tool('sessions_spawn', args);
  assert.match(String(answer['note']), /attachAs/);
  assert.ok(existsSync(join(workspaceOf(world), receiptOf(answer).relDir)));
  const spawn = await world.store.read((tx) => tx.spawns.get(String(answer['childSessionKey'])));
  assert.equal(spawn?.attachAsJson, '{"mountPath":"/elsewhere"}');
  const wrong = await world.tool('sessions_spawn', { ...args, attachAs: { path: 'x' } });
  assert.equal(wrong['status'], 'error');
});

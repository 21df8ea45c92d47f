import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import test, { type TestContext } from 'node:test';
import { createSessionWorld, type SessionWorld } from '../../../test/helpers/session-world.ts';
import { must } from '../../util/assert.ts';
import type { RunContext } from '../context.ts';
import { acceptNote, acceptRun } from '../runs/accept-run.ts';
import { expireInbox, expireOldInboxes } from './expire-inbox.ts';
import { openClientSession } from './open-client-session.ts';
import { readInbox, takeInboxNews } from './read-inbox.ts';

const KEY = 'agent:main:mcp:c';
const HOUR = 3_600_000;

interface InboxWorld {
  world: SessionWorld;
  context: RunContext;
  accept(runId: string, queueMode?: 'interrupt'): Promise<void>;
  note(inputId: string): Promise<void>;
  state(runId: string): Promise<string>;
}

async function inboxWorld(
  t: TestContext,
  written?: Parameters<typeof createSessionWorld>[1],
): Promise<InboxWorld> {
  const world = createSessionWorld(t, written);
  await world.add({ key: KEY });
  const { store } = world.context;
  const context: RunContext = {
    ...world.context,
    bootId: 'boot',
    startedAt: world.time.now,
    channels: new Map(),
    toolsOf: () => Promise.resolve({ tools: new Map(), whyMissing: () => undefined }),
    runtimeFor: () => assert.fail('nobody plays here'),
  };
  return {
    world,
    context,
    accept: async (runId, mode) => {
      await store.write('accept', (tx) =>
        acceptRun(tx, {
          runId,
          sessionKey: KEY,
          kind: 'message',
          text: runId,
          purpose: 'message',
          runClass: 'main',
          rootRunId: runId,
          hops: 0,
          timeoutMs: HOUR,
          ...(mode === undefined ? {} : { queue: { mode, readyAt: world.time.now } }),
        }),
      );
    },
    note: async (inputId) => {
      const note = {
        inputId,
        kind: 'note',
        sessionKey: KEY,
        text: inputId,
        rootRunId: inputId,
      } as const;
      await store.write('note', (tx) => acceptNote(tx, note));
    },
    state: async (runId) => must(await store.read((tx) => tx.runs.get(runId)), runId).state,
  };
}

test('[IB6] what came since is handed over once, beside another call; nothing new costs one search', async (t) => {
  const { world, context, accept, note } = await inboxWorld(t);
  const caller = world.caller(KEY);
  assert.equal(await takeInboxNews(context, caller), undefined);
  await accept('one');
  await accept('two');
  const first = await takeInboxNews(context, caller);
  assert.deepEqual([first?.messages.map(({ text }) => text), first?.waiting], [['one'], 1]);
  const lane = () => context.store.read((tx) => tx.lanes.get(KEY));
  const before = await lane();
  assert.equal(await takeInboxNews(context, caller), undefined, 'it has one in hand');
  assert.deepEqual(await lane(), before, 'nothing was written');
  await note('n');
  const second = await takeInboxNews(context, caller);
  assert.deepEqual([second?.messages, second?.notes.map(({ text }) => text)], [[], ['n']]);
  assert.equal(await takeInboxNews(context, caller), undefined);
  assert.equal(await takeInboxNews(context, world.caller('agent:main:main')), undefined);
});

test('[IB6, IB9] a client whose tool policy closes sessions_inbox is handed nothing beside another call', async (t) => {
  const { world, context, accept, note, state } = await inboxWorld(t, {
    tools: { deny: ['sessions_inbox'] },
  });
  await accept('one');
  await note('n');
  assert.equal(await takeInboxNews(context, world.caller(KEY)), undefined);
  assert.equal(await state('one'), 'queued');
});

test('[IB10] what waits in an inbox is claimed by nobody, whatever its class was to be', async (t) => {
  const { context, accept } = await inboxWorld(t);
  await accept('one');
  const lane = await context.store.read((tx) => tx.lanes.get(KEY));
  assert.deepEqual([lane?.headClass, lane?.owner, lane?.state], ['inbox', null, 'queued']);
  for (const runClass of ['main', 'subagent', 'cron', 'nested'] as const) {
    const claimed = await context.store.write('claim', (tx) =>
      tx.lanes.claimNext({ runClass, owner: 'boot' }),
    );
    assert.equal(claimed, undefined);
  }
});

test('[IB7, RU3] what was accepted too long before a start ends `timeout` at it, younger messages wait on', async (t) => {
  const { world, context, accept, state } = await inboxWorld(t);
  await accept('held');
  await readInbox(context, world.caller(KEY), {});
  await accept('old');
  world.time.now += 25 * HOUR;
  await accept('young');
  const restarted = { ...context, startedAt: world.time.now, bootId: 'later' };
  await expireOldInboxes(restarted);
  assert.deepEqual(
    [await state('held'), await state('old'), await state('young')],
    ['timeout', 'timeout', 'queued'],
  );
  const run = await context.store.read((tx) => tx.runs.get('old'));
  assert.match(run?.error ?? '', /recovery\.maxAgeHours/);
  assert.deepEqual(await context.store.read((tx) => tx.jobs.due(world.time.now + HOUR, 9)), []);
  const page = await readInbox(restarted, world.caller(KEY), {});
  assert.ok('messages' in page);
  assert.deepEqual(
    page.messages.map(({ text }) => text),
    ['young'],
  );
});

test('[IB7, RU3] an old message that an interrupt stands before ends when it is its turn', async (t) => {
  const { world, context, accept, state } = await inboxWorld(t);
  await accept('old');
  world.time.now += 25 * HOUR;
  await accept('urgent', 'interrupt');
  const restarted = { ...context, startedAt: world.time.now };
  await expireOldInboxes(restarted);
  assert.equal(await state('old'), 'queued');
  await readInbox(restarted, world.caller(KEY), {});
  const reply = { messageId: 'urgent', text: 'x' };
  const page = await readInbox(restarted, world.caller(KEY), { reply });
  assert.ok('messages' in page);
  assert.deepEqual([page.messages, await state('old')], [[], 'timeout']);
});

test('[IB7] the job of a message that is not over is set again, that of an answered one does nothing', async (t) => {
  const { world, context, accept, state } = await inboxWorld(t);
  await accept('one');
  await readInbox(context, world.caller(KEY), {});
  await expireInbox(context, 'one');
  const jobs = () => context.store.read((tx) => tx.jobs.due(world.time.now + HOUR, 9));
  assert.deepEqual(
    (await jobs()).map(({ jobKey }) => jobKey),
    ['expire-inbox:one'],
  );
  await readInbox(context, world.caller(KEY), { reply: { messageId: 'one', text: '' } });
  assert.deepEqual(await jobs(), []);
  world.time.now += 2 * HOUR;
  await expireInbox(context, 'one');
  assert.equal(await state('one'), 'ok');
});

test('[IB3] a message that the store has lost ends with an error, and the next one is handed over', async (t) => {
  const { world, context, accept, state } = await inboxWorld(t);
  await accept('lost');
  await accept('next');
  const db = new DatabaseSync(world.databasePath);
  db.exec("delete from inputs where input_id = 'lost'");
  db.close();
  const page = await readInbox(context, world.caller(KEY), {});
  assert.ok('messages' in page);
  assert.deepEqual(
    [page.messages.map(({ text }) => text), await state('lost')],
    [['next'], 'error'],
  );
});

test('[IB1] a main session without its row is found and made', async (t) => {
  const { world, context } = await inboxWorld(t);
  const opened = await openClientSession(context, { key: ' MAIN ', displayName: 'x' });
  assert.deepEqual([opened.key, opened.created], ['agent:main:main', true]);
  const session = await context.store.read((tx) => tx.sessions.get(opened.key));
  assert.deepEqual([session?.kind, session?.displayName], ['main', 'x']);
  const again = await openClientSession(context, { key: opened.sessionId, displayName: 'y' });
  assert.deepEqual(again, { ...opened, created: false });
  await world.context.store.write('archive', (tx) =>
    tx.sessions.update(KEY, { archivedAt: tx.now }),
  );
  await assert.rejects(openClientSession(context, { key: KEY }), /is archived and cannot act/);
});

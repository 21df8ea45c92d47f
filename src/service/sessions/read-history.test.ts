import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  assistantText,
  createSessionWorld,
  toolResultText,
  userText,
  WORLD_START,
} from '../../../test/helpers/session-world.ts';
import type { SessionWorld } from '../../../test/helpers/session-world.ts';
import type { AssistantMessage, Message } from '../../protocol/message.ts';
import type { SessionsHistoryPage } from '../../protocol/tools/session-tool-answers.ts';
import type { SessionsHistoryArgs } from '../../protocol/tools/session-tool-args.ts';
import type { ToolRefusal } from '../../protocol/tools/session-tools.ts';
import { watchReads } from '../../../test/helpers/watched-reads.ts';
import { acceptNote, acceptRun } from '../runs/accept-run.ts';
import { listSessions } from './list-sessions.ts';
import { readChatHistory } from './operator-history.ts';
import { readHistory } from './read-history.ts';

const MAIN = 'agent:main:main';
const GROUP = 'agent:main:discord:group:g1';
const CHILD = 'agent:main:subagent:00000000-0000-4000-8000-000000000001';
const NOBODY = '00000000-0000-0000-0000-000000000000';
const ownAgent = { tools: { sessions: { visibility: 'agent' as const } } };

async function read(
  world: SessionWorld,
  args: SessionsHistoryArgs,
  callerKey = MAIN,
): Promise<SessionsHistoryPage> {
  const answer = await readHistory(world.context, world.caller(callerKey), args);
  assert.ok('messages' in answer, JSON.stringify(answer));
  return answer;
}
async function refused(
  world: SessionWorld,
  args: SessionsHistoryArgs,
  callerKey = MAIN,
): Promise<ToolRefusal> {
  const answer = await readHistory(world.context, world.caller(callerKey), args);
  assert.ok('status' in answer, JSON.stringify(answer));
  return answer;
}
const textsOf = (messages: readonly object[]): string[] =>
  (messages as Message[]).map((message) => JSON.stringify(message.content).slice(0, 200));

test('[SH1] messages are the stored JSON, oldest first, with their flags', async (t) => {
  const world = createSessionWorld(t);
  await world.add({ key: MAIN, sessionId: 'sid-1' });
  const called: AssistantMessage = {
    ...(assistantText('I look') as AssistantMessage),
    content: [{ type: 'toolCall', id: 'c', name: 'read', arguments: { path: 'a' } }],
    stopReason: 'toolUse',
  };
  const provenance = {
    kind: 'inter_session',
    sourceSessionKey: GROUP,
    sourceTool: 'sessions_send',
    rootRunId: 'r',
    hops: 1,
  } as const;
  const asked = { ...userText('q'), provenance } as Message;
  await world.append(MAIN, [asked, called, toolResultText('r'), assistantText('a')]);
  assert.deepEqual(await read(world, { sessionKey: 'main' }), {
    sessionKey: 'main',
    sessionId: 'sid-1',
    messages: [asked, called, assistantText('a')],
    pending: [],
    limitApplied: 50,
    truncated: false,
    droppedMessages: 0,
    contentTruncated: false,
    contentRedacted: false,
    bytes: Buffer.byteLength(JSON.stringify([asked, called, assistantText('a')])),
    hasMore: false,
  });
  const withTools = await read(world, { sessionKey: 'main', includeTools: true });
  assert.deepEqual(withTools.messages, [asked, called, toolResultText('r'), assistantText('a')]);
});

test('[SH2, BR-011] without a limit the newest 50 come, within the byte cap', async (t) => {
  const world = createSessionWorld(t, ownAgent);
  await world.add({ key: MAIN }, { key: GROUP });
  const long = Array.from({ length: 300 }, (_, at) => userText(`${at} ${'x'.repeat(4096)}`));
  await world.append(GROUP, long);
  const history = await read(world, { sessionKey: GROUP });
  assert.ok(history.messages.length <= 50 && history.messages.length > 10);
  assert.ok(Buffer.byteLength(JSON.stringify(history)) <= 81_920);
  assert.equal(history.truncated, true);
  assert.match(textsOf(history.messages).at(-1) ?? '', /299 x/);
});

test('[SH2] short messages are limited by count alone', async (t) => {
  const world = createSessionWorld(t);
  await world.add({ key: MAIN });
  await world.append(
    MAIN,
    Array.from({ length: 60 }, (_, at) => userText(`m${at}`)),
  );
  const history = await read(world, { sessionKey: 'main' });
  assert.deepEqual(
    [history.messages.length, history.truncated, history.hasMore],
    [50, false, true],
  );
  assert.deepEqual(history.messages[0], userText('m10'));
});

test('[SH3, BR-133] tool results are filtered before the limit counts', async (t) => {
  const world = createSessionWorld(t);
  await world.add({ key: MAIN });
  const chat = ['1', '2', '3', '4', '5'].map(userText);
  await world.append(MAIN, [...chat, ...Array.from({ length: 10 }, () => toolResultText('r'))]);
  assert.deepEqual((await read(world, { sessionKey: 'main', limit: 5 })).messages, chat);
});

test('[SH4] following the cursor shows every message once', async (t) => {
  const world = createSessionWorld(t);
  await world.add({ key: MAIN });
  await world.append(
    MAIN,
    Array.from({ length: 25 }, (_, at) => userText(`m${at}`)),
  );
  let seen: object[] = [];
  let cursor: string | undefined;
  let pages = 0;
  do {
    const page: SessionsHistoryPage = await read(world, {
      sessionKey: 'main',
      limit: 10,
      ...(cursor && { cursor }),
    });
    seen = [...page.messages, ...seen];
    cursor = page.nextCursor;
  } while (cursor !== undefined && pages++ < 50);
  assert.deepEqual(
    seen,
    Array.from({ length: 25 }, (_, at) => userText(`m${at}`)),
  );
});

test('[SH4] a cursor also goes on where the byte cap dropped messages', async (t) => {
  const world = createSessionWorld(t, { tools: { sessions_history: { maxBytes: 4096 } } });
  await world.add({ key: MAIN });
  await world.append(
    MAIN,
    Array.from({ length: 20 }, (_, at) => userText(`m${at}${'y'.repeat(500)}`)),
  );
  const seen = new Set<string>();
  let cursor: string | undefined;
  let pages = 0;
  do {
    const page = await read(world, { sessionKey: 'main', ...(cursor && { cursor }) });
    for (const text of textsOf(page.messages)) seen.add(/m\d+/.exec(text)?.[0] ?? text);
    cursor = page.nextCursor;
  } while (cursor !== undefined && pages++ < 50);
  assert.equal(seen.size, 20);
});

test('[SH4] a cursor of another transcript, or none at all, is an error', async (t) => {
  const world = createSessionWorld(t);
  await world.add({ key: MAIN });
  for (const cursor of ['x', 'other.3', '.3', 'a.b'])
    assert.match((await refused(world, { sessionKey: 'main', cursor })).error, /cursor/);
});

test('[SH5, BR-131] an image and a long text are bounded on their own, the rest stays', async (t) => {
  const world = createSessionWorld(t, ownAgent);
  await world.add({ key: MAIN }, { key: GROUP });
  const data = 'A'.repeat(2_796_204);
  const withImage: Message = {
    role: 'user',
    content: [
      { type: 'text', text: 'hello' },
      { type: 'image', data, mimeType: 'image/png' },
    ],
    timestamp: WORLD_START,
  };
  await world.append(GROUP, [withImage, assistantText('b'.repeat(200_000))]);
  const history = await read(world, { sessionKey: GROUP });
  const [user, assistant] = history.messages as Message[];
  assert.deepEqual(user?.content, [
    { type: 'text', text: 'hello' },
    { type: 'image', omitted: true, bytes: 2_097_153, mimeType: 'image/png' },
  ]);
  assert.match(JSON.stringify(assistant?.content), /b{1000}.*cut/);
  assert.deepEqual([history.truncated, history.contentTruncated], [true, true]);
  assert.ok(Buffer.byteLength(JSON.stringify(history)) <= 81_920);
});

describe('pending', () => {
  test('[SH6] accepted messages that are not in the transcript are shown beside it', async (t) => {
    const world = createSessionWorld(t, ownAgent);
    await world.add({ key: MAIN }, { key: GROUP });
    await world.context.store.write('accept', async (tx) => {
      await acceptRun(tx, {
        runId: 'run-1',
        sessionKey: GROUP,
        kind: 'message',
        text: 'soon',
        purpose: 'message',
        runClass: 'main',
        rootRunId: 'run-1',
        hops: 0,
        timeoutMs: 0,
      });
      await acceptNote(tx, {
        inputId: 'note-1',
        sessionKey: GROUP,
        text: 'by the way',
        rootRunId: 'note-1',
        kind: 'note',
      });
    });
    const history = await read(world, { sessionKey: GROUP });
    assert.deepEqual(history.messages, []);
    assert.deepEqual(history.pending, [
      { runId: 'run-1', message: 'soon', acceptedAt: WORLD_START, state: 'queued' },
      { runId: 'note-1', message: 'by the way', acceptedAt: WORLD_START, state: 'queued' },
    ]);
  });

  test('[SH6] long pending messages are cut before the answer outgrows the cap', async (t) => {
    const world = createSessionWorld(t, ownAgent);
    await world.add({ key: MAIN }, { key: GROUP });
    await world.append(GROUP, [userText('before')]);
    await world.context.store.write('accept', async (tx) => {
      for (let at = 0; at < 30; at++) {
        const inputId = `note-${at}`;
        const text = 'z'.repeat(20_000);
        await acceptNote(tx, {
          inputId,
          sessionKey: GROUP,
          text,
          rootRunId: inputId,
          kind: 'note',
        });
      }
    });
    const history = await read(world, { sessionKey: GROUP });
    assert.ok(Buffer.byteLength(JSON.stringify(history)) <= 81_920);
    assert.deepEqual(history.messages, [userText('before')]);
    assert.match(history.pending[0]?.message ?? '', /^z{500}… \[cut: 19500 of 20000/);
    assert.equal(history.contentTruncated, true);
  });
});

describe('what a session is named by', () => {
  test('[SH7, BR-013] a sessionId reads its session; an unknown one is an error, not an empty list', async (t) => {
    const world = createSessionWorld(t, ownAgent);
    const sessionId = '11111111-1111-4111-8111-11111111111A'.toLowerCase();
    await world.add({ key: MAIN }, { key: GROUP, sessionId });
    await world.append(GROUP, [userText('1'), assistantText('2'), userText('3')]);
    const byId = await read(world, { sessionKey: sessionId.toUpperCase() });
    assert.deepEqual([byId.sessionKey, byId.messages.length], [GROUP, 3]);
    const none = await refused(world, { sessionKey: NOBODY });
    assert.equal(none.status, 'forbidden');
    world.configure({
      tools: { sessions: { visibility: 'all' }, agentToAgent: { enabled: true } },
    });
    const missing = await refused(world, { sessionKey: NOBODY });
    assert.deepEqual([missing.status, /not found/.test(missing.error)], ['error', true]);
    const noKey = await refused(world, { sessionKey: 'agent:main:discord:group:none' });
    assert.deepEqual([noKey.status, /not found/.test(noKey.error)], ['error', true]);
  });

  test('[SH8, BR-012] a key reads its newest transcript, an older sessionId its own', async (t) => {
    const world = createSessionWorld(t, ownAgent);
    await world.add({ key: 'cron:j1', agentId: 'main', sessionId: 's1' }, { key: MAIN });
    await world.append('cron:j1', [userText('old')]);
    await world.context.store.write('reset', (tx) =>
      tx.sessions.update('cron:j1', { sessionId: 's2' }),
    );
    await world.append('cron:j1', [userText('new')]);
    for (const sessionKey of ['cron:j1', 'agent:main:cron:j1', 's2'])
      assert.deepEqual((await read(world, { sessionKey })).messages, [userText('new')]);
    const old = await read(world, { sessionKey: 's1' });
    assert.deepEqual([old.sessionId, old.messages], ['s1', [userText('old')]]);
  });

  test('[SH7, BR-106] `current` is the caller itself, in history as in every tool', async (t) => {
    const world = createSessionWorld(t);
    await world.add({ key: GROUP });
    await world.append(GROUP, [userText('mine')]);
    const history = await read(world, { sessionKey: 'current' }, GROUP);
    assert.deepEqual([history.sessionKey, history.messages], [GROUP, [userText('mine')]]);
  });

  test('[SH7] a main session without a row yet is empty, not missing', async (t) => {
    const world = createSessionWorld(t);
    assert.deepEqual((await read(world, { sessionKey: 'main' })).messages, []);
  });
});

describe('what is visible', () => {
  test('[AC2, BR-014] a child that ended long ago is in the list and in history alike', async (t) => {
    const world = createSessionWorld(t);
    await world.add(
      { key: MAIN },
      { key: CHILD, spawnedBy: MAIN, updatedAt: WORLD_START - 31 * 60_000 },
    );
    await world.append(CHILD, [assistantText('done')]);
    const list = await listSessions(world.context, world.caller(MAIN), {});
    assert.ok('sessions' in list && list.sessions.some((row) => row.key === CHILD));
    assert.deepEqual((await read(world, { sessionKey: CHILD })).messages, [assistantText('done')]);
  });

  test('[AC2, BR-016] a child under another agent is readable, that agent’s main session is not', async (t) => {
    const world = createSessionWorld(t, { agents: { list: [{ id: 'main' }, { id: 'coder' }] } });
    const child = 'agent:coder:subagent:00000000-0000-4000-8000-000000000002';
    await world.add({ key: MAIN }, { key: 'agent:coder:main' }, { key: child, spawnedBy: MAIN });
    await world.append(child, [assistantText('done')]);
    assert.equal((await read(world, { sessionKey: child })).messages.length, 1);
    assert.equal((await refused(world, { sessionKey: 'agent:coder:main' })).status, 'forbidden');
  });

  test('[AC1, BR-061] a hidden session and a missing one read the same', async (t) => {
    const world = createSessionWorld(t);
    const sessionId = '00000000-0000-4000-8000-00000000000a';
    await world.add({ key: MAIN }, { key: GROUP, sessionId });
    const hidden = await refused(world, { sessionKey: GROUP });
    assert.equal(hidden.status, 'forbidden');
    assert.match(hidden.error, /tools\.sessions\.visibility/);
    for (const words of ['agent:main:discord:group:none', sessionId, NOBODY])
      assert.deepEqual(await refused(world, { sessionKey: words }), hidden);
  });

  test('[SH9] an archived session stays readable', async (t) => {
    const world = createSessionWorld(t, ownAgent);
    await world.add({ key: MAIN }, { key: GROUP, archivedAt: WORLD_START });
    await world.append(GROUP, [userText('kept')]);
    assert.deepEqual((await read(world, { sessionKey: GROUP })).messages, [userText('kept')]);
  });
});

test('[SH10] what is far over the cap stays in the store and comes on the next pages', async (t) => {
  const world = createSessionWorld(t);
  await world.add({ key: MAIN });
  const huge = ['a', 'b', 'c', 'd'].map((name) => userText(name.repeat(3_000_000)));
  await world.append(MAIN, huge);
  const seen: string[] = [];
  let cursor: string | undefined;
  const dropped: number[] = [];
  do {
    const page = await read(world, { sessionKey: 'main', ...(cursor && { cursor }) });
    seen.push(...textsOf(page.messages).map((text) => /[a-d]/.exec(text)?.[0] ?? ''));
    dropped.push(page.droppedMessages);
    assert.equal(page.truncated, true);
    cursor = page.nextCursor;
  } while (cursor !== undefined && dropped.length < 9);
  assert.deepEqual(seen, ['d', 'c', 'b', 'a']);
  assert.deepEqual(dropped, [3, 2, 1, 0]);
});

test('[SL14, SH10] a large history is read in parts of 256 KiB, and is the same as in one', async (t) => {
  const world = createSessionWorld(t, { tools: { sessions_history: { maxBytes: 4_000_000 } } });
  await world.add({ key: MAIN });
  const messages = Array.from({ length: 40 }, (_, at) =>
    userText(`${at} ${'x'.repeat(at === 20 ? 400_000 : 50_000)}`),
  );
  await world.append(MAIN, messages);
  const { store, tails } = watchReads(world.context.store);
  const args = { sessionKey: MAIN, limit: 30 };
  const page = await readHistory({ ...world.context, store }, world.caller(MAIN), args);
  assert.ok('messages' in page);
  assert.deepEqual(page.messages, messages.slice(-30));
  assert.ok(tails.length > 5, `${tails.length} queries`);
  assert.deepEqual(
    tails.filter((bytes) => bytes > 262_144).map((bytes) => Math.floor(bytes / 100_000)),
    [4],
    'only the message that is larger by itself',
  );
});

test('[SH10] messages of a list are read up to the same bound, all rows together', async (t) => {
  const world = createSessionWorld(t, ownAgent);
  await world.add({ key: MAIN }, { key: GROUP });
  for (const key of [MAIN, GROUP]) await world.append(key, [userText('x'.repeat(5_000_000))]);
  const listed = await listSessions(world.context, world.caller(MAIN), { messageLimit: 3 });
  assert.ok('sessions' in listed);
  assert.deepEqual(
    listed.sessions.map((row) => row.messages?.length).toSorted((a = 0, b = 0) => a - b),
    [0, 1],
  );
  assert.equal(listed.messagesTruncated, true);
});

describe('credentials', () => {
  const KEY = `sk-ant-api03-${'Ab1'.repeat(20)}`;
  const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJl';
  const printed = toolResultText(`key ${KEY} Bearer ${JWT} and the rest`);

  test('[MK2, BR-110] another session reads them masked, the session itself and the store do not', async (t) => {
    const world = createSessionWorld(t);
    await world.add({ key: MAIN });
    await world.add({ key: CHILD, spawnedBy: MAIN });
    await world.append(CHILD, [userText('hello'), printed]);
    const args = { sessionKey: CHILD, includeTools: true };
    const masked = await read(world, args);
    assert.deepEqual(
      [masked.messages[1], masked.contentRedacted, masked.contentTruncated, masked.truncated],
      [toolResultText('key [masked] Bearer [masked] and the rest'), true, false, false],
    );
    assert.deepEqual(masked.messages[0], userText('hello'));
    assert.equal(masked.bytes, Buffer.byteLength(JSON.stringify(masked.messages)));
    const own = await read(world, { ...args, sessionKey: 'current' }, CHILD);
    assert.deepEqual([own.messages[1], own.contentRedacted], [printed, false]);
    const seen = await readChatHistory(world.context, { sessionKey: CHILD });
    assert.deepEqual([seen.messages[1], seen['contentRedacted']], [printed, false]);
    world.configure({ tools: { sessions_history: { mask: false } } });
    const open = await read(world, args);
    assert.deepEqual([open.messages[1], open.contentRedacted], [printed, false]);
  });

  test('[MK2] what waits and what a list attaches is masked too', async (t) => {
    const world = createSessionWorld(t);
    await world.add({ key: MAIN });
    await world.add({ key: CHILD, spawnedBy: MAIN });
    await world.append(CHILD, [userText(`use ${KEY}`)]);
    await world.context.store.write('accept', async (tx) => {
      const note = { inputId: 'n', rootRunId: 'n', kind: 'note' as const };
      await acceptNote(tx, { ...note, sessionKey: CHILD, text: `and ${KEY}` });
    });
    const page = await read(world, { sessionKey: CHILD });
    assert.deepEqual(
      [textsOf(page.messages), page.pending[0]?.message, page.contentRedacted],
      [['[{"type":"text","text":"use [masked]"}]'], 'and [masked]', true],
    );
    const list = await listSessions(world.context, world.caller(MAIN), { messageLimit: 1 });
    assert.ok(JSON.stringify(list).includes('use [masked]'));
    assert.ok(!JSON.stringify(list).includes(KEY));
    const own = await listSessions(world.context, world.caller(CHILD), { messageLimit: 1 });
    assert.ok(JSON.stringify(own).includes(KEY));
  });

  test('[MK4] nothing of one shows where a long text is cut', async (t) => {
    const world = createSessionWorld(t);
    await world.add({ key: MAIN });
    await world.add({ key: CHILD, spawnedBy: MAIN });
    for (const before of [3950, 3990, 3999])
      await world.append(CHILD, [userText(`${'x'.repeat(before)} ${KEY} ${'y'.repeat(200_000)}`)]);
    await world.append(CHILD, [userText(`${KEY} `.repeat(3000))]);
    const page = await read(world, { sessionKey: CHILD });
    assert.deepEqual([page.contentRedacted, page.contentTruncated], [true, true]);
    assert.ok(!JSON.stringify(page.messages).includes('sk-ant'));
    assert.ok(page.messages.length > 1);
  });
});

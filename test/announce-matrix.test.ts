/**
 * Every way in which a child can end × where its requester is then × how it is to be announced. The
 * tables are written by hand; each cell is played by a child of its own on a whole gateway.
 */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, test } from 'node:test';
import { parseStoredMessage } from '../src/core/stored-message.ts';
import { textOf } from '../src/protocol/message.ts';
import type { AnnounceMode } from '../src/protocol/words.ts';
import { call, startWorld, type TestWorld } from './helpers/test-world.ts';

/**
 * What a cell comes to: the outbox, then the requester's transcript.
 *
 *   sent           the announce went to the requester's chat
 *   relayed        the requester's own words went there
 *   no:<reason>    a suppressed row with this reason
 *   -              no row at all
 *   +note          the announce waits for the requester's next turn
 *   +read          it is the message of a turn that the requester had for it
 *   +appended      it entered the transcript at once
 */
const COLUMNS = ['idle', 'busy', 'archived', 'gone'] as const;
/** Per mode: which outcomes, the cells with a chat and those without, each in the order of `COLUMNS`. */
type Row = [outcomes: string, chat: string, none: string];
const NOWHERE = 'no:no_route+note no:no_route+note no:no_route+appended no:no_route';
const STOPPED: Row = [
  'stopped',
  'no:stopped+note no:stopped+note no:stopped+appended no:stopped',
  'no:stopped+note no:stopped+note no:stopped+appended no:stopped',
];
const SKIPPED: Row = ['skip', '- - - -', '- - - -'];
const TABLES: Record<AnnounceMode, Row[]> = {
  post: [
    ['ok error timeout empty', 'sent+note sent+note sent+appended sent', NOWHERE],
    STOPPED,
    SKIPPED,
  ],
  relay: [
    ['ok error timeout empty', 'relayed+read relayed+read sent+appended sent', NOWHERE],
    STOPPED,
    SKIPPED,
  ],
  template: [
    ['ok error timeout empty', 'sent+note sent+note sent+appended sent', NOWHERE],
    STOPPED,
    SKIPPED,
  ],
  silent: [
    [
      'ok error timeout empty stopped',
      'no:silent+note no:silent+note no:silent+appended no:silent',
      'no:silent+note no:silent+note no:silent+appended no:silent',
    ],
    SKIPPED,
  ],
};

/** The announce without its stats line; `#` stands for the cell. */
const NO_TEXT = 'The run ended without assistant text.';
const SUMMED: Record<Exclude<Outcome, 'skip'>, string> = {
  ok: 'Status: success\nResult: summed #',
  error: `Status: error\nResult: (not available)\nNotes: fake/fake-1: 400 no such thing\n${NO_TEXT}`,
  timeout: `Status: timeout\nResult: (not available)\nNotes: the run was stopped after 4 s, its time limit\n${NO_TEXT}`,
  stopped: `Status: error\nResult: (not available)\nNotes: stopped by the operator\n${NO_TEXT}`,
  empty: `Status: success\nResult: found #\nNotes: summed #\n${NO_TEXT}`,
};
const PLAIN: typeof SUMMED = {
  ...SUMMED,
  ok: 'Status: success\nResult: said #',
  empty: `Status: success\nResult: found #\nNotes: ${NO_TEXT}`,
};
const TEXTS: Record<AnnounceMode, typeof SUMMED> = {
  post: SUMMED,
  relay: SUMMED,
  template: PLAIN,
  silent: PLAIN,
};

const OUTCOMES = ['ok', 'error', 'timeout', 'stopped', 'empty', 'skip'] as const;
type Outcome = (typeof OUTCOMES)[number];
const ROUTES = ['chat', 'none'] as const;

interface Cell {
  /** stands in the task and in all that is said about it */
  name: string;
  key: string;
  outcome: Outcome;
  requester: (typeof COLUMNS)[number];
  route: (typeof ROUTES)[number];
  expected: string;
}

function cellsOf(mode: AnnounceMode): Cell[] {
  const cells = TABLES[mode].flatMap(([outcomes, chat, none]) =>
    outcomes
      .split(' ')
      .flatMap((outcome) => [
        ...rowOf(outcome as Outcome, { route: 'chat', row: chat }),
        ...rowOf(outcome as Outcome, { route: 'none', row: none }),
      ]),
  );
  assert.equal(cells.length, OUTCOMES.length * ROUTES.length * COLUMNS.length);
  return cells;
}

function rowOf(outcome: Outcome, { route, row }: { route: Cell['route']; row: string }): Cell[] {
  return row.split(' ').map((expected, at) => {
    const requester = COLUMNS[at]!;
    const name = `${outcome}-${route}-${requester}`;
    return { name, key: `agent:a:${name}`, outcome, requester, route, expected };
  });
}

describe('the announce matrix', { concurrency: 2 }, () => {
  for (const mode of ['post', 'relay', 'template', 'silent'] as const) {
    test(`[AN13, BR-082, BR-197] mode ${mode}: each outcome, wherever the requester is, with and without a chat`, async (t) => {
      const subagents = { maxConcurrent: 64, announce: { mode } };
      const config = { agents: { defaults: { maxConcurrent: 64, subagents } } };
      const world = await startWorld(t, { config, rewrite });
      const cells = cellsOf(mode);
      // those with a time limit first, so that all of them are at work before it ends
      const isLimited = ({ outcome }: Cell): boolean => outcome === 'timeout';
      for (const part of [cells.filter(isLimited), cells.filter((cell) => !isLimited(cell))]) {
        await Promise.all(part.map((cell) => play(world, { mode, cell })));
      }
      await world.quiet();
      const seen = await Promise.all(cells.map((cell) => observe(world, { mode, cell })));
      assert.deepEqual(
        Object.fromEntries(cells.map(({ name }, at) => [name, seen[at]])),
        Object.fromEntries(cells.map(({ name, expected }) => [name, expected])),
      );
    });
  }
});

/** What the model says in the turns that the gateway makes. */
function rewrite(text: string): string | undefined {
  const name = /(?:cell|said|summed|found) ([a-z]+-[a-z]+-[a-z]+)/.exec(text)?.[1];
  if (text.startsWith('[Announce step'))
    return text.includes('cell skip') ? 'SAY: ANNOUNCE_SKIP' : `SAY: summed ${name}`;
  return text.startsWith('[result of your sub-agent') ? 'SAY: relayed' : undefined;
}

function scriptOf({ name, outcome }: Cell, mode: AnnounceMode): string {
  switch (outcome) {
    case 'error':
      return 'FAIL: 400 no such thing';
    case 'empty':
      return `${call('write', { path: `${name}.txt`, content: `found ${name}` })}\n${call('read', { path: `${name}.txt` })}\nEMPTY`;
    case 'skip':
      return mode === 'post' || mode === 'relay' ? `SAY: said ${name}` : 'SAY: ANNOUNCE_SKIP';
    default:
      return `SAY: said ${name}`;
  }
}

/** Spawns, puts the requester where it is to be, and lets the child end; all while the child waits for its model. */
async function play(
  world: TestWorld,
  { mode, cell }: { mode: AnnounceMode; cell: Cell },
): Promise<void> {
  const { name, key, outcome } = cell;
  await talk(world, cell, 'SAY: hello');
  const held = world.model.hold(`cell ${name};`);
  const task = `cell ${name};\n${scriptOf(cell, mode)}`;
  const limit = outcome === 'timeout' ? { runTimeoutSeconds: 4 } : {};
  const answer = await world.tool('sessions_spawn', { task, ...limit }, key);
  await held.arrived();
  const free = await placeRequester(world, cell);
  const { childSessionKey, runId } = answer;
  if (outcome === 'stopped')
    await world.client.request('runs.stop', { sessionKey: childSessionKey });
  else if (outcome !== 'timeout') held.release();
  await world.client.request('agent.wait', { runId, timeoutMs: 60_000 });
  held.release();
  free();
}

/** A message with a chat comes from webchat, one without is the operator's. */
async function talk(world: TestWorld, { key, route }: Cell, message: string): Promise<void> {
  const params = { sessionKey: key, message, idempotencyKey: randomUUID() };
  const method = route === 'chat' ? 'chat.send' : 'agent';
  const { runId } = await world.client.request(method, params);
  await world.client.request('agent.wait', { runId, timeoutMs: 60_000 });
}

/** Returns what lets a busy requester go on. */
async function placeRequester(world: TestWorld, cell: Cell): Promise<() => void> {
  const { key, name, requester } = cell;
  if (requester === 'busy') {
    const held = world.model.hold(`busy ${name};`);
    void talk(world, cell, `busy ${name};\nSAY: done`);
    await held.arrived();
    return held.release;
  }
  await world.store.write('place', async (tx) => {
    if (requester === 'archived') await tx.sessions.update(key, { archivedAt: tx.now });
    if (requester === 'gone') {
      await tx.sessions.update(key, { archivedAt: tx.now, deletedAt: tx.now });
    }
  });
  return () => {};
}

async function observe(
  world: TestWorld,
  { mode, cell }: { mode: AnnounceMode; cell: Cell },
): Promise<string> {
  const { key, name, outcome } = cell;
  const isAnnounce = (text: string): boolean => text.includes('\n\nStats: ');
  const { outbox, waiting, entries, open } = await world.store.read(async (tx) => {
    const session = (await tx.sessions.get(key))!;
    const tail = { sessionId: session.sessionId, includeTools: true, beforeSeq: undefined };
    return {
      outbox: (await tx.deliveries.ofSession(key, 20)).filter(
        ({ idempotencyKey, runId }) =>
          idempotencyKey.startsWith('announce:') || runId?.endsWith(':relay') === true,
      ),
      waiting: (await tx.inputs.pending(key, 20)).filter(({ kind }) => kind === 'announce'),
      entries: await tx.entries.tail({ ...tail, limit: 50 }),
      open: await tx.spawns.unsettledOf(key),
    };
  });
  assert.deepEqual(open, [], `${name} is settled`);
  const read = entries.flatMap(({ json, role, runId }) => {
    const message = role === 'user' ? parseStoredMessage(json) : undefined;
    const text = message === undefined ? '' : textOf(message);
    if (!isAnnounce(text)) return [];
    assert.equal(message?.role === 'user' && message.provenance?.sourceTool, 'sessions_spawn');
    return [{ text, where: runId === null ? '+appended' : '+read' }];
  });
  const texts = [
    ...outbox.flatMap(({ text, runId }) => (runId?.endsWith(':relay') === true ? [] : [text])),
    ...waiting.map(({ text }) => text),
    ...read.map(({ text }) => text),
  ];
  if (outcome !== 'skip') {
    const expected = TEXTS[mode][outcome].replaceAll('#', name);
    for (const text of texts) assert.equal(text.split('\n\nStats: ')[0], expected, name);
  }
  return [
    ...(outbox.length === 0 && texts.length === 0 ? ['-'] : []),
    ...outbox.map(({ state, reason, text }) => {
      if (state === 'suppressed') return `no:${reason}`;
      return isAnnounce(text) ? state : text;
    }),
    ...waiting.map(() => '+note'),
    ...read.map(({ where }) => where),
  ].join('');
}

/** What the driver asks for: messages of every kind, each in words of its own, chosen by the seed. */
import { join } from 'node:path';
import type { Expected } from './ledger.ts';
import { markOf } from './marks.ts';
import type { Random } from './random.ts';

export interface Job {
  /** the idempotency key, the same at each try */
  key: string;
  kind: string;
  method: 'chat.send' | 'agent' | 'tools.invoke';
  params: Record<string, unknown>;
  sessionKey: string;
  /** the message as it must stand in the transcript */
  text: string;
  expects: Expected;
  /** file that must be there before, with this content */
  needs?: { path: string; content: string };
}

export const AGENTS = ['main', 'scout', 'clerk'] as const;

/** Returns the folder of an agent's files in the folder of a campaign. */
export function workspaceFolder(folder: string, agentId: string): string {
  return join(folder, agentId === AGENTS[0] ? 'workspace' : `workspace-${agentId}`);
}

/** How people's messages wait for a busy session; nothing = for turns of their own, as the configuration says. */
const QUEUE_SETTINGS: readonly Record<string, string | number>[] = [
  {},
  {},
  { queueMode: 'collect', queueDebounceMs: 100 },
  { queueMode: 'steer' },
  { queueMode: 'interrupt' },
  { queueMode: 'followup', queueCap: 3, queueDrop: 'old' },
];

/** Returns how messages wait for a new session of the driver. */
export function queueSettings(random: Random): Record<string, string | number> {
  return random.pick(QUEUE_SETTINGS);
}

/** Sessions that take messages now; older ones get no more, so that transcripts stay short. */
export interface Desk {
  /** that the driver writes to */
  open: string[];
  /** that are known to exist, so that agents can send to them */
  known: string[];
}

type Maker = (job: Draft) => Partial<Pick<Job, 'kind' | 'method' | 'params'>> & Scripted;
interface Scripted {
  lines: string[];
  expects?: Expected;
  needs?: Job['needs'];
}
interface Draft {
  nth: number;
  sessionKey: string;
  random: Random;
  desk: Desk;
}

/** How often each kind comes, of the sum of them. */
const KINDS: readonly [share: number, kind: string, make: Maker][] = [
  [16, 'say', ({ nth }) => ({ lines: [`SAY: reply ${markOf(nth)}`] })],
  [15, 'deliver', deliver],
  [12, 'effects', effects],
  [26, 'send', send],
  [16, 'spawn', spawn],
  [5, 'wait', wait],
  [3, 'stop', stop],
  [6, 'door', (draft) => doorSend(draft, 'run')],
  [4, 'note', (draft) => doorSend(draft, 'note')],
  [3, 'fail', () => ({ lines: ['FAIL: 400 scripted'] })],
  [
    3,
    'too-slow',
    () => ({ lines: ['SLEEP: 60000', 'SAY: never'], method: 'agent', params: { timeout: 0.4 } }),
  ],
  [2, 'silent', () => ({ lines: ['EMPTY'] })],
];

/** Returns the job of this number. */
export function makeJob(nth: number, { random, desk }: { random: Random; desk: Desk }): Job {
  const [, kind, make] = pickKind(random);
  const sessionKey = random.pick(desk.open);
  const made = make({ nth, sessionKey, random, desk });
  const text = [markOf(nth), ...made.lines].join('\n');
  const key = `job-${nth}`;
  const base = { key, kind: made.kind ?? kind, expects: made.expects ?? {} };
  const needs = made.needs === undefined ? {} : { needs: made.needs };
  if (made.method === 'tools.invoke') {
    const target = String(made.params?.['target']);
    const { mode } = made.params as { mode: string };
    const args = { sessionKey: target, message: text, timeoutSeconds: 0, mode };
    const params = { tool: 'sessions_send', args, sessionKey, idempotencyKey: key };
    return { ...base, ...needs, method: 'tools.invoke', params, sessionKey: target, text };
  }
  const method = made.method ?? 'chat.send';
  const params = { ...made.params, sessionKey, message: text, idempotencyKey: key };
  return { ...base, ...needs, method, params, sessionKey, text };
}

function pickKind(random: Random): (typeof KINDS)[number] {
  let left = random.between(
    1,
    KINDS.reduce((sum, [share]) => sum + share, 0),
  );
  for (const kind of KINDS) {
    left -= kind[0];
    if (left <= 0) return kind;
  }
  throw new Error('unreachable');
}

function deliver({ nth, sessionKey, random }: Draft): ReturnType<Maker> {
  const channel = random.pick(['keyed', 'keyed', 'plain']);
  return {
    lines: [`SAY: reply ${markOf(nth)}`],
    method: 'agent',
    params: { deliver: true, channel, to: sessionKey },
    expects: { deliveredTo: channel },
  };
}

/** Each effect makes its file longer by a sign: edits that find their text again after they were done, or an append. */
function effects({ nth, sessionKey, random }: Draft): ReturnType<Maker> {
  const agent = sessionKey.split(':')[1] ?? '';
  const edited = `counted/${nth}-edit.txt`;
  const edit = { name: 'edit', args: { path: edited, oldText: '|', newText: '|+' } };
  const appended = `counted/${nth}-exec.txt`;
  const command = `sleep 0.1; mkdir -p counted; echo -n + >> ${appended}`;
  // A command costs a thread with a shell in it.
  const isCommand = random.chance(0.3);
  const calls = isCommand ? [edit, { name: 'exec', args: { command } }] : [edit];
  const files = isCommand ? [edited, appended] : [edited];
  return {
    lines: [`TOOLS: ${JSON.stringify(calls)}`, `SAY: reply ${markOf(nth)}`],
    expects: { effects: files.map((file) => `${agent}/${file}`) },
    needs: { path: `${agent}/${edited}`, content: '|' },
  };
}

/** A message to another session, which may send on to a third, with and without waits. */
function send({ nth, sessionKey, random, desk }: Draft): ReturnType<Maker> {
  const further = random.chance(0.4)
    ? [toolLine('sessions_send', sendArgs({ random, desk, sessionKey }, messageOf(nth, '1', '1')))]
    : [];
  const first = sendArgs({ random, desk, sessionKey }, messageOf(nth, '1', further));
  return { lines: [toolLine('sessions_send', first), `SAY: reply ${markOf(nth)}`] };
}

function messageOf(nth: number, path: string, rest: string | string[]): string {
  if (typeof rest === 'string')
    return `${markOf(nth, path, rest)}\nSAY: pong ${markOf(nth, path, rest)}`;
  return [markOf(nth, path), ...rest, `SAY: pong ${markOf(nth, path)}`].join('\n');
}

function sendArgs(
  { random, desk, sessionKey }: Pick<Draft, 'random' | 'desk' | 'sessionKey'>,
  message: string,
): Record<string, unknown> {
  const target = otherThan({ sessionKey, desk, random });
  if (random.chance(0.1)) return { sessionKey: target, message, mode: 'note' };
  return { sessionKey: target, message, timeoutSeconds: random.pick([0, 0, 1, 20]) };
}

function otherThan({
  sessionKey,
  desk,
  random,
}: Pick<Draft, 'random' | 'desk' | 'sessionKey'>): string {
  return random.pick(desk.known.filter((key) => key !== sessionKey));
}

/** A message to another session without a wait, then a wait for that session and for one more. */
function wait(draft: Draft): ReturnType<Maker> {
  const { nth, random } = draft;
  const [target, other] = [otherThan(draft), otherThan(draft)];
  const message = `${markOf(nth, '1')}\nSAY: pong ${markOf(nth, '1')}`;
  const waited = {
    sessionKeys: [target, other],
    mode: random.pick(['any', 'all']),
    timeoutSeconds: random.pick([0, 1, 5]),
  };
  return {
    lines: [
      toolLine('sessions_send', { sessionKey: target, message, timeoutSeconds: 0 }),
      toolLine('sessions_wait', waited),
      `SAY: reply ${markOf(nth)}`,
    ],
  };
}

/** Starts something and stops what another session is at, with all that is below it. */
function stop(draft: Draft): ReturnType<Maker> {
  const { nth } = draft;
  return {
    lines: [
      ...spawn(draft).lines.slice(0, 1),
      toolLine('sessions_stop', { sessionKey: otherThan(draft) }),
      `SAY: reply ${markOf(nth)}`,
    ],
  };
}

function spawn({ nth, random }: Draft): ReturnType<Maker> {
  const sleep = random.chance(0.5) ? [`SLEEP: ${random.between(50, 400)}`] : [];
  const fails = random.chance(0.1);
  const end = fails ? 'FAIL: 400 scripted' : `SAY: child ${markOf(nth, 's')}`;
  const task = [markOf(nth, 's'), ...sleep, end].join('\n');
  const agentId = random.chance(0.3) ? { agentId: random.pick(AGENTS) } : {};
  return {
    lines: [toolLine('sessions_spawn', { task, ...agentId }), `SAY: reply ${markOf(nth)}`],
  };
}

/** Through a door, as a session, to another. */
function doorSend(
  { nth, sessionKey, random, desk }: Draft,
  mode: 'run' | 'note',
): ReturnType<Maker> {
  const target = otherThan({ sessionKey, desk, random });
  return {
    lines: mode === 'note' ? [] : [`SAY: reply ${markOf(nth)}`],
    method: 'tools.invoke',
    params: { target, mode },
    expects: mode === 'note' ? { isNote: true } : {},
  };
}

function toolLine(name: string, args: Record<string, unknown>): string {
  return `TOOL: ${name} ${JSON.stringify(args)}`;
}

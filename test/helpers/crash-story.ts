/**
 * What a database tells of everything that happened, in words that are the same whenever the same
 * happened: ids, times and paths are taken out. A run that was killed anywhere and went on must tell
 * the story of one that nobody disturbed.
 */
import { DatabaseSync } from 'node:sqlite';
import { textOf, toolCallsOf, type Message } from '../../src/protocol/message.ts';

export interface Story {
  /** key, label, last route, send policy and counters of each session */
  sessions: string[];
  /** session, purpose, outcome and reply of each run */
  runs: string[];
  /** session → role, purpose of the run and text of each message */
  transcripts: Record<string, string[]>;
  deliveries: string[];
  /** accepted messages that no transcript has yet */
  pending: string[];
  exchanges: string[];
  spawns: string[];
  waits: string[];
  /** what each deferred call waits for, and whether it was cancelled */
  calls: string[];
}

type Row = Record<string, string | number | null>;

/** Returns the story of a database file. */
export function readStory(path: string): Story {
  return inDatabase(path, (all) => ({
    sessions: all('select * from sessions').map(toSessionLine).toSorted(),
    runs: all('select * from runs').map(toRunLine).toSorted(),
    transcripts: transcriptsOf(all),
    deliveries: all('select * from deliveries')
      .map((row) =>
        mask(
          `${row['delivery_id']} ${row['channel']} ${row['route_to']} ${row['state']}: ${row['text']}`,
        ),
      )
      .toSorted(),
    pending: all("select * from inputs where state = 'pending'")
      .map((row) =>
        mask(`${row['session_key']} ${row['kind']}: ${row['text']} ${row['provenance_json']}`),
      )
      .toSorted(),
    exchanges: all('select * from exchanges').map(toExchangeLine).toSorted(),
    spawns: all('select * from spawns')
      .map((row) => mask(`${row['requester_key']} → ${row['child_key']} ${row['state']}`))
      .toSorted(),
    waits: all('select * from waits')
      .map((row) => mask(`${row['waiter_key']} → ${row['target_key']} ${row['state']}`))
      .toSorted(),
    calls: all('select * from deferred_calls').map(toCallLine).toSorted(),
  }));
}

function toCallLine(row: Row): string {
  const { length } = JSON.parse(String(row['run_ids_json'])) as string[];
  const end = row['cancelled_at'] === null ? '' : ', cancelled';
  return `${row['session_key']} ${row['tool']} for ${length} ${row['mode']}${end}`;
}

/** Returns the story without its counts of tokens, for runs whose texts may differ. */
export function withoutTokens(story: Story): Story {
  return JSON.parse(
    JSON.stringify(story)
      .replaceAll(/\d+\+\d+ tokens/g, '# tokens')
      .replaceAll(/\S+ in context/g, '# in context')
      .replaceAll(/tokens (n\/a|\d+ \(in \d+ \/ out \d+\))/g, 'tokens #'),
  ) as Story;
}

/** Returns how many accepted messages stand under this idempotency key. */
export function countAccepted(path: string, idempotencyKey: string): number {
  return inDatabase(
    path,
    (all) =>
      all('select idempotency_key from inputs').filter(
        (row) => row['idempotency_key'] === idempotencyKey,
      ).length,
  );
}

/** Returns what is left open in a database where nothing should be: stuck lanes, unfinished steps, halves. */
export function findLoose(path: string): string[] {
  return inDatabase(path, (all) =>
    LOOSE.flatMap(([what, sql]) => all(sql).map((row) => `${what}: ${JSON.stringify(row)}`)),
  );
}

const LOOSE: [string, string][] = [
  [
    'lane not idle',
    "select * from lanes where state <> 'idle' or owner is not null or pending <> 0 or current_run_id is not null",
  ],
  [
    'run without an outcome',
    "select run_id, state from runs where state not in ('ok', 'error', 'timeout', 'aborted')",
  ],
  [
    'run without its input',
    'select run_id from runs where run_id not in (select input_id from inputs)',
  ],
  [
    'message without its run',
    "select input_id from inputs where kind not in ('note', 'announce', 'summary') and input_id not in (select run_id from runs)",
  ],
  [
    'message not in a transcript',
    "select input_id from inputs where kind not in ('note', 'announce', 'summary') and state not in ('appended', 'dropped')",
  ],
  [
    'tool call not finished',
    `select * from tool_calls where state <> 'finished'
      and run_id not in (select run_id from runs where state = 'aborted')`,
  ],
  ['open wait', "select * from waits where state = 'open'"],
  ['open exchange', "select * from exchanges where state <> 'done' or ended_at is null"],
  ['child not settled', "select * from spawns where state <> 'settled' or settled_at is null"],
  ['delivery under way', "select * from deliveries where state in ('queued', 'sending')"],
  ['open job', "select * from jobs where kind not in ('archive-session', 'maintain-sessions')"],
  [
    'run with another number of user messages than one',
    `select runs.run_id, count(entries.seq) as messages from runs
      left join entries on entries.run_id = coalesce(runs.merged_into, runs.run_id) and entries.role = 'user'
        and json_extract(entries.json, '$.content[0].text') = (select text from inputs where input_id = runs.run_id)
      where runs.purged_at is null
        and runs.run_id not in (select input_id from inputs where state = 'dropped')
      group by runs.run_id having messages <> 1`,
  ],
];

type All = (sql: string) => Row[];

function inDatabase<T>(path: string, read: (all: All) => T): T {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    return read((sql) => db.prepare(sql).all() as Row[]);
  } finally {
    db.close();
  }
}

function toSessionLine(row: Row): string {
  const counters = `${row['input_tokens']}+${row['output_tokens']} tokens, ${row['total_tokens']} in context`;
  const closed =
    row['deleted_at'] !== null ? 'deleted ' : row['archived_at'] !== null ? 'archived ' : '';
  return mask(
    `${closed}${row['key']} label ${row['label']}, last ${row['last_channel']} ${row['last_to']}, sends ${row['send_policy']}, aborted ${row['aborted_last_run']}, ${counters}`,
  );
}

function toRunLine(row: Row): string {
  const error = row['error'] === null ? '' : ` (${row['error']})`;
  const turn = row['merged_into'] === null ? '' : ' in the turn of another';
  const tokens = `${row['input_tokens']}+${row['output_tokens']} tokens, ${row['attempts']} attempts counted`;
  return mask(
    `${row['session_key']} ${row['purpose']}${turn} ${row['state']} "${row['reply']}"${error}, ${tokens}`,
  );
}

function toExchangeLine(row: Row): string {
  return mask(
    `${row['requester_key']} → ${row['target_key']} ${row['state']} ${row['end_reason']} after ${row['turns']} turns, first "${row['first_reply']}", latest "${row['latest_reply']}"`,
  );
}

function transcriptsOf(all: All): Record<string, string[]> {
  const bySession = new Map<string, string[]>();
  const entries = all(`select entries.json, windows.session_key, runs.purpose from entries
    join windows on windows.session_id = entries.session_id
    left join runs on runs.run_id = entries.run_id
    order by windows.session_key, windows.started_at, entries.seq`);
  for (const { json, session_key: key, purpose } of entries) {
    const lines = bySession.get(String(key)) ?? [];
    bySession.set(String(key), lines);
    lines.push(mask(`${purpose} ${toLine(JSON.parse(String(json)) as Message)}`));
  }
  // children have one name once their ids are taken out: they stand in the order of what they say
  const sorted = [...bySession].toSorted(([, a], [, b]) => (a.join() < b.join() ? -1 : 1));
  const transcripts: Record<string, string[]> = {};
  for (const [key, lines] of sorted) (transcripts[mask(key)] ??= []).push(...lines);
  return transcripts;
}

function toLine(message: Message): string {
  const calls =
    message.role === 'assistant' ? toolCallsOf(message).map(({ name }) => `→${name}`) : [];
  const who =
    message.role === 'toolResult' ? `${message.role} of ${message.toolName}` : message.role;
  return `${who}: ${[textOf(message), ...calls].filter((part) => part !== '').join(' ')}`;
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

function mask(text: string): string {
  return text
    .replaceAll(UUID, '<id>')
    .replaceAll(/runtime \S+/gi, 'runtime <time>')
    .replaceAll(/\/\S*?\/agents\//g, '<state>/agents/');
}

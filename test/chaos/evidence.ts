/** Everything that a verdict is made from: the three ledgers, the store and the files of the agents. */
import type { Message } from '../../src/protocol/message.ts';
import { textOf } from '../../src/protocol/message.ts';
import {
  type ChannelEntry,
  type DriverEntry,
  type GatewayEntry,
  type Ledgers,
  type ModelEntry,
  readLedger,
} from './ledger.ts';
import { ownMark } from './marks.ts';
import { type Database, inDatabase, jobsSql, type Row } from './store-state.ts';

/** What is wrong with something that was accepted. */
export interface Problem {
  kind:
    | 'lost'
    | 'doubled'
    /** has no outcome, and nobody goes on with it */
    | 'open'
    /** contradicts something else: an order, an outcome that was told */
    | 'wrong';
  what: string;
}

export interface Entry {
  sessionId: string;
  seq: number;
  entryId: string;
  parentId: string | null;
  runId: string | null;
  message: Message;
}

export interface Evidence {
  driver: DriverEntry[];
  model: ModelEntry[];
  channel: ChannelEntry[];
  gateway: GatewayEntry[];
  rows: Record<TableName, Row[]>;
  entries: Entry[];
  run(runId: unknown): Row | undefined;
  input(inputId: unknown): Row | undefined;
  entriesOf(runId: unknown): Entry[];
  /** the run whose turn it is: of a message that joined another turn, that one */
  turnOf(run: Row): Row;
  /** the messages that bear this mark, as they were accepted */
  accepted(mark: string): Row[];
  /** folder of an agent's files */
  workspaceOf(agentId: string): string;
}

const TABLES = [
  'inputs',
  'runs',
  'lanes',
  'windows',
  'tool_calls',
  'waits',
  'exchanges',
  'spawns',
  'deliveries',
  'jobs',
  'sessions',
] as const;
type TableName = (typeof TABLES)[number];

/** Reads it all. The gateway must be gone. */
export async function gatherEvidence(from: {
  database: Database;
  ledgers: Ledgers;
  workspaceOf: (agentId: string) => string;
}): Promise<Evidence> {
  const { rows, entries } = await readAll(from.database);
  const runs = new Map(rows.runs.map((row) => [row['run_id'], row]));
  const inputs = new Map(rows.inputs.map((row) => [row['input_id'], row]));
  const ofRun = Map.groupBy(entries, ({ runId }) => runId);
  const marked = Map.groupBy(rows.inputs, ({ text }) => ownMark(String(text)));
  return {
    driver: readLedger(from.ledgers.driver),
    model: readLedger(from.ledgers.model),
    channel: readLedger(from.ledgers.channel),
    gateway: readLedger(from.ledgers.gateway),
    rows,
    entries,
    run: (runId) => runs.get(runId as string),
    input: (inputId) => inputs.get(inputId as string),
    entriesOf: (runId) => ofRun.get(runId as string) ?? [],
    turnOf: (run) => runs.get(run['merged_into']) ?? run,
    accepted: (mark) => marked.get(mark) ?? [],
    workspaceOf: from.workspaceOf,
  };
}

function readAll(database: Database): Promise<Pick<Evidence, 'rows' | 'entries'>> {
  return inDatabase(database, async (query) => {
    const rows: Partial<Record<TableName, Row[]>> = {};
    for (const table of TABLES) {
      rows[table] = await query(table === 'jobs' ? jobsSql(database) : `select * from ${table}`);
    }
    const entries = await query('select * from entries order by session_id, seq');
    return { rows: rows as Record<TableName, Row[]>, entries: entries.map(toEntry) };
  });
}

function toEntry(row: Row): Entry {
  return {
    sessionId: String(row['session_id']),
    seq: Number(row['seq']),
    entryId: String(row['entry_id']),
    parentId: row['parent_id'] === null ? null : String(row['parent_id']),
    runId: row['run_id'] === null ? null : String(row['run_id']),
    message: JSON.parse(String(row['json'])) as Message,
  };
}

const OUTCOMES = ['ok', 'error', 'timeout', 'aborted'];

/** True when the run has ended. */
export function hasOutcome(run: Row | undefined): boolean {
  return OUTCOMES.includes(String(run?.['state']));
}

/** Returns what stands more than once. */
export function repeated(names: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].filter(([, count]) => count > 1).map(([name]) => name);
}

/** Returns the text of an entry. */
export function textIn({ message }: Entry): string {
  return textOf(message);
}

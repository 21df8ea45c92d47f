/** What each side of a campaign wrote down while it went on: one JSON line per happening, appended at once. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';

/** What the driver wrote: what it asked for and what it was told. */
export type DriverEntry =
  /** before the first call: what will be asked for under this key */
  | { type: 'job'; key: string; kind: string; sessionKey: string; text: string; expects: Expected }
  /** each try, before it goes out */
  | { type: 'call'; key: string }
  /** each answer that says accepted */
  | { type: 'answer'; key: string; runId: string }
  /** an answer that says no; nothing of the job may be stored */
  | { type: 'refusal'; key: string; error: string }
  /** a try that nobody answered */
  | { type: 'unanswered'; key: string; error: string }
  /** each outcome that was told of an accepted job */
  | { type: 'outcome'; key: string; runId: string; outcome: string; reply: string | null }
  /** an answered stop of a run or a session: these runs end by it */
  | { type: 'stop'; target: string; runIds: string[] };

/** What must be found in the end, beside the outcome. */
export interface Expected {
  /** file of a workspace that grows by one sign per effect */
  effects?: string[];
  /** the reply goes to this chat when the run ends well */
  deliveredTo?: string;
  /** a note has no run of its own */
  isNote?: boolean;
}

/** What the model wrote: each request and its answer. */
export interface ModelEntry {
  /** marks of the newest message that it was asked about */
  marks: string[];
  /** marks of messages that stood more than once in what it was told */
  doubled: string[];
  answer: string;
  text?: string;
}

/** What the chat services wrote: each part they were handed, and whether people see it from now on. */
export interface ChannelEntry {
  channel: string;
  idempotencyKey: string;
  to: string | null;
  text: string;
  /** a new message in the chat; false when it failed before, or when the key was shown already */
  isShown: boolean;
  /** how it went wrong, undefined when it did not */
  failed?: 'before' | 'during' | 'after';
  /** whoever handed it over was gone before the answer */
  isCut?: true;
}

/** What is known of the gateways, by their process ids. */
export type GatewayEntry =
  /** it is about to commit that it hands a part of the outbox over */
  | { type: 'sending'; pid: number; deliveryId: string }
  /** what became of that is committed */
  | { type: 'booked'; pid: number; deliveryId: string }
  /** it was killed */
  | { type: 'killed'; pid: number }
  /** it was stopped in order, and ended with this code; null = it had to be killed */
  | { type: 'drained'; pid: number; code: number | null }
  /** steps of its runs are under way, for it to be paused at */
  | { type: 'hanging'; pid: number }
  /** it stood still for so long */
  | { type: 'paused'; pid: number; ms: number };

/** where each of them is */
export type Ledgers = Record<'driver' | 'model' | 'channel' | 'gateway', string>;

type LedgerEntry = DriverEntry | ModelEntry | ChannelEntry | GatewayEntry;

/** Appends one happening. */
export function writeLedger(path: string, entry: LedgerEntry): void {
  appendFileSync(path, `${JSON.stringify(entry)}\n`);
}

/** Returns all that was written, in order. */
export function readLedger<T extends LedgerEntry>(path: string): T[] {
  if (!existsSync(path)) return [];
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);
}

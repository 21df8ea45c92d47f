/** One entry of `sessions.json` (B11.1), read field by field; what is unusable is noted, never guessed. */
import { isUuid } from '../../core/keys.ts';
import { toChatType } from '../../core/send-policy.ts';
import { QUEUE_DROPS, QUEUE_MODES, THINKING_LEVELS } from '../../protocol/words.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import { asRecord } from './source-files.ts';

/** The columns that an entry decides. */
export type EntryFields = Omit<
  SessionRow,
  | 'key'
  | 'agentId'
  | 'kind'
  | 'spawnedBy'
  | 'rootKey'
  | 'spawnDepth'
  | 'createdAt'
  | 'archiveAt'
  | 'archivedAt'
  | 'deletedAt'
>;
export interface SessionEntry {
  fields: EntryFields;
  /** file name in the agent's sessions folder */
  transcriptFile: string;
  /** key as written */
  spawnedBy: string | undefined;
  startedAt: number | undefined;
  notes: string[];
}

// A sessionId becomes a file name: it starts with a letter or digit and holds no separator (BR-062).
const SESSION_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** Returns what the entry says, or why the session cannot be taken. */
export function parseSessionEntry(
  value: unknown,
  options: { now: number },
): { ok: true; entry: SessionEntry } | { ok: false; reason: string } {
  const record = asRecord(value);
  if (record === undefined) return { ok: false, reason: 'its entry is not an object' };
  const givenId = record['sessionId'];
  if (typeof givenId !== 'string' || !SESSION_ID.test(givenId)) {
    return { ok: false, reason: 'its sessionId is missing or cannot name a transcript' };
  }
  const notes: string[] = [];
  const read = reader(record, notes);
  const updatedAt = read.time('updatedAt');
  if (updatedAt === undefined)
    notes.push('has no usable updatedAt; the time of the import is used');
  return {
    ok: true,
    entry: {
      fields: {
        sessionId: isUuid(givenId) ? givenId.toLowerCase() : givenId,
        ...chatFields(record, read),
        ...modelFields(read),
        ...routeFields(record, read),
        label: read.text('label') ?? null,
        verboseLevel: read.text('verboseLevel') ?? null,
        reasoningLevel: read.text('reasoningLevel') ?? null,
        elevatedLevel: read.text('elevatedLevel') ?? null,
        thinkingLevel: read.oneOf('thinkingLevel', THINKING_LEVELS),
        sendPolicy: read.oneOf('sendPolicy', ['allow', 'deny']),
        ...queueFields(read),
        systemSent: record['systemSent'] === true,
        abortedLastRun: record['abortedLastRun'] === true,
        updatedAt: updatedAt ?? options.now,
      },
      transcriptFile: transcriptFileOf(givenId, record['sessionFile'], notes),
      spawnedBy: read.text('spawnedBy'),
      startedAt: read.time('sessionStartedAt'),
      notes,
    },
  };
}

function queueFields(
  read: Reader,
): Pick<EntryFields, 'queueMode' | 'queueDebounceMs' | 'queueCap' | 'queueDrop'> {
  const cap = read.count('queueCap');
  return {
    queueMode: read.oneOf('queueMode', QUEUE_MODES),
    queueDebounceMs: read.count('queueDebounceMs') ?? null,
    queueCap: cap === undefined || cap === 0 ? null : cap,
    queueDrop: read.oneOf('queueDrop', QUEUE_DROPS),
  };
}

function chatFields(
  record: Record<string, unknown>,
  read: Reader,
): Pick<EntryFields, 'chatType' | 'channel' | 'displayName'> {
  const word = read.text('chatType');
  const origin = reader(asRecord(record['origin']) ?? {}, []);
  return {
    chatType: (word === undefined ? undefined : toChatType(word)) ?? null,
    channel:
      (
        read.text('channel') ??
        read.text('provider') ??
        origin.text('provider') ??
        null
      )?.toLowerCase() ?? null,
    displayName: read.text('displayName') ?? read.text('subject') ?? read.text('room') ?? null,
  };
}

function modelFields(
  read: Reader,
): Pick<EntryFields, 'model' | 'lastModel' | 'inputTokens' | 'outputTokens' | 'totalTokens'> {
  return {
    model: joinModel(read.text('providerOverride'), read.text('modelOverride')),
    lastModel: joinModel(read.text('modelProvider'), read.text('model')),
    inputTokens: read.count('inputTokens') ?? 0,
    outputTokens: read.count('outputTokens') ?? 0,
    totalTokens: read.isFalse('totalTokensFresh') ? null : (read.count('totalTokens') ?? null),
  };
}

function joinModel(provider: string | undefined, id: string | undefined): string | null {
  if (id === undefined) return null;
  return provider === undefined ? id : `${provider}/${id}`;
}

function routeFields(
  record: Record<string, unknown>,
  read: Reader,
): Pick<EntryFields, 'lastChannel' | 'lastTo' | 'lastAccountId' | 'lastThreadId'> {
  const context = reader(asRecord(record['deliveryContext']) ?? {}, []);
  return {
    lastChannel: (read.text('lastChannel') ?? context.text('channel'))?.toLowerCase() ?? null,
    lastTo: read.text('lastTo') ?? context.text('to') ?? null,
    lastAccountId: read.text('lastAccountId') ?? context.text('accountId') ?? null,
    lastThreadId: read.text('lastThreadId') ?? context.text('threadId') ?? null,
  };
}

/** The path that an entry may give is of another machine: only a file name of this sessionId counts. */
function transcriptFileOf(sessionId: string, sessionFile: unknown, notes: string[]): string {
  const own = `${sessionId}.jsonl`;
  if (sessionFile === undefined) return own;
  const name = typeof sessionFile === 'string' ? (sessionFile.split(/[/\\]/).at(-1) ?? '') : '';
  if (name === own) return own;
  const isTopic = name.startsWith(`${sessionId}-topic-`) && /^[A-Za-z0-9._-]+\.jsonl$/.test(name);
  if (isTopic) return name;
  notes.push(`its sessionFile is not a transcript of its sessionId; ${own} is read instead`);
  return own;
}

interface Reader {
  text(name: string): string | undefined;
  count(name: string): number | undefined;
  time(name: string): number | undefined;
  isFalse(name: string): boolean;
  oneOf<T extends string>(name: string, words: readonly T[]): T | null;
}

function reader(record: Record<string, unknown>, notes: string[]): Reader {
  const count = (name: string): number | undefined => {
    const value = record[name];
    return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
      ? value
      : undefined;
  };
  return {
    text: (name) => {
      const value = record[name];
      if (typeof value === 'number') return String(value);
      return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;
    },
    count,
    time: count,
    isFalse: (name) => record[name] === false,
    oneOf: (name, words) => {
      const value = record[name];
      if (value === undefined || value === null) return null;
      const word = words.find((known) => known === value);
      if (word === undefined) notes.push(`its ${name} has no counterpart and was left out`);
      return word ?? null;
    },
  };
}

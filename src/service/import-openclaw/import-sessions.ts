/** Takes over the sessions, parents first, each with its transcript in one unit of work. */
import { join } from 'node:path';
import { canonicalKey } from '../../core/keys.ts';
import type { Store } from '../../store/store.ts';
import type { ImportReport } from './import-report.ts';
import { orderLineage } from './order-lineage.ts';
import type { SourceRun } from './parse-runs.ts';
import { parseTranscript } from './parse-transcript.ts';
import type { Transcript } from './parse-transcript.ts';
import { linesOf, readSourceFile } from './source-files.ts';
import type { KeyRules, SourceSession } from './source-session.ts';
import { writeSession } from './write-session.ts';

/** Transcript problems that are told one by one. */
const MAX_PROBLEMS_PER_FILE = 20;

export interface SessionsToImport {
  dir: string;
  rules: KeyRules;
  sessions: readonly SourceSession[];
  runs: readonly SourceRun[];
  report: ImportReport;
}

interface SessionItem {
  key: string;
  session: SourceSession;
  parentKey: string | undefined;
}
type Note = (text: string, line?: number) => void;

/** Writes every session that can be taken and books each in the report. */
export async function importSessions(store: Store, work: SessionsToImport): Promise<void> {
  const requesters = new Map(work.runs.map((run) => [run.childKey, run.requesterKey]));
  const items = work.sessions.map((session) => ({
    key: session.key,
    session,
    parentKey: parentKeyOf(session, work.rules) ?? requesters.get(session.key),
  }));
  const { ordered, looped } = orderLineage(items);
  for (const item of ordered) {
    const note = noteOf(item.session, work.report);
    if (looped.has(item)) note('its line of parents runs in a circle; cut here');
    const parentKey = looped.has(item) ? undefined : item.parentKey;
    await importSession(store, { work, item: { ...item, parentKey }, note });
  }
}

function noteOf(session: SourceSession, { notes }: ImportReport): Note {
  return (text, line) => {
    if (line === undefined)
      notes.push({ file: session.store.file, text: `${session.name}: ${text}` });
    else notes.push({ file: pathOf(session), line, text });
  };
}

async function importSession(
  store: Store,
  { work, item, note }: { work: SessionsToImport; item: SessionItem; note: Note },
): Promise<void> {
  const { dir, rules, report } = work;
  const { session, parentKey } = item;
  const { key, name, fields } = session;
  const { sessionId } = fields;
  const transcript = await readTranscript(dir, session);
  const { entries, startedAt } = transcript;
  const createdAt = session.startedAt ?? startedAt ?? fields.updatedAt;
  const write = { session, parentKey, entries, createdAt, mainKey: rules.mainKey };
  const written = await writeSession(store, write);
  if (written.result === 'already_there') {
    report.sessions.alreadyThere.push({ key, sessionId });
    return;
  }
  for (const text of session.notes) note(text);
  if (written.result === 'left') {
    report.sessions.left.push({ file: session.store.file, name, reason: written.reason });
    return;
  }
  const { agentId, kind } = written.row;
  const messages = entries.filter((entry) => entry.type === 'message').length;
  const otherEntries = entries.length - messages;
  report.sessions.taken.push({ key, agentId, kind, sessionId, messages, otherEntries });
  noteProblems(transcript, note);
}

function parentKeyOf(session: SourceSession, rules: KeyRules): string | undefined {
  if (session.spawnedBy === undefined) return undefined;
  const parent = canonicalKey(session.spawnedBy, { ...rules, agentId: session.agentId });
  return parent.ok && parent.key !== session.key ? parent.key : undefined;
}

function pathOf({ store, transcriptFile }: SourceSession): string {
  return store.file.replace(/sessions\.json$/, transcriptFile);
}

/** A transcript, or none and the reason for it. */
type ReadTranscript = Transcript & { missing?: string };

async function readTranscript(dir: string, session: SourceSession): Promise<ReadTranscript> {
  const file = await readSourceFile(join(dir, pathOf(session)));
  if (file.ok) return parseTranscript(linesOf(file.bytes));
  const missing = `its transcript ${session.transcriptFile} ${file.reason}; taken without messages`;
  return { entries: [], startedAt: undefined, offPath: 0, problems: [], missing };
}

function noteProblems({ problems, offPath, missing }: ReadTranscript, note: Note): void {
  if (missing !== undefined) note(missing);
  for (const { line, text } of problems.slice(0, MAX_PROBLEMS_PER_FILE)) note(text, line);
  const more = problems.length - MAX_PROBLEMS_PER_FILE;
  const last = problems.at(-1);
  if (more > 0 && last) note(`and ${more} more lines with problems`, last.line);
  if (offPath > 0) note(`${offPath} entries of abandoned branches were left out`, 1);
}

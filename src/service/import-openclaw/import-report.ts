/** What an import took, what it left, and why. Holds keys, ids and paths, never content. */
import type { SessionKind } from '../../protocol/words.ts';

export interface ImportReport {
  /** `all`: every session is in the store now (exit 0); `some` were left (3); `none` is there (1) */
  outcome: 'all' | 'some' | 'none';
  /** folder that was read */
  dir: string;
  sessions: {
    taken: TakenSession[];
    /** taken by an earlier import */
    alreadyThere: { key: string; sessionId: string }[];
    left: LeftItem[];
  };
  subagentRuns: { taken: number; alreadyThere: number; left: LeftItem[] };
  /** undefined when the caller named no file to write */
  config: ConfigReport | undefined;
  /** what was taken with a reservation, or not looked at */
  notes: ImportNote[];
}

export interface TakenSession {
  key: string;
  agentId: string;
  kind: SessionKind;
  sessionId: string;
  messages: number;
  /** entries that are kept but are no messages */
  otherEntries: number;
}

export interface LeftItem {
  /** file below the imported folder */
  file: string;
  /** the key, run or option as it was written */
  name: string;
  reason: string;
}

export interface ImportNote {
  file: string;
  /** from 1, for a line of a transcript */
  line?: number;
  text: string;
}

export interface ConfigReport {
  result: 'written' | 'already_there' | 'not_found' | 'unreadable' | 'nothing_understood';
  /** file that was written or is already there */
  path: string | undefined;
  /** true = a configuration was there already, so the result lies beside it and has no effect yet */
  isBeside: boolean;
  /** secrets that were not copied, and the environment variable that replaces each */
  secrets: { path: string; env: string }[];
  /** options without a counterpart, by path */
  left: { path: string; reason: string }[];
  /** why the file is unreadable */
  error: string | undefined;
}

/**
 * Takes over the state folder of an OpenClaw of the older form (`sessions.json` and `<sessionId>.jsonl`).
 * The folder is only read. Each session is one unit of work, so the import can be run again.
 */
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { GatewayError } from '../../protocol/errors.ts';
import type { Store } from '../../store/store.ts';
import type { ImportReport } from './import-report.ts';
import { importRuns, readRuns } from './import-runs.ts';
import { importSessions } from './import-sessions.ts';
import { readStores } from './read-stores.ts';
import type { AgentStore } from './read-stores.ts';
import { asRecord, listSourceFolder } from './source-files.ts';
import { collectSessions } from './source-session.ts';
import type { KeyRules, SourceSession } from './source-session.ts';
import { writeConfig } from './write-config.ts';
import type { ConfigTarget } from './write-config.ts';

export interface ImportOptions {
  /** state folder of the other program, such as `~/.openclaw` */
  dir: string;
  store: Store;
  /** epoch milliseconds */
  now: number;
  /** how keys are read here; undefined = as the imported configuration says */
  keyRules?: KeyRules | undefined;
  /** agents configured here; sessions of others are taken, with a note */
  agentIds?: readonly string[] | undefined;
  /** where the translated configuration goes; undefined = it is not written */
  config?: ConfigTarget | undefined;
}

/** Imports what can be imported and returns what was taken and what was left. Rejects only when `dir` is no folder. */
export async function importOpenClaw(options: ImportOptions): Promise<ImportReport> {
  const dir = await folderOf(options.dir);
  const config = await writeConfig(join(dir, 'openclaw.json'), options.config);
  const rules = options.keyRules ?? keyRulesOf(config.source);
  const found = await readStores(dir);
  const collected = collectSessions(found.stores, { ...rules, now: options.now });
  const runs = await readRuns(dir, rules);
  const report: ImportReport = {
    outcome: 'none',
    dir: options.dir,
    sessions: { taken: [], alreadyThere: [], left: [...found.left, ...collected.left] },
    subagentRuns: { taken: 0, alreadyThere: 0, left: runs.left },
    config: options.config === undefined ? undefined : config.report,
    notes: [...found.notes],
  };
  await importSessions(options.store, { dir, rules, ...collected, runs: runs.runs, report });
  await importRuns(options.store, { runs: runs.runs, report });
  report.notes.push(...restNotes(found.stores, collected.sessions), ...(await unreadNotes(dir)));
  noteUnknownAgents(report, options.agentIds);
  return { ...report, outcome: outcomeOf(report) };
}

async function folderOf(dir: string): Promise<string> {
  const path = await realpath(dir).catch(() => undefined);
  if (path === undefined || (await listSourceFolder(path)) === undefined) {
    throw new GatewayError(
      'invalid_request',
      `${dir} is not a folder that can be read; pass the state folder to import, such as ~/.openclaw`,
    );
  }
  return path;
}

/** The rules of the imported configuration, for a place that has none of its own. */
function keyRulesOf(source: Record<string, unknown>): KeyRules {
  const session = asRecord(source['session']);
  const list = asRecord(source['agents'])?.['list'];
  const agents = (Array.isArray(list) ? (list as unknown[]) : []).map(
    (item) => asRecord(item) ?? {},
  );
  const first = agents.find((agent) => agent['default'] === true) ?? agents[0];
  const mainKey = session?.['mainKey'];
  return {
    mainKey: typeof mainKey === 'string' && mainKey.trim() !== '' ? mainKey : 'main',
    scope: session?.['scope'] === 'global' ? 'global' : 'per-sender',
    defaultAgentId: typeof first?.['id'] === 'string' ? first['id'].trim().toLowerCase() : 'main',
  };
}

/** Transcripts that no session names: archives, and files whose entry is gone. */
function restNotes(
  stores: readonly AgentStore[],
  sessions: readonly SourceSession[],
): ImportReport['notes'] {
  return stores.flatMap((store) => {
    const own = sessions.filter((session) => session.store === store);
    const used = new Set(own.map((session) => session.transcriptFile));
    const rest = store.files.filter((file) => file.includes('.jsonl') && !used.has(file));
    if (rest.length === 0) return [];
    const names = rest.slice(0, 5).join(', ') + (rest.length > 5 ? ', …' : '');
    const text = `${rest.length} transcripts belong to no session that was taken: ${names}`;
    return [{ file: store.folder, text }];
  });
}

async function unreadNotes(dir: string): Promise<ImportReport['notes']> {
  const listing = await listSourceFolder(dir);
  const folders = (listing?.folders ?? []).filter(
    (name) => !['agents', 'subagents'].includes(name),
  );
  if (folders.length === 0) return [];
  return [{ file: '.', text: `not looked at: ${folders.join(', ')}` }];
}

function noteUnknownAgents(report: ImportReport, agentIds: readonly string[] | undefined): void {
  if (agentIds === undefined) return;
  const unknown = new Set(
    report.sessions.taken.map((session) => session.agentId).filter((id) => !agentIds.includes(id)),
  );
  for (const id of unknown) {
    const text = `agent "${id}" is not configured here; add it to agents.list to use its sessions`;
    report.notes.push({ file: `agents/${id}`, text });
  }
}

function outcomeOf({ sessions }: ImportReport): ImportReport['outcome'] {
  if (sessions.taken.length + sessions.alreadyThere.length === 0) return 'none';
  return sessions.left.length === 0 ? 'all' : 'some';
}

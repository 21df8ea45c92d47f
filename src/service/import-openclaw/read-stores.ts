/** Finds every agent's `sessions.json` below the imported folder, and says what is there beside it. */
import { join } from 'node:path';
import { isValidAgentId, normaliseAgentId } from '../../core/keys.ts';
import type { ImportNote, LeftItem } from './import-report.ts';
import { asRecord, listSourceFolder, parseSourceJson, readSourceFile } from './source-files.ts';
import type { SourceStore } from './source-session.ts';

/** A store with the folder that its transcripts are in. */
export interface AgentStore extends SourceStore {
  /** path of the sessions folder below the imported one */
  folder: string;
  /** files in that folder */
  files: string[];
}
export interface FoundStores {
  stores: AgentStore[];
  left: LeftItem[];
  notes: ImportNote[];
}

/** Returns the stores that can be read; a broken one is left with its reason. */
export async function readStores(dir: string): Promise<FoundStores> {
  const found: FoundStores = { stores: [], left: [], notes: [] };
  const agents = await listSourceFolder(join(dir, 'agents'));
  if (agents === undefined) {
    found.notes.push({ file: 'agents', text: 'there is no such folder, so there are no sessions' });
    return found;
  }
  for (const name of agents.links) {
    found.notes.push({ file: `agents/${name}`, text: 'is a symbolic link; not followed' });
  }
  for (const name of agents.folders) {
    if (isValidAgentId(name)) await readAgent(dir, { name, found });
    else found.notes.push({ file: `agents/${name}`, text: 'is not named like an agent; skipped' });
  }
  return found;
}

async function readAgent(
  dir: string,
  { name, found }: { name: string; found: FoundStores },
): Promise<void> {
  const folder = `agents/${name}/sessions`;
  const file = `${folder}/sessions.json`;
  const listing = await listSourceFolder(join(dir, folder));
  const newer = await listSourceFolder(join(dir, 'agents', name, 'agent'));
  if (newer?.files.includes('openclaw-agent.sqlite')) {
    const reason = 'is the newer form (SQLite), which this import does not read yet';
    found.left.push({ file: `agents/${name}/agent/openclaw-agent.sqlite`, name, reason });
  }
  if (listing === undefined) return;
  const content = await readSourceFile(join(dir, file));
  const backups = listing.files.filter((other) => /^sessions\.json\..+/.test(other));
  if (!content.ok && content.isMissing && listing.files.length === 0) return;
  const parsed = content.ok ? parseSourceJson(content.bytes) : content;
  const entries = parsed.ok ? asRecord(parsed.value) : undefined;
  if (entries !== undefined) {
    const agentId = normaliseAgentId(name);
    found.stores.push({ agentId, file, entries, folder, files: listing.files });
    return;
  }
  const reason = parsed.ok ? 'is not a map of sessions' : parsed.reason;
  const hint = backups.length === 0 ? '' : `; beside it lie ${backups.join(', ')}`;
  found.left.push({ file, name: 'sessions.json', reason: `${reason}${hint}` });
}

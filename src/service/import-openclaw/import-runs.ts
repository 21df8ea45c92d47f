/** Takes over who spawned whom for what; the runs themselves are over. */
import { join } from 'node:path';
import { startArchiveClock } from '../archive/archive-clock.ts';
import type { Store } from '../../store/store.ts';
import type { ImportReport, LeftItem } from './import-report.ts';
import { parseRuns } from './parse-runs.ts';
import type { SourceRun } from './parse-runs.ts';
import { listSourceFolder, parseSourceJson, readSourceFile } from './source-files.ts';
import type { KeyRules } from './source-session.ts';

const RUNS_FILE = 'subagents/runs.json';

/** Returns the runs that name a child and a requester; a file that is not there holds none. */
export async function readRuns(
  dir: string,
  rules: KeyRules,
): Promise<{ runs: SourceRun[]; left: LeftItem[] }> {
  // A link in place of the folder is not followed either.
  if ((await listSourceFolder(join(dir, 'subagents'))) === undefined) return { runs: [], left: [] };
  const file = await readSourceFile(join(dir, RUNS_FILE));
  if (!file.ok && file.isMissing) return { runs: [], left: [] };
  const parsed = file.ok ? parseSourceJson(file.bytes) : file;
  if (parsed.ok) return parseRuns(parsed.value, { file: RUNS_FILE, rules });
  return { runs: [], left: [{ file: RUNS_FILE, name: 'runs.json', reason: parsed.reason }] };
}

/** Writes the runs whose child session is here. */
export async function importRuns(
  store: Store,
  { runs, report }: { runs: readonly SourceRun[]; report: ImportReport },
): Promise<void> {
  for (const { hasEnded, ...spawn } of runs) {
    const result = await store.write('import-subagent-run', async (tx) => {
      if ((await tx.spawns.get(spawn.childKey)) !== undefined) return 'already_there';
      const child = await tx.sessions.get(spawn.childKey);
      if (child?.spawnedBy !== spawn.requesterKey) return 'no_child';
      // A21: the clock of an imported sub-agent starts at the import.
      const settled = { ...spawn, state: 'settled', settledAt: tx.now } as const;
      await tx.spawns.insert(settled);
      // what is to be deleted has its time here too: it was just asked for
      await startArchiveClock(tx, { ...settled, cleanup: 'keep' });
      return 'taken';
    });
    const item = { file: RUNS_FILE, name: spawn.runId };
    if (result === 'already_there') report.subagentRuns.alreadyThere += 1;
    else if (result === 'no_child') {
      const reason = `no session ${spawn.childKey} spawned by ${spawn.requesterKey} is here`;
      report.subagentRuns.left.push({ ...item, reason });
    } else {
      report.subagentRuns.taken += 1;
      if (!hasEnded) {
        const text = `run ${spawn.runId} had not ended; its session is here, the run is not continued`;
        report.notes.push({ file: RUNS_FILE, text });
      }
    }
  }
}

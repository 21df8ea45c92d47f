/** Comparing every transcript file with its transcript, line by line. */
import { readFile } from 'node:fs/promises';
import type { SessionCursor } from '../../store/session-repository.ts';
import type { ServiceContext } from '../context.ts';
import { mirroredWindow } from './create-mirror.ts';
import { type MirroredWindow, rewriteWindow } from './flush-window.ts';
import { entryLine, sessionIdOf } from './mirror-line.ts';

const PAGE = 200;

export interface MirrorFindings {
  /** keys of the sessions whose transcript file is not there, or is empty */
  missing: string[];
  /** whose file ends too early or is torn */
  behind: string[];
  /** whose file says something else */
  different: string[];
}

/** Returns whose files are not what the database says; with `fix` these are written anew, the old ones kept aside. */
export async function examineMirror(
  context: Pick<ServiceContext, 'store' | 'config' | 'stateDir' | 'clock'>,
  { fix }: { fix: boolean },
): Promise<MirrorFindings> {
  const findings: MirrorFindings = { missing: [], behind: [], different: [] };
  const stamp = new Date(context.clock.now()).toISOString().replaceAll(':', '-');
  for (const archived of [false, true]) {
    let cursor: SessionCursor | undefined;
    do {
      const { targets, next } = await targetsAfter(context, { archived, cursor });
      for (const { key, target } of targets) {
        const result = await compareFile(context.store, target);
        if (result === 'same') continue;
        findings[result].push(key);
        if (fix) await rewriteWindow(context.store, target, { stamp });
      }
      cursor = next;
    } while (cursor !== undefined);
  }
  return findings;
}

function targetsAfter(
  context: Pick<ServiceContext, 'store' | 'config' | 'stateDir'>,
  query: { archived: boolean; cursor: SessionCursor | undefined },
): Promise<{
  targets: { key: string; target: MirroredWindow }[];
  next: SessionCursor | undefined;
}> {
  return context.store.read(async (tx) => {
    const rows = await tx.sessions.scan({ scope: { type: 'everything' }, ...query, limit: PAGE });
    const targets = [];
    for (const { key, sessionId, agentId } of rows) {
      const window = await tx.windows.get(sessionId);
      if (window === undefined || window.nextSeq === 1) continue;
      targets.push({ key, target: mirroredWindow(context, { window, agentId }) });
    }
    return { targets, next: rows.length === PAGE ? rows.at(-1) : undefined };
  });
}

async function compareFile(
  store: ServiceContext['store'],
  { window, path }: MirroredWindow,
): Promise<'same' | keyof MirrorFindings> {
  const text = await readFile(path, 'utf8').catch(() => '');
  if (text === '') return 'missing';
  // behind the last line feed stands nothing, or a torn line
  const lines = text.split('\n');
  const torn = lines.pop();
  if (sessionIdOf(lines[0] ?? '') !== window.sessionId) return 'different';
  const { sessionId } = window;
  let at = 1;
  for (let afterSeq = 0; ;) {
    const entries = await store.read((tx) => tx.entries.page({ sessionId, afterSeq, limit: PAGE }));
    const last = entries.at(-1);
    if (last === undefined) break;
    for (const entry of entries) {
      if (at >= lines.length) return 'behind';
      if (lines[at] !== entryLine(entry)) return 'different';
      at += 1;
    }
    afterSeq = last.seq;
  }
  if (lines.length > at) return 'different';
  return torn === '' ? 'same' : 'behind';
}

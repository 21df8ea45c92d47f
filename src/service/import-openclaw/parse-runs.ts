/** `subagents/runs.json`: who spawned which session for what. */
import { canonicalKey, parseKey } from '../../core/keys.ts';
import type { SpawnRow } from '../../store/follow-up-repository.ts';
import type { Route } from '../../protocol/words.ts';
import type { LeftItem } from './import-report.ts';
import type { KeyRules } from './source-session.ts';
import { asRecord } from './source-files.ts';

/** What a run record says about a spawn; the import adds when it was settled. */
export type SourceRun = Omit<SpawnRow, 'state' | 'settledAt'> & { hasEnded: boolean };

/** Returns the first run of each child; later runs of the same child change nothing. */
export function parseRuns(
  value: unknown,
  options: { file: string; rules: KeyRules },
): { runs: SourceRun[]; left: LeftItem[] } {
  const records = asRecord(asRecord(value)?.['runs']);
  const { file } = options;
  if (records === undefined) {
    return { runs: [], left: [{ file, name: 'runs', reason: 'is not a map of runs' }] };
  }
  const left: LeftItem[] = [];
  const first = new Map<string, SourceRun>();
  for (const [name, record] of Object.entries(records)) {
    const run = parseRun(name, { record: asRecord(record) ?? {}, rules: options.rules });
    if (run === undefined) {
      left.push({ file, name, reason: 'names no usable child and requester session' });
      continue;
    }
    const other = first.get(run.childKey);
    if (other === undefined || run.createdAt < other.createdAt) first.set(run.childKey, run);
  }
  return { runs: [...first.values()], left };
}

function parseRun(
  runId: string,
  { record, rules }: { record: Record<string, unknown>; rules: KeyRules },
): SourceRun | undefined {
  const child = readKey(record['childSessionKey'], { ...rules, agentId: rules.defaultAgentId });
  if (child === undefined) return undefined;
  const agentId = parseKey(child).agentId ?? rules.defaultAgentId;
  const requester = readKey(record['requesterSessionKey'], { ...rules, agentId });
  if (requester === undefined || requester === child) return undefined;
  const createdAt = numberOf(record['createdAt']) ?? numberOf(record['startedAt']) ?? 0;
  const archiveAt = numberOf(record['archiveAtMs']);
  const route = routeOf(asRecord(record['requesterOrigin']));
  return {
    childKey: child,
    runId,
    requesterKey: requester,
    requesterRunId: null,
    task: typeof record['task'] === 'string' ? record['task'] : '',
    label: typeof record['label'] === 'string' ? record['label'] : null,
    cleanup: record['cleanup'] === 'delete' ? 'delete' : 'keep',
    announceMode: 'post',
    archiveAfterMinutes:
      archiveAt === undefined ? 0 : Math.max(0, Math.round((archiveAt - createdAt) / 60_000)),
    routeJson: route === undefined ? null : JSON.stringify(route),
    attachAsJson: null,
    createdAt,
    hasEnded: numberOf(record['endedAt']) !== undefined,
  };
}

function readKey(text: unknown, options: KeyRules & { agentId: string }): string | undefined {
  if (typeof text !== 'string') return undefined;
  const canonical = canonicalKey(text, options);
  return canonical.ok ? canonical.key : undefined;
}

function routeOf(origin: Record<string, unknown> | undefined): Route | undefined {
  const text = (name: string): string | undefined => {
    const value = origin?.[name];
    if (typeof value === 'number') return String(value);
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const channel = text('channel');
  if (channel === undefined) return undefined;
  const names = ['to', 'accountId', 'threadId'] as const;
  const rest = names.flatMap((name) => {
    const value = text(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  return { channel: channel.toLowerCase(), ...Object.fromEntries(rest) };
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

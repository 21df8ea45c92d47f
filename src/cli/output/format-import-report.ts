import type { ConfigReport, ImportReport } from '../../service/import-openclaw/import-report.ts';
import { formatTable } from './format-table.ts';
import { printable } from './printable.ts';

/** Returns the report for a person: what was taken, what was left and why. */
export function formatImportReport(report: ImportReport): string[] {
  const { sessions, subagentRuns, config, notes } = report;
  const lines = formatTable(sessions.taken, [
    { title: 'SESSION', value: (session) => session.key },
    { title: 'KIND', value: (session) => session.kind },
    { title: 'MESSAGES', value: (session) => String(session.messages), align: 'right' },
  ]);
  const counts = [
    `${sessions.taken.length} sessions taken`,
    ...(sessions.alreadyThere.length > 0 ? [`${sessions.alreadyThere.length} already there`] : []),
    `${sessions.left.length} left`,
  ];
  return [
    ...(sessions.taken.length > 0 ? [...lines, ''] : []),
    counts.join(', '),
    ...leftLines(sessions.left),
    `${subagentRuns.taken} sub-agent runs taken, ${subagentRuns.left.length} left`,
    ...leftLines(subagentRuns.left),
    ...(config === undefined ? [] : configLines(config)),
    ...notes.map(({ file, line, text }) => {
      const place = line === undefined ? file : `${file}:${line}`;
      return `  note: ${printable(`${place}: ${text}`)}`;
    }),
  ];
}

function leftLines(left: ImportReport['sessions']['left']): string[] {
  return left.map(
    ({ file, name, reason }) => `  left: ${printable(`${name} (${file}): ${reason}`)}`,
  );
}

const CONFIG_TEXTS: Readonly<Record<ConfigReport['result'], string>> = {
  written: 'written',
  already_there: 'already written by an earlier import',
  not_found: 'none found',
  unreadable: 'cannot be read',
  nothing_understood: 'nothing in it has a counterpart here',
};

function configLines({ result, path, isBeside, secrets, left, error }: ConfigReport): string[] {
  const where = path === undefined ? '' : `: ${path}`;
  return [
    printable(
      `configuration ${CONFIG_TEXTS[result]}${where}${error === undefined ? '' : ` (${error})`}`,
    ),
    ...(isBeside ? ['  it lies beside your own, which is unchanged; merge what you want'] : []),
    ...secrets.map((secret) => `  set ${secret.env} for ${printable(secret.path)}`),
    ...left.map((option) => `  left: ${printable(`${option.path}: ${option.reason}`)}`),
  ];
}

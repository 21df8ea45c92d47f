import type { AcceptanceFigures } from './acceptance-figures.ts';
import type { FanOutFigures } from './fan-out-figures.ts';
import type { ListFigures } from './list-figures.ts';
import type { SearchFigures } from './search-figures.ts';
import type { SendFigures } from './send-figures.ts';
import type { StartFigures } from './start-figures.ts';
import type { Spread } from './statistics.ts';
import type { TranscriptFigures } from './transcript-figures.ts';

/** All that one run of the bench has measured. */
export interface Figures {
  measuredAt: string;
  machine: { cores: number; node: string; platform: string };
  start: StartFigures;
  list: ListFigures[];
  send: { scripted: SendFigures; model: SendFigures };
  acceptance: AcceptanceFigures;
  transcript: TranscriptFigures;
  fanOut: FanOutFigures;
}

type Row = readonly [what: string, figure: Spread, unit: string, goal?: string];

/** Returns the figures as a table of lines: median, spread over the repeats, goal. */
export function formatFigures(figures: Figures): string {
  const rows = [
    ...startRows(figures.start),
    ...figures.list.flatMap(listRows),
    ...sendRows('scripted', figures.send.scripted),
    ...sendRows('instant model', figures.send.model),
    ...acceptanceRows(figures.acceptance),
    ...transcriptRows(figures.transcript),
    ...fanOutRows(figures.fanOut),
  ];
  return formatRows(rows);
}

/** Returns the figures of searches: what each takes, and how long the event loop waits meanwhile. */
export function formatSearch(figures: SearchFigures): string {
  const { messages, fillSeconds, queries, groupCommit, append } = figures;
  const filled: Spread = { median: fillSeconds, low: fillSeconds, high: fillSeconds };
  return formatRows([
    [`6  index of ${messages.toLocaleString('en')} messages, filled in`, filled, 's'],
    ...queries.flatMap(({ what, hits, p50, p95, loopDelay }): Row[] => [
      [`6  ${what} (${hits} hits), p50`, p50, 'ms'],
      ['   p95', p95, 'ms'],
      ['   longest delay of the event loop', loopDelay, 'ms'],
    ]),
    ['6  a group commit holds the event loop', groupCommit, 'ms'],
    ['6  a message appended with the index', append.indexed, 'µs'],
    ['   without', append.plain, 'µs'],
  ]);
}

function formatRows(rows: readonly Row[]): string {
  const head = `\n${'figure'.padEnd(52)}${'median'.padStart(10)}  ${'low – high'.padEnd(20)}goal`;
  return [head, ...rows.map(formatRow)].join('\n');
}

function formatRow([what, { median, low, high }, unit, goal = '']: Row): string {
  const shown = `${compact(median)} ${unit}`;
  return `${what.padEnd(52)}${shown.padStart(10)}  ${`${compact(low)} – ${compact(high)}`.padEnd(20)}${goal}`.trimEnd();
}

/** Three figures are as many as a repeat keeps. */
function compact(value: number): string {
  return String(value >= 100 ? Math.round(value) : Number(value.toPrecision(3)));
}

function startRows({ startToReadyMs, bareNodeMs, idleMemoryMb }: StartFigures): Row[] {
  return [
    ['1  start to ready', startToReadyMs, 'ms', '400'],
    ['   a Node that does nothing, start to end', bareNodeMs, 'ms'],
    ['2  memory idle', idleMemoryMb, 'MB', '90'],
  ];
}

function listRows(list: ListFigures): Row[] {
  const of = `3  sessions_list p50, ${list.sessions.toLocaleString('en')} sessions`;
  return [
    [`${of}, service`, list.service, 'ms'],
    [`${of}, last page`, list.serviceDeepPage, 'ms'],
    [`${of}, WebSocket`, list.webSocket, 'ms'],
  ];
}

function sendRows(runtime: string, { fresh, warm, bareCommit }: SendFigures): Row[] {
  return [
    [`4  sessions_send p50, ${runtime}, fresh`, fresh.p50, 'ms'],
    [`4  sessions_send p50, ${runtime}, warm`, warm.p50, 'ms', '5'],
    [`4  sessions_send p95, ${runtime}, warm`, warm.p95, 'ms'],
    ['   one bare commit meanwhile (a send waits for three)', bareCommit, 'ms'],
  ];
}

function acceptanceRows(acceptance: AcceptanceFigures): Row[] {
  return [
    [`5  accepted by ${acceptance.callers} callers, service`, acceptance.servicePerSecond, '/s'],
    ['5  bare loop, the same rows in groups of 32', acceptance.bareLoopPerSecond, '/s'],
    ['5  service over bare loop', acceptance.ratio, '', '0.5'],
    ['5  accepted through WebSocket', acceptance.webSocketPerSecond, '/s'],
  ];
}

function transcriptRows({ messages, history, context }: TranscriptFigures): Row[] {
  const of = `   ${messages.toLocaleString('en')} messages:`;
  return [
    [`${of} sessions_history, newest 50`, history, 'ms'],
    [`${of} the whole context`, context, 'ms'],
  ];
}

function fanOutRows({ children, list, loopDelay }: FanOutFigures): Row[] {
  return [
    [`   ${children} children at work: sessions_list p95`, list, 'ms', '250'],
    ['   the event loop late, p99', loopDelay, 'ms', '100'],
  ];
}

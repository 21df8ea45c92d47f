/**
 * `npm run chaos -- [--kills N] [--seed S] [--seconds N] [--interleavings N] [--break NAME] [--keep]`:
 * kills a gateway at work again and again, and says what became of everything it had accepted.
 */
import { parseArgs } from 'node:util';
import { type Break, BREAKS, POSTGRES_BREAKS } from './breaks.ts';
import { type CampaignReport, runCampaign } from './campaign.ts';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '20' },
    seed: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '120' },
    break: { type: 'string' },
    keep: { type: 'boolean', default: false },
  },
});
const print = (line: string): void => void process.stdout.write(`${line}\n`);

const broken = parseBreak(values.break);
const report = await runCampaign({
  kills: parseCount('kills', values.kills),
  seed: parseCount('seed', values.seed),
  seconds: parseCount('seconds', values.seconds),
  broken,
  keep: values.keep,
  onProgress: print,
});
printReport(report);
const isClean = report.lost + report.doubled + report.open + report.wrong === 0;
// With a safeguard switched off, finding nothing is the failure.
process.exitCode = isClean === (broken === undefined) ? 0 : 1;

function parseCount(name: string, text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 0) return count;
  throw new Error(`--${name} needs a whole number of 0 or more, not ${text}`);
}

function parseBreak(name: string | undefined): Break | undefined {
  if (name === undefined) return undefined;
  const known = BREAKS.find((known) => known === name);
  if (known !== undefined) return known;
  const isLater = POSTGRES_BREAKS.some((later) => later === name);
  throw new Error(
    isLater
      ? `--break ${name} needs two gateways on one Postgres; this campaign runs on SQLite`
      : `--break ${name} is not known; there are ${BREAKS.join(', ')}`,
  );
}

function printReport({ problems, counts, ...report }: CampaignReport): void {
  for (const { kind, what } of problems.slice(0, 40)) print(`${kind}: ${what}`);
  if (problems.length > 40) print(`… and ${problems.length - 40} more`);
  if (report.folder !== undefined) print(`kept in ${report.folder}`);
  const details = Object.entries(counts).map(([name, count]) => `${count} ${name}`);
  print(details.join(', '));
  print(
    `seed ${report.seed}, ${report.kills} kills, ${report.accepted} accepted items, ${Math.round(report.ms / 1000)} s`,
  );
  print(
    `${report.lost} lost, ${report.doubled} doubled, ${report.open} without outcome, ${report.wrong} contradictions`,
  );
}

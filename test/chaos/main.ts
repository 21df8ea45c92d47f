/**
 * `npm run chaos -- [--kills N] [--seed S] [--seconds N] [--jobs N] [--interleavings N] [--break NAME] [--keep]`:
 * kills a gateway at work again and again, and says what became of everything it had accepted. Then
 * lets agents send to each other with waits, and says whether one hung.
 */
import { parseArgs } from 'node:util';
import { makeStateDir } from '../helpers/gateway-process.ts';
import { databaseOf, openGateway } from '../helpers/open-gateway.ts';
import { type Break, BREAKS, POSTGRES_BREAKS } from './breaks.ts';
import { type CampaignReport, runCampaign } from './campaign.ts';
import { INTERLEAVING_CONFIG, playInterleavings } from './interleavings.ts';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '20' },
    seed: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '120' },
    jobs: { type: 'string', default: '0' },
    interleavings: { type: 'string', default: '50' },
    break: { type: 'string' },
    keep: { type: 'boolean', default: false },
  },
});
/** problems that are told one by one */
const MAX_PRINTED = 40;
const print = (line: string): void => void process.stdout.write(`${line}\n`);

const broken = parseBreak(values.break);
const seed = parseCount('seed', values.seed);
const [kills, interleavings] = [
  parseCount('kills', values.kills),
  parseCount('interleavings', values.interleavings),
];
let found = 0;
if (kills > 0) {
  const report = await runCampaign({
    kills,
    seed,
    seconds: parseCount('seconds', values.seconds),
    jobs: parseCount('jobs', values.jobs),
    broken,
    keep: values.keep,
    onProgress: print,
  });
  printReport(report);
  found = report.problems.length;
}
if (interleavings > 0 && broken === undefined) found += await interleave(interleavings);
// With a safeguard switched off, finding nothing is the failure.
process.exitCode = (found === 0) === (broken === undefined) ? 0 : 1;

/** Plays the interleavings in a gateway of this process, and returns how many problems there were. */
async function interleave(count: number): Promise<number> {
  const cleanups: (() => unknown)[] = [];
  const life = { after: (cleanup: () => unknown) => void cleanups.push(cleanup) };
  try {
    const stateDir = makeStateDir(life, { config: INTERLEAVING_CONFIG });
    const { client } = await openGateway(life, stateDir);
    const options = { client, database: databaseOf(stateDir), seed, count, atOnce: 8 };
    const { problems, sends, refused, cycles } = await playInterleavings(options);
    for (const problem of problems.slice(0, MAX_PRINTED)) print(problem);
    const lengths = Object.entries(cycles).map(([length, times]) => `${times} of ${length} lanes`);
    print(
      `seed ${seed}, ${count} interleavings, ${sends} sends with a wait, ${refused} refused for a cycle (${lengths.join(', ')})`,
    );
    print(`${problems.length} hung or were refused for a cycle that was none`);
    return problems.length;
  } finally {
    for (const cleanup of cleanups.reverse()) await cleanup();
  }
}

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
  for (const { kind, what } of problems.slice(0, MAX_PRINTED)) print(`${kind}: ${what}`);
  if (problems.length > MAX_PRINTED) print(`… and ${problems.length - MAX_PRINTED} more`);
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

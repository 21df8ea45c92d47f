/**
 * `npm run chaos -- [--store sqlite|postgres] [--kills N] [--pauses N] [--seed S] [--seconds N] [--jobs N]
 * [--interleavings N] [--break NAME] [--keep]`: kills a gateway at work again and again, on Postgres one of
 * two, and says what became of everything that was accepted. Then lets agents send to each other with
 * waits, and says whether one hung.
 */
import { parseArgs } from 'node:util';
import { makeStateDir } from '../helpers/gateway-process.ts';
import { databaseOf, openGateway } from '../helpers/open-gateway.ts';
import { type Break, BREAKS } from './breaks.ts';
import { type CampaignReport, runCampaign, storeOfBreak } from './campaign.ts';
import type { StoreKind } from './chaos-world.ts';
import { INTERLEAVING_CONFIG, playInterleavings } from './interleavings.ts';

const { values } = parseArgs({
  options: {
    store: { type: 'string' },
    kills: { type: 'string', default: '20' },
    pauses: { type: 'string' },
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
const store = parseStore(values.store, broken);
const seed = parseCount('seed', values.seed);
const pauses = values.pauses === undefined ? undefined : parseCount('pauses', values.pauses);
const [kills, interleavings] = [
  parseCount('kills', values.kills),
  parseCount('interleavings', values.interleavings),
];
let found = 0;
if (kills + (pauses ?? 0) > 0) {
  const report = await runCampaign({
    store,
    kills,
    pauses,
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
  throw new Error(`--break ${name} is not known; there are ${BREAKS.join(', ')}`);
}

/** A safeguard may be one that a single gateway does without. */
function parseStore(name: string | undefined, broken: Break | undefined): StoreKind {
  const needed = broken === undefined ? undefined : storeOfBreak(broken);
  if (name === undefined) return needed ?? 'sqlite';
  if (name !== 'sqlite' && name !== 'postgres')
    throw new Error(`--store ${name} is not known; there are sqlite, postgres`);
  if (needed === 'postgres' && name === 'sqlite')
    throw new Error(`--break ${broken} needs two gateways on one database: --store postgres`);
  return name;
}

function printReport({ problems, counts, ...report }: CampaignReport): void {
  for (const { kind, what } of problems.slice(0, MAX_PRINTED)) print(`${kind}: ${what}`);
  if (problems.length > MAX_PRINTED) print(`… and ${problems.length - MAX_PRINTED} more`);
  if (report.folder !== undefined) print(`kept in ${report.folder}`);
  const details = Object.entries(counts).map(([name, count]) => `${count} ${name}`);
  print(details.join(', '));
  print(
    `seed ${report.seed}, ${report.kills} kills, ${report.drains} orderly stops, ${report.pauses} pauses, ${report.accepted} accepted items, ${Math.round(report.ms / 1000)} s`,
  );
  print(
    `${report.lost} lost, ${report.doubled} doubled, ${report.open} without outcome, ${report.wrong} contradictions`,
  );
}

/**
 * `npm run fuzz -- [--seed S] [--inputs N] [--grammar NAME]`: feeds N generated inputs to each grammar, or
 * to one, and says what broke a rule, shrunk, with the command that repeats it.
 */
import { parseArgs } from 'node:util';
import { GRAMMAR_NAMES, type GrammarName } from './grammar.ts';
import { type FuzzReport, runFuzz } from './run-fuzz.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    inputs: { type: 'string', default: '50000' },
    grammar: { type: 'string' },
  },
});
const print = (line: string): void => void process.stdout.write(`${line}\n`);

const seed = parseCount('seed', values.seed ?? String(Date.now() % 2 ** 31));
const inputs = parseCount('inputs', values.inputs);
print(`seed ${seed}`);
for (const grammar of chosen(values.grammar)) {
  const report = await runFuzz({ grammar, seed, inputs });
  printReport(grammar, report);
  if (report.failure !== undefined) process.exitCode = 1;
}

function chosen(name: string | undefined): readonly GrammarName[] {
  if (name === undefined) return GRAMMAR_NAMES;
  const known = GRAMMAR_NAMES.find((known) => known === name);
  if (known !== undefined) return [known];
  throw new Error(`--grammar ${name} is not known; there are ${GRAMMAR_NAMES.join(', ')}`);
}

function parseCount(name: string, text: string): number {
  const count = Number(text);
  if (Number.isInteger(count) && count >= 0) return count;
  throw new Error(`--${name} needs a whole number of 0 or more, not ${text}`);
}

function printReport(grammar: GrammarName, report: FuzzReport): void {
  const { failure, ms, heapMb } = report;
  const rate = Math.round((report.inputs / ms) * 1000);
  print(
    `${grammar}: ${report.inputs} inputs, ${Math.round(ms / 1000)} s, ${rate}/s, heap ${heapMb} MiB`,
  );
  if (failure === undefined) return;
  print(
    `  breaks a rule: ${failure.error instanceof Error ? failure.error.stack : String(failure.error)}`,
  );
  print(`  input: ${JSON.stringify(failure.input)}`);
  print(`  again: ${failure.command}`);
}

/**
 * What is promised in words is held by a test: every rule of SPEC.md and every field case of
 * docs/field-cases.md stands in a test title, and no title names one that is not there;
 * docs/errors.md lists exactly the codes of the program.
 */
import { isTestFile, lineOf } from './source-files.ts';
import type { Finding, SourceFiles } from './source-files.ts';

export interface SpecTexts {
  /** SPEC.md: rules are lines such as `- **SS7** …` */
  spec: string | undefined;
  /** docs/field-cases.md: one row or line per `BR-nnn` */
  fieldCases: string | undefined;
  /** docs/security.md: the last column of the table of attacks has the rules and cases that hold a row */
  security: string | undefined;
  /** docs/errors.md: one row per code, in backticks, first column */
  errors: string | undefined;
  errorCodes: readonly string[];
}

interface Place {
  file: string;
  line: number;
}

/** Returns what is promised without a test, and what is tested without being written down. */
export function checkSpec(files: SourceFiles, texts: SpecTexts): Finding[] {
  const titles = idsInTitles(files);
  const inTitles = new Map([...titles].filter(([id]) => !isFieldCase(id)));
  const casesInTitles = new Map([...titles].filter(([id]) => isFieldCase(id)));
  return [
    ...compare({
      file: 'SPEC.md',
      text: texts.spec,
      written: idsIn(texts.spec, /^\s*- \*\*([A-Z]{1,3}\d+[a-z]?)\*\*/gm),
      tested: inTitles,
      noun: 'rule',
    }),
    ...compare({
      file: 'docs/field-cases.md',
      text: texts.fieldCases,
      written: idsIn(texts.fieldCases, /^[-|*\s`]*\[?(BR-\d+)/gm),
      tested: casesInTitles,
      noun: 'field case',
    }),
    ...checkSecurity(texts, titles),
    ...checkErrors(texts),
  ];
}

/** Each class of attack is held by at least one test; each test that it names is there. */
function checkSecurity({ security }: SpecTexts, titles: ReadonlyMap<string, Place>): Finding[] {
  const file = 'docs/security.md';
  if (security === undefined) return [{ file, message: 'is missing; say what holds each attack' }];
  const [, below = ''] = security.split(/^\| class \|.*$/m);
  const [table = ''] = below.split(/^## /m);
  const rows = [...table.matchAll(/^\|([^|]*)\|.*\|([^|]*)\|$/gm)].slice(1);
  return rows.flatMap(([, kind = '', holders = '']) => {
    const ids = holders.split(',').map((id) => id.trim());
    return ids
      .filter((id) => !titles.has(id))
      .map((id) => ({
        file,
        message: `"${kind.trim()}" is held by ${id === '' ? 'nothing' : id}, which stands in no test title`,
      }));
  });
}

/** Titles start with their ids in brackets: `[SS7] …`, `[SS7, BR-017] …`. Case tables count too. */
function idsInTitles(files: SourceFiles): Map<string, Place> {
  const places = new Map<string, Place>();
  for (const [file, text] of files) {
    if (!isTestFile(file)) continue;
    for (const match of text.matchAll(
      /['"`]\[([A-Z]{1,3}-?\d+[a-z]?(?:,\s*[A-Z]{1,3}-?\d+[a-z]?)*)\]/g,
    )) {
      for (const id of (match[1] ?? '').split(/,\s*/)) {
        if (!places.has(id)) places.set(id, { file, line: lineOf(text, match.index) });
      }
    }
  }
  return places;
}

function idsIn(text: string | undefined, pattern: RegExp): Map<string, number> {
  const ids = new Map<string, number>();
  for (const match of (text ?? '').matchAll(pattern)) {
    const id = match[1];
    if (id !== undefined) ids.set(id, lineOf(text ?? '', match.index + match[0].length));
  }
  return ids;
}

interface Comparison {
  file: string;
  text: string | undefined;
  written: Map<string, number>;
  tested: Map<string, Place>;
  noun: string;
}

function compare({ file, text, written, tested, noun }: Comparison): Finding[] {
  if (text === undefined) return [{ file, message: 'is missing; write it' }];
  const untested = [...written].filter(([id]) => !tested.has(id));
  const unwritten = [...tested].filter(([id]) => !written.has(id));
  return [
    ...untested.map(([id, line]) => ({
      file,
      line,
      message: `${noun} ${id} stands in no test title; start a title with [${id}]`,
    })),
    ...unwritten.map(([id, place]) => ({
      ...place,
      message: `the title names ${noun} ${id}, which ${file} does not have; add or correct it`,
    })),
  ];
}

function checkErrors({ errors, errorCodes }: SpecTexts): Finding[] {
  const file = 'docs/errors.md';
  if (errors === undefined) return [{ file, message: 'is missing; list every error code' }];
  const written = idsIn(errors, /^\|\s*`([a-z_]+)`/gm);
  return [
    ...errorCodes
      .filter((code) => !written.has(code))
      .map((code) => ({ file, message: `lacks the code \`${code}\`; add its row` })),
    ...[...written]
      .filter(([code]) => !errorCodes.includes(code))
      .map(([code, line]) => ({ file, line, message: `\`${code}\` is no code; take it out` })),
  ];
}

function isFieldCase(id: string): boolean {
  return id.startsWith('BR-');
}

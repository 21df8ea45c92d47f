/**
 * The layer rule: a folder of `src/` imports itself and folders with a lower number; folders with
 * the same number never import each other; an implementation folder is imported by `app/` and by
 * tests only; no cycles, no barrels, nothing imports a test. Type-only imports count.
 */
import { dirname, join } from 'node:path/posix';
import { isTestFile, lineOf } from './source-files.ts';
import type { Finding, SourceFiles } from './source-files.ts';

const LAYERS: Readonly<Record<string, number>> = {
  util: 0,
  protocol: 1,
  core: 2,
  store: 3,
  agent: 3,
  channels: 3,
  client: 3,
  config: 4,
  service: 4,
  gateway: 5,
  tools: 5,
  mcp: 5,
  hooks: 5,
  app: 6,
  cli: 7,
};
/** Their sub-folders hold implementations; everybody else sees the interface file beside them. */
const HAVE_IMPLEMENTATIONS = ['store', 'agent', 'channels'];
/** Implementations that others of their folder are made of. */
const SHARED_BY: Readonly<Record<string, readonly string[]>> = {
  'store/sql': ['store/sqlite', 'store/postgres'],
};
const WEB_MAY_IMPORT = ['protocol', 'client', 'util'];
const LONG_FILE_LINES = 400;
const VAGUE_NAME = /(^|[/-])(utils?|helpers?|common|manager|misc)\.ts$/;

interface Import {
  from: string;
  to: string;
  line: number;
}

/** Returns what breaks the layer rule, in file order. */
export function checkLayers(files: SourceFiles): Finding[] {
  const imports = [...files].flatMap(([path, text]) => importsOf(path, text));
  return [
    ...[...files.keys()].flatMap(checkPlace),
    ...[...files].flatMap(([path, text]) => checkBarrel(path, text)),
    ...imports.flatMap((one) => checkImport(one, files)),
    ...findCycles(imports),
  ];
}

/** Returns files that are longer than a reader likes. Said, not failed: 600 lines is the hard limit. */
export function findLongFiles(files: SourceFiles): Finding[] {
  return [...files].flatMap(([file, text]) => {
    const lines = text.split('\n').length;
    if (lines <= LONG_FILE_LINES || isTestFile(file)) return [];
    return [{ file, message: `${lines} lines; split it by noun or stage before it reaches 600` }];
  });
}

function importsOf(from: string, text: string): Import[] {
  // Comments may show an import as an example; their length is kept so that lines stay right.
  const code = text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, (comment) =>
    comment.replace(/[^\n]/g, ' '),
  );
  const pattern =
    /^(?:import|export)\b[^;'"`]*?\bfrom\s*['"]([^'"]+)['"]|^import\s*['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]/gm;
  return [...code.matchAll(pattern)].flatMap((match) => {
    const specifier = match[1] ?? match[2] ?? match[3] ?? '';
    if (!specifier.startsWith('.')) return [];
    const to = join(dirname(from), specifier);
    return [{ from, to, line: lineOf(code, match.index) }];
  });
}

function checkPlace(file: string): Finding[] {
  if (VAGUE_NAME.test(file)) {
    return [
      { file, message: 'name the file after what it does, not `utils`, `helpers`, `common`' },
    ];
  }
  if (!file.startsWith('src/') || file === 'src/index.ts') return [];
  const folder = folderOf(file);
  if (folder === undefined || LAYERS[folder] === undefined) {
    return [{ file, message: 'is in no layer; put it in a folder that the layer table names' }];
  }
  return [];
}

function checkBarrel(file: string, text: string): Finding[] {
  if (!file.startsWith('src/') || file === 'src/index.ts') return [];
  const star = /^export \* (?:as \w+ )?from/m.exec(text);
  if (!file.endsWith('/index.ts') && star === null) return [];
  const line = star === null ? 1 : lineOf(text, star.index);
  return [{ file, line, message: 'is a barrel; import each name from the file that defines it' }];
}

function checkImport(one: Import, files: SourceFiles): Finding[] {
  const { from: file, to, line } = one;
  const found = (message: string): Finding[] => [{ file, line, message }];
  if (!/\.[a-z]+$/.test(to)) return found(`import ${to} needs its file ending`);
  if (to.endsWith('.ts') && isSource(to) && !files.has(to)) {
    return found(`imports ${to}, which is not there`);
  }
  if (isTestFile(to) && !mayImportTests(file, to)) {
    return found(`imports ${to}; only tests may import tests and suites`);
  }
  if (file.startsWith('web/')) return checkWebImport(one);
  if (!file.startsWith('src/')) return [];
  if (!to.startsWith('src/')) return isTestFile(file) ? [] : found(`imports ${to} outside src/`);
  return checkSourceImport(one);
}

/** The tools of the repository are no program: what helps a test may help them too. */
function mayImportTests(from: string, to: string): boolean {
  if (isTestFile(from)) return true;
  return !from.startsWith('src/') && !from.startsWith('web/') && to.startsWith('test/helpers/');
}

function checkSourceImport({ from, to, line }: Import): Finding[] {
  const found = (message: string): Finding[] => [{ file: from, line, message }];
  const fromFolder = folderOf(from);
  const toFolder = folderOf(to);
  if (from === 'src/index.ts' || fromFolder === undefined || toFolder === undefined) return [];
  const fromLayer = LAYERS[fromFolder];
  const toLayer = LAYERS[toFolder];
  if (fromLayer === undefined || toLayer === undefined) return [];
  const implementation = implementationOf(to);
  if (isForeign(from, implementation) && fromFolder !== 'app' && !isTestFile(from)) {
    return found(`imports the implementation ${to}; use its interface, app/ hands the value down`);
  }
  if (fromFolder === toFolder || toLayer < fromLayer) return [];
  const rule =
    toLayer === fromLayer ? 'folders with the same number never import each other' : 'lower only';
  return found(`${fromFolder}/ (${fromLayer}) imports ${to} (${toLayer}): ${rule}; pass it in`);
}

function checkWebImport({ from, to, line }: Import): Finding[] {
  const folder = to.startsWith('src/') ? folderOf(to) : undefined;
  if (!to.startsWith('src/') || (folder !== undefined && WEB_MAY_IMPORT.includes(folder)))
    return [];
  return [{ file: from, line, message: `web/ imports ${to}; only protocol and client are its` }];
}

/** Returns one finding per cycle of imports, with the whole ring. */
function findCycles(imports: readonly Import[]): Finding[] {
  const next = Map.groupBy(imports, (one) => one.from);
  const done = new Set<string>();
  const findings: Finding[] = [];
  const visit = (file: string, path: string[]): void => {
    const start = path.indexOf(file);
    if (start >= 0) {
      const ring = [...path.slice(start), file].join(' → ');
      findings.push({ file, message: `import cycle ${ring}; move what both need to a lower file` });
      return;
    }
    if (done.has(file)) return;
    for (const { to } of next.get(file) ?? []) visit(to, [...path, file]);
    done.add(file);
  };
  for (const file of next.keys()) visit(file, []);
  return findings;
}

function folderOf(path: string): string | undefined {
  const parts = path.split('/');
  return parts.length > 2 ? parts[1] : undefined;
}

/** `src/store/sqlite/connection.ts` → `store/sqlite`; an interface file → undefined. */
function implementationOf(path: string): string | undefined {
  const [, folder, name, rest] = path.split('/');
  if (folder === undefined || rest === undefined || !HAVE_IMPLEMENTATIONS.includes(folder)) {
    return undefined;
  }
  return `${folder}/${name}`;
}

function isForeign(from: string, implementation: string | undefined): boolean {
  const own = implementationOf(from);
  if (implementation === undefined || implementation === own) return false;
  return own === undefined || SHARED_BY[implementation]?.includes(own) !== true;
}

function isSource(path: string): boolean {
  return path.startsWith('src/');
}

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of package.json. */
export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

/** Path from the root with `/`, to the text. */
export type SourceFiles = ReadonlyMap<string, string>;

/** Something to put right: where it is, and what to do about it. */
export interface Finding {
  file: string;
  line?: number;
  message: string;
}

/** Returns every `.ts` file under the folders, with its text; a folder that is not there has none. */
export function readSourceFiles(folders: readonly string[], root: string = ROOT): SourceFiles {
  const files = new Map<string, string>();
  for (const folder of folders) {
    if (!existsSync(join(root, folder))) continue;
    for (const name of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })) {
      const path = `${folder}/${name.replaceAll('\\', '/')}`;
      if (/\.tsx?$/.test(path) && !path.includes('/node_modules/')) {
        files.set(path, readFileSync(join(root, path), 'utf8'));
      }
    }
  }
  return files;
}

/** Returns the text of a file under the root, or undefined when there is none. */
export function readText(path: string, root: string = ROOT): string | undefined {
  const full = join(root, path);
  return existsSync(full) ? readFileSync(full, 'utf8') : undefined;
}

export function isTestFile(path: string): boolean {
  return /\.(test|suite)\.tsx?$/.test(path) || path.startsWith('test/');
}

/** Returns the line number, from 1, of an offset in a text. */
export function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}

/** Writes what was understood of an `openclaw.json`; never over a configuration that is there. */
import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import JSON5 from 'json5';
import { configFromOpenClaw } from './config-from-openclaw.ts';
import type { ConfigReport } from './import-report.ts';
import { asRecord, readSourceFile } from './source-files.ts';

export interface ConfigTarget {
  /** where a configuration belongs, such as `<state>/trunkline.json` */
  path: string;
  /** where it goes when one is there already, such as `<state>/trunkline.imported.json` */
  besidePath: string;
}

/** Translates the file and writes the result; `source` is the file as read, for settings that the import needs. */
export async function writeConfig(
  sourcePath: string,
  target: ConfigTarget | undefined,
): Promise<{ report: ConfigReport; source: Record<string, unknown> }> {
  const report: ConfigReport = {
    result: 'not_found',
    path: undefined,
    isBeside: false,
    secrets: [],
    left: [],
    error: undefined,
  };
  const file = await readSourceFile(sourcePath);
  if (!file.ok && file.isMissing) return { report, source: {} };
  const read = file.ok ? parseJson5(file.bytes) : file.reason;
  if (typeof read === 'string') {
    return { report: { ...report, result: 'unreadable', error: read }, source: {} };
  }
  const { config, secrets, left } = configFromOpenClaw(read);
  const found = { ...report, secrets, left, result: 'nothing_understood' as const };
  if (target === undefined || Object.keys(config).length === 0)
    return { report: found, source: read };
  const written = await writeBeside(`${JSON.stringify(config, null, 2)}\n`, target);
  return { report: { ...found, ...written }, source: read };
}

function parseJson5(bytes: Buffer): Record<string, unknown> | string {
  if (bytes.length === 0) return 'is empty (0 bytes)';
  try {
    return asRecord(JSON5.parse(bytes.toString('utf8'))) ?? 'is not an object';
  } catch (error) {
    // Of the fault only the place: its text may quote the file.
    const { lineNumber } = error as { lineNumber?: number };
    return lineNumber === undefined ? 'is not JSON5' : `is not JSON5 (line ${lineNumber})`;
  }
}

async function writeBeside(
  text: string,
  { path, besidePath }: ConfigTarget,
): Promise<Pick<ConfigReport, 'result' | 'path' | 'isBeside'>> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const existing = await readOptional(path);
  if (existing === text) return { result: 'already_there', path, isBeside: false };
  if (existing === undefined && (await writeNew(path, text))) {
    return { result: 'written', path, isBeside: false };
  }
  if ((await readOptional(besidePath)) === text) {
    return { result: 'already_there', path: besidePath, isBeside: true };
  }
  await mkdir(dirname(besidePath), { recursive: true, mode: 0o700 });
  const draft = `${besidePath}.new`;
  await writeFile(draft, text, { mode: 0o600 });
  await chmod(draft, 0o600);
  await rename(draft, besidePath);
  return { result: 'written', path: besidePath, isBeside: true };
}

async function readOptional(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Returns false when someone made the file in the meantime, or it is a link that leads nowhere. */
async function writeNew(path: string, text: string): Promise<boolean> {
  try {
    await writeFile(path, text, { mode: 0o600, flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

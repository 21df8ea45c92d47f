/** What of an `openclaw.json` has a counterpart here. Pure: values in, values out. */
import type { z } from 'zod';
import { nearestName } from '../../util/nearest-name.ts';
import { configSchema } from '../../protocol/options/config.ts';
import { optionNotes } from '../../protocol/options/option.ts';
import { defaultOf, schemaInside } from '../../protocol/options/option-table.ts';
import { asRecord } from './source-files.ts';

export interface TranslatedConfig {
  /** as it can be written to `trunkline.json` */
  config: Record<string, unknown>;
  /** secrets that were not copied, and the environment variable that stands for each */
  secrets: { path: string; env: string }[];
  left: { path: string; reason: string }[];
}

type Path = readonly (string | number)[];
interface Findings {
  secrets: TranslatedConfig['secrets'];
  left: TranslatedConfig['left'];
}
/** Nothing of this value can be kept. */
const DROPPED = Symbol('dropped');
/** The gateway reads these by itself. */
const OWN_ENV: Readonly<Record<string, string>> = {
  'gateway.auth.token': 'TRUNKLINE_GATEWAY_TOKEN',
  'gateway.auth.password': 'TRUNKLINE_GATEWAY_PASSWORD',
};

/** Returns the options that are understood; the others are listed by path, and no secret is copied. */
export function configFromOpenClaw(source: Record<string, unknown>): TranslatedConfig {
  const findings: Findings = { secrets: [], left: [] };
  const kept = translate(configSchema, { value: source, path: [] }, findings);
  const config = asRecord(kept === DROPPED ? {} : kept) ?? {};
  return { config: dropRejected(config, findings), ...findings };
}

function translate(
  schema: z.ZodType,
  { value, path }: { value: unknown; path: Path },
  findings: Findings,
): unknown {
  const note = optionNotes.get(schema);
  const leave = (reason: string): typeof DROPPED => {
    findings.left.push({ path: toText(path), reason });
    return DROPPED;
  };
  if (note?.support === 'default-only') {
    const accepted = [defaultOf(schema), ...(note.alsoAccepted ?? [])];
    const isAccepted = accepted.some((known) => isSame(known, value));
    return isAccepted ? value : leave('is not supported yet at this value');
  }
  if (note?.secret) return translateSecret(value, { path, findings });
  const inside = schemaInside(schema);
  const record = asRecord(value);
  if (inside.kind === 'list' && Array.isArray(value)) {
    return value
      .map((item, at) => translate(inside.element, { value: item, path: [...path, at] }, findings))
      .filter((item) => item !== DROPPED);
  }
  if ((inside.kind === 'keys' || inside.kind === 'map') && record !== undefined) {
    const known = inside.kind === 'keys' ? inside.shape : {};
    const other = inside.kind === 'map' ? inside.value : inside.rest;
    const entries = Object.entries(record).flatMap(([name, item]) => {
      const below = Object.hasOwn(known, name) ? known[name] : other;
      const at = [...path, name];
      if (below === undefined) {
        findings.left.push({ path: toText(at), reason: unknownReason(name, Object.keys(known)) });
        return [];
      }
      const result = translate(below, { value: item, path: at }, findings);
      return result === DROPPED ? [] : [[name, result] as const];
    });
    return Object.fromEntries(entries);
  }
  const parsed = schema.safeParse(value);
  return parsed.success ? value : leave(parsed.error.issues[0]?.message ?? 'is not valid here');
}

function unknownReason(name: string, known: readonly string[]): string {
  const near = nearestName(name, known, { within: 2 });
  return near === undefined ? 'has no counterpart' : `has no counterpart; the nearest is ${near}`;
}

/** A reference stays one; a literal becomes one, so that no secret is written twice. */
function translateSecret(
  value: unknown,
  { path, findings }: { path: Path; findings: Findings },
): unknown {
  if (typeof value === 'string' && /^\$\{[A-Z_][A-Z0-9_]*\}$/.test(value)) return value;
  const reference = asRecord(value);
  const named = reference?.['source'] === 'env' ? reference['id'] : undefined;
  const env =
    typeof named === 'string' && /^[A-Z_][A-Z0-9_]*$/.test(named) ? named : envNameOf(path);
  findings.secrets.push({ path: toText(path), env });
  return env === OWN_ENV[toText(path)] ? DROPPED : `\${${env}}`;
}

/** `models.providers.my-llm.apiKey` is `MY_LLM_API_KEY`. */
function envNameOf(path: Path): string {
  const own = OWN_ENV[toText(path)];
  if (own !== undefined) return own;
  const words = path[0] === 'models' ? path.slice(2) : path;
  const name = words
    .join('_')
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .replace(/[^A-Za-z0-9]+/g, '_')
    .toUpperCase();
  return /^[0-9]/.test(name) ? `_${name}` : name;
}

/** Takes out what only the whole shows to be unusable, such as a provider without an address. */
function dropRejected(
  config: Record<string, unknown>,
  findings: Findings,
): Record<string, unknown> {
  const rest = structuredClone(config);
  for (;;) {
    const checked = configSchema.safeParse(rest);
    const issue = checked.success ? undefined : checked.error.issues[0];
    if (issue === undefined) return rest;
    const removed = removeAt(
      rest,
      issue.path.filter((part) => typeof part !== 'symbol'),
    );
    findings.left.push({ path: toText(removed), reason: issue.message });
    if (removed.length === 0) return {};
  }
}

/** Removes the value at the path, or the nearest one above it that exists; returns what was removed. */
function removeAt(root: Record<string, unknown>, path: Path): Path {
  let holder: unknown = root;
  let last: { holder: Record<string, unknown> | unknown[]; depth: number } | undefined;
  for (const [depth, part] of path.entries()) {
    if (typeof holder !== 'object' || holder === null || !Object.hasOwn(holder, part)) break;
    last = { holder: holder as Record<string, unknown>, depth };
    holder = (holder as Record<string | number, unknown>)[part];
  }
  if (last === undefined) return [];
  const name = path[last.depth] as string | number;
  if (Array.isArray(last.holder)) last.holder.splice(Number(name), 1);
  else delete last.holder[name];
  return path.slice(0, last.depth + 1);
}

function toText(path: Path): string {
  return path.reduce<string>(
    (text, part) =>
      typeof part === 'number' ? `${text}[${part}]` : text === '' ? part : `${text}.${part}`,
    '',
  );
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

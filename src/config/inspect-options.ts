/** Looks through a written configuration for keys that are unknown and settings that are not supported yet (A3, A24). */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { configSchema } from '../protocol/options/config.ts';
import { defaultOf, schemaInside } from '../protocol/options/option-table.ts';
import { optionNotes } from '../protocol/options/option.ts';
import type { OptionNote } from '../protocol/options/option.ts';
import { briefly } from '../util/briefly.ts';
import { editDistance } from '../util/nearest-name.ts';
import { formatPath, isSettings } from './config-issue.ts';
import type { ConfigIssue, PathSegment } from './config-issue.ts';

/** A key this close to a known one is taken for a misspelling and refused. */
const MISSPELT_WITHIN_LETTERS = 2;

export interface OptionInspection {
  errors: ConfigIssue[];
  warnings: ConfigIssue[];
}

interface Place {
  schema: z.ZodType;
  /** with environment references resolved */
  value: unknown;
  /** as it stands in the file: the only form that a text may show */
  written: unknown;
  path: PathSegment[];
}

/** Returns an error for each misspelt key and unsupported setting, and a warning for each other unknown key. */
export function inspectOptions({
  value,
  written,
}: {
  value: unknown;
  written: unknown;
}): OptionInspection {
  const found: OptionInspection = { errors: [], warnings: [] };
  visit({ schema: configSchema, value, written, path: [] }, found);
  return found;
}

function visit(place: Place, found: OptionInspection): void {
  if (place.value === undefined) return;
  const note = optionNotes.get(place.schema);
  if (note?.support === 'default-only') {
    const refusal = refusalOf(place, note);
    if (refusal !== undefined)
      found.errors.push({ path: formatPath(place.path), message: refusal });
    return;
  }
  const inside = schemaInside(place.schema);
  const { value } = place;
  if (inside.kind === 'list' && Array.isArray(value)) {
    for (const index of value.keys()) visit(below(place, inside.element, index), found);
  } else if (inside.kind === 'map' && isSettings(value)) {
    for (const key of Object.keys(value)) visit(below(place, inside.value, key), found);
  } else if (inside.kind === 'keys' && isSettings(value)) {
    for (const key of Object.keys(value)) {
      const schema = Object.hasOwn(inside.shape, key) ? inside.shape[key] : inside.rest;
      if (schema !== undefined) visit(below(place, schema, key), found);
      else reportUnknown({ key, path: [...place.path, key] }, Object.keys(inside.shape), found);
    }
  }
}

function below(place: Place, schema: z.ZodType, key: PathSegment): Place {
  return {
    schema,
    value: childOf(place.value, key),
    written: childOf(place.written, key),
    path: [...place.path, key],
  };
}

function childOf(value: unknown, key: PathSegment): unknown {
  if (Array.isArray(value)) return value[Number(key)];
  return isSettings(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

function reportUnknown(
  { key, path }: { key: string; path: PathSegment[] },
  known: string[],
  found: OptionInspection,
): void {
  const distances = known.map((name) => ({ name, letters: editDistance(key.slice(0, 100), name) }));
  distances.sort((a, b) => a.letters - b.letters);
  const nearest = distances[0];
  if (nearest !== undefined && nearest.letters <= MISSPELT_WITHIN_LETTERS) {
    const message = `unknown key; did you mean "${nearest.name}"?`;
    found.errors.push({ path: formatPath(path), message });
  } else {
    found.warnings.push({ path: formatPath(path), message: 'unknown key; it has no effect' });
  }
}

function refusalOf({ schema, value, written }: Place, note: OptionNote): string | undefined {
  const accepted = [defaultOf(schema), ...(note.alsoAccepted ?? [])].filter(
    (choice) => choice !== undefined,
  );
  if (accepted.some((choice) => isDeepStrictEqual(choice, value))) return undefined;
  const plain = accepted.filter((choice) => typeof choice !== 'object');
  const instead =
    plain.length > 0
      ? `leave it out or use ${plain.map((choice) => JSON.stringify(choice)).join(' or ')}`
      : 'leave it out';
  return `${shownValue(schema, { written, note })}is not supported yet; ${instead}`;
}

/** Only scalars of options with a known meaning: anything else may hold a secret. */
function shownValue(
  schema: z.ZodType,
  { written, note }: { written: unknown; note: OptionNote },
): string {
  const isScalar = ['string', 'number', 'boolean'].includes(typeof written);
  if (note.secret === true || !isScalar || schema instanceof z.ZodUnknown) return '';
  return `${JSON.stringify(typeof written === 'string' ? briefly(written) : written)} `;
}

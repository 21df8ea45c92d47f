/** Reads the declared options back from the schema: for the check, the documentation and the editor schema. */
import { z } from 'zod';
import { configSchema } from './config.ts';
import { optionNotes } from './option.ts';
import type { OptionNote } from './option.ts';

/** What a schema holds below itself. */
export type SchemaInside =
  | { kind: 'keys'; shape: Record<string, z.ZodType>; rest: z.ZodType | undefined }
  | { kind: 'map'; value: z.ZodType }
  | { kind: 'list'; element: z.ZodType }
  | { kind: 'value' };

/** One line of the option table. */
export interface OptionRow {
  /** `agents.list[].id`, `models.providers.*.api` */
  path: string;
  /** what it accepts, in words */
  type: string;
  /** undefined = none */
  defaultValue: unknown;
  note: OptionNote;
}

/** Returns what lies below a schema, seen through its defaults; of a union its object form. */
export function schemaInside(schema: z.ZodType): SchemaInside {
  const bare = unwrap(schema);
  if (bare instanceof z.ZodObject) {
    const rest = bare.def.catchall;
    return {
      kind: 'keys',
      shape: bare.shape as Record<string, z.ZodType>,
      rest: rest instanceof z.ZodUnknown ? rest : undefined,
    };
  }
  if (bare instanceof z.ZodRecord) return { kind: 'map', value: bare.valueType as z.ZodType };
  if (bare instanceof z.ZodArray) return { kind: 'list', element: bare.element as z.ZodType };
  if (bare instanceof z.ZodUnion) {
    const objectForm = (bare.options as z.ZodType[]).find((form) => form instanceof z.ZodObject);
    if (objectForm !== undefined) return schemaInside(objectForm);
  }
  return { kind: 'value' };
}

/** Returns the default of an option, undefined when it has none. */
export function defaultOf(schema: z.ZodType): unknown {
  return schema instanceof z.ZodDefault ? schema.def.defaultValue : undefined;
}

/** Returns every option in the order of its declaration. */
export function optionTable(): OptionRow[] {
  return rowsBelow(configSchema, '');
}

/** Returns the JSON Schema of the configuration file as people write it. */
export function configJsonSchema(): Record<string, unknown> {
  const schema = z.toJSONSchema(configSchema, {
    io: 'input',
    target: 'draft-2020-12',
    metadata: optionNotes,
    // Checks that JSON Schema cannot say are made by the loader.
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      delete jsonSchema['secret'];
      delete jsonSchema['alsoAccepted'];
      delete jsonSchema['needsRestart'];
      if (jsonSchema['support'] === 'default-only')
        jsonSchema.description = `${jsonSchema.description ?? ''} (${NOT_YET})`;
      delete jsonSchema['support'];
    },
  });
  return { title: 'Trunkline configuration', ...schema };
}

/** How the documentation marks an option that is refused at any value but its default. */
const NOT_YET = 'only the default is supported so far';

function rowsBelow(schema: z.ZodType, path: string): OptionRow[] {
  const note = optionNotes.get(schema);
  const own: OptionRow[] = note === undefined || path === '' ? [] : [toRow(schema, path, note)];
  const inside = schemaInside(schema);
  // What lies below a refused option is not an option of its own.
  if (note?.support === 'default-only') return own;
  if (inside.kind === 'map') return [...own, ...rowsBelow(inside.value, `${path}.*`)];
  if (inside.kind === 'list') return [...own, ...rowsBelow(inside.element, `${path}[]`)];
  if (inside.kind === 'value') return own;
  const below = Object.entries(inside.shape).flatMap(([key, value]) =>
    rowsBelow(value, path === '' ? key : `${path}.${key}`),
  );
  if (inside.rest !== undefined) below.push(...rowsBelow(inside.rest, `${path}.*`));
  return [...own, ...below];
}

function toRow(schema: z.ZodType, path: string, note: OptionNote): OptionRow {
  return { path, type: describeType(schema), defaultValue: defaultOf(schema), note };
}

function describeType(schema: z.ZodType): string {
  const bare = unwrap(schema);
  if (bare instanceof z.ZodEnum) return bare.options.join(', ');
  if (bare instanceof z.ZodLiteral) return [...bare.values].map(String).join(', ');
  if (bare instanceof z.ZodArray) return `list of ${describeType(bare.element as z.ZodType)}`;
  if (bare instanceof z.ZodRecord) return `map of ${describeType(bare.valueType as z.ZodType)}`;
  if (bare instanceof z.ZodUnion)
    return (bare.options as z.ZodType[]).map(describeType).join(' or ');
  if (bare instanceof z.ZodNumber) return describeNumber(bare);
  if (bare instanceof z.ZodBoolean) return 'true, false';
  if (bare instanceof z.ZodObject) return 'object';
  if (bare instanceof z.ZodUnknown) return 'anything';
  return 'text';
}

function describeNumber(schema: z.ZodNumber): string {
  const { minValue, maxValue } = schema;
  const word = schema.format === 'safeint' ? 'whole number' : 'number';
  const hasMin = minValue !== null && Number.isFinite(minValue) && minValue > -1e15;
  const hasMax = maxValue !== null && Number.isFinite(maxValue) && maxValue < 1e15;
  if (hasMin && hasMax) return `${word} ${minValue} to ${maxValue}`;
  return hasMin ? `${word} from ${minValue}` : word;
}

function unwrap(schema: z.ZodType): z.ZodType {
  let bare = schema;
  while (
    bare instanceof z.ZodDefault ||
    bare instanceof z.ZodPrefault ||
    bare instanceof z.ZodOptional
  )
    bare = bare.unwrap() as z.ZodType;
  return bare;
}

/**
 * How an option is declared: a schema with its default, one sentence of documentation, and how far
 * it is supported. The configuration check, the documentation and the JSON Schema all read these.
 */
import { z } from 'zod';

/** What an option's declaration says beside its schema. */
export interface OptionNote {
  description: string;
  /** `default-only`: documented, and refused by name at any other value than the default (A3) */
  support: 'full' | 'default-only';
  /** values that are accepted beside the default of a `default-only` option */
  alsoAccepted?: readonly unknown[];
  /** a running gateway keeps the value it was started with */
  needsRestart?: true;
  /** its value never appears in a text of ours */
  secret?: true;
}

/** The notes of every declared option, by schema instance. */
export const optionNotes: z.core.$ZodRegistry<OptionNote> = z.registry<OptionNote>();

/** Declares an option whose every value has its documented effect. */
export function option<T extends z.ZodType>(
  schema: T,
  description: string,
  extra: { needsRestart?: true } = {},
): T {
  optionNotes.add(schema, { description, support: 'full', ...extra });
  return schema;
}

/** Declares an option whose value must never be shown. */
export function secret<T extends z.ZodType>(schema: T, description: string): T {
  optionNotes.add(schema, { description, support: 'full', secret: true });
  return schema;
}

/** Declares a documented option that is accepted at its default, and refused by name otherwise (A3). */
export function later<T extends z.ZodType>(
  schema: T,
  description: string,
  extra: { alsoAccepted?: readonly unknown[]; secret?: true } = {},
): T {
  optionNotes.add(schema, { description, support: 'default-only', ...extra });
  return schema;
}

/** Declares a group of options; an absent group gets the defaults of its options. */
export function section<S extends z.core.$ZodLooseShape>(
  shape: S,
): z.ZodPrefault<z.ZodObject<S, z.core.$strip>> {
  return z.object(shape).prefault({} as never);
}

import { readFileSync } from 'node:fs';
import { InvalidArgumentError } from 'commander';
import { isRecord } from './output/json-value.ts';

/** Returns the JSON object of an argument; `-` reads it from standard input. */
export function parseJsonObject(text: string): Record<string, unknown> {
  const source = text === '-' ? readFileSync(0, 'utf8') : text;
  let value: unknown;
  try {
    value = JSON.parse(source);
  } catch {
    throw new InvalidArgumentError('It is not JSON; give an object such as \'{"limit": 5}\'.');
  }
  if (!isRecord(value)) throw new InvalidArgumentError('It must be a JSON object.');
  return value;
}

export function parseCount(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1) return value;
  throw new InvalidArgumentError('It must be a whole number of 1 or more.');
}

/** Returns a number of seconds or minutes; fractions are allowed. */
export function parseDuration(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value) && value >= 0) return value;
  throw new InvalidArgumentError('It must be a number of 0 or more.');
}

export function parsePort(text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isInteger(value) && value >= 0 && value <= 65_535) return value;
  throw new InvalidArgumentError('It must be a whole number from 0 to 65535; 0 takes a free one.');
}

/** Collects an option that may be given several times. */
export function collect(text: string, before: string[] | undefined): string[] {
  return [...(before ?? []), text];
}

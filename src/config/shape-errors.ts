import type { z } from 'zod';
import { formatPath } from './config-issue.ts';
import type { ConfigIssue, PathSegment } from './config-issue.ts';

type ShapeIssue = z.core.$ZodIssue;

/** Returns the errors of a failed parse with their paths. None of them quotes the value. */
export function shapeErrors(error: z.ZodError): ConfigIssue[] {
  return error.issues.flatMap((issue) => toErrors(issue, []));
}

function toErrors(issue: ShapeIssue, above: PathSegment[]): ConfigIssue[] {
  const path = [...above, ...issue.path.map(toSegment)];
  if (issue.code === 'invalid_union') {
    // Of several forms, the one whose fault lies further inside is the one that was meant.
    const meant = issue.errors.filter((faults) => faults.every((fault) => fault.path.length > 0));
    const [only] = meant;
    if (only !== undefined && only.length > 0)
      return only.flatMap((fault) => toErrors(fault, path));
    const expected = issue.errors
      .flat()
      .flatMap((fault) => (fault.code === 'invalid_type' ? [fault.expected] : []));
    const forms = [...new Set(expected)].join(' or ');
    return [{ path: formatPath(path), message: `expected ${forms}` }];
  }
  if (issue.code === 'invalid_key') return [{ path: formatPath(path), message: 'invalid key' }];
  return [{ path: formatPath(path), message: plain(issue.message) }];
}

function toSegment(key: PropertyKey): PathSegment {
  return typeof key === 'number' ? key : String(key);
}

function plain(message: string): string {
  const text = message.replace(/^(?:Invalid|Too big|Too small)[^:]*: /, '');
  return text.charAt(0).toLowerCase() + text.slice(1);
}

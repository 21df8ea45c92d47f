import { briefly } from '../util/briefly.ts';

/** What is wrong or doubtful in a configuration, and where. */
export interface ConfigIssue {
  /** `agents.list[0].id`; the name of a flag or an environment variable; empty = the whole file */
  path: string;
  message: string;
}

export type PathSegment = string | number;

/** Returns a path as people write it: dots between plain names, brackets around the rest. */
export function formatPath(segments: readonly PathSegment[]): string {
  let text = '';
  for (const segment of segments) {
    if (typeof segment === 'number') text += `[${segment}]`;
    else if (!/^[A-Za-z_$][\w$-]{0,79}$/.test(segment))
      text += `[${JSON.stringify(briefly(segment))}]`;
    else text += text === '' ? segment : `.${segment}`;
  }
  return text;
}

/** Returns one line for an issue. */
export function formatIssue(issue: ConfigIssue): string {
  return issue.path === '' ? issue.message : `${issue.path}: ${issue.message}`;
}

/** Returns whether a value is an object that holds settings. */
export function isSettings(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

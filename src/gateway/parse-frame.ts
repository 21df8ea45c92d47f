import type { z } from 'zod';
import { GatewayError, toGatewayError } from '../protocol/errors.ts';
import { requestFrame } from '../protocol/frames.ts';
import type { RequestFrame } from '../protocol/frames.ts';
import { parseJson } from './parse-json.ts';
import { briefly } from '../util/briefly.ts';
import { refuseUnsafeNames } from './unsafe-names.ts';

export type ParsedFrame =
  | { kind: 'request'; frame: RequestFrame }
  /** `id` is there when the frame said which request is wrong, so that it can be answered */
  | { kind: 'invalid'; id?: string; error: GatewayError };

/** Returns the request of a text frame, or what is wrong with it. */
export function parseFrame(text: string, maxDepth: number): ParsedFrame {
  let json: unknown;
  try {
    json = parseJson(text, maxDepth);
    refuseUnsafeNames(json, text);
  } catch (error) {
    return invalid(json, toGatewayError(error));
  }
  const parsed = requestFrame.safeParse(json);
  if (parsed.success) return { kind: 'request', frame: parsed.data };
  const issue = parsed.error.issues[0];
  const error = new GatewayError(
    'invalid_request',
    `frame: ${describe(issue)}; a request is {type:"req", id, method, params?}`,
  );
  return invalid(json, error);
}

/** A fault is answered under the id of its frame where that can be read. */
function invalid(json: unknown, error: GatewayError): ParsedFrame {
  const id = requestFrame.shape.id.safeParse(
    typeof json === 'object' && json !== null && 'id' in json ? json.id : undefined,
  );
  return id.success ? { kind: 'invalid', id: id.data, error } : { kind: 'invalid', error };
}

/** An issue of the whole frame has no path. */
function describe(issue: z.core.$ZodIssue | undefined): string {
  if (issue?.code === 'unrecognized_keys') return `unknown field "${briefly(issue.keys[0] ?? '')}"`;
  const path = briefly(issue?.path.join('.') ?? '');
  const message = issue?.message ?? 'not valid';
  return path === '' ? message : `${path}: ${message}`;
}

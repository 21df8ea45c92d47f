import type { z } from 'zod';
import { nearestName } from '../../util/nearest-name.ts';
import { SESSION_TOOL_ARGS } from './session-tool-arg-schemas.ts';
import type { SessionToolArgs } from './session-tool-arg-schemas.ts';
import { parameterRules } from './session-tool-args.ts';
import type { SessionsSendArgs, SessionsStopArgs, SessionsWaitArgs } from './session-tool-args.ts';
import { WAIT_TARGETS_MAX } from './tool-limits.ts';
import { whyUnusable } from './usable-arguments.ts';
import type { SessionToolName } from './session-tools.ts';
import { briefly } from '../../util/briefly.ts';

export type ParsedToolArgs<Name extends SessionToolName> =
  | { ok: true; args: SessionToolArgs[Name] }
  | { ok: false; error: string };

/** The table without what it says of single tools: the checks below are the same for all. */
const SCHEMAS: Record<SessionToolName, z.ZodObject> = SESSION_TOOL_ARGS;

/** Where a child's result goes is the gateway's business (B7.1). */
const DELIVERY_PARAMETERS = ['target', 'channel', 'to', 'threadId', 'replyTo', 'transport'];

/**
 * Returns the arguments of a session tool, trimmed and clamped, or one sentence that names the
 * parameter, what it accepts and, for an unknown one, the nearest known. `null` counts as absent, and
 * so does a blank agentId: models write one when they mean their own agent.
 */
export function parseToolArgs<Name extends SessionToolName>(
  tool: Name,
  raw: unknown,
): ParsedToolArgs<Name> {
  if (raw !== undefined && raw !== null && (typeof raw !== 'object' || Array.isArray(raw)))
    return { ok: false, error: `the arguments of ${tool} must be an object` };
  const given = Object.fromEntries(Object.entries(raw ?? {}).filter(isGiven));
  const flaw = whyUnusable(given);
  if (flaw !== undefined) return { ok: false, error: `${tool}: ${flaw}` };
  const error = unknownParameter(tool, given);
  if (error !== undefined) return { ok: false, error };
  const parsed = SCHEMAS[tool].safeParse(given);
  if (!parsed.success) return { ok: false, error: describeIssue(tool, given, parsed.error) };
  // the schema of the table is the one that the type of this tool was inferred from
  const args = parsed.data as SessionToolArgs[Name];
  const misaddressed = addressErrorOf(tool, args);
  return misaddressed === undefined ? { ok: true, args } : { ok: false, error: misaddressed };
}

function isGiven([parameter, value]: [string, unknown]): boolean {
  if (parameter === 'agentId' && typeof value === 'string' && value.trim() === '') return false;
  return value !== undefined && value !== null;
}

function unknownParameter(
  tool: SessionToolName,
  given: Record<string, unknown>,
): string | undefined {
  const known = Object.keys(SCHEMAS[tool].shape);
  const unknown = Object.keys(given).find((parameter) => !known.includes(parameter));
  if (unknown === undefined) return undefined;
  if (known.length === 0) return `${tool} takes no parameters; got "${briefly(unknown)}"`;
  const delivery =
    tool === 'sessions_spawn' && DELIVERY_PARAMETERS.includes(unknown)
      ? "; a child's result goes to the requester's chat, a spawn cannot choose another"
      : '';
  const nearest = nearestName(unknown, known) ?? '';
  return `unknown parameter "${briefly(unknown)}" of ${tool}, nearest: "${nearest}"; known: ${known.join(', ')}${delivery}`;
}

function describeIssue(
  tool: SessionToolName,
  given: Record<string, unknown>,
  error: z.ZodError,
): string {
  const parameter = String(error.issues[0]?.path[0] ?? '');
  const schema = SCHEMAS[tool].shape[parameter];
  const rule = schema === undefined ? undefined : parameterRules.get(schema)?.rule;
  const expected = rule ?? 'of another form';
  if (given[parameter] === undefined) return `${tool} needs ${parameter}: ${expected}`;
  return `${parameter} of ${tool} must be ${expected}; got ${show(given[parameter])}`;
}

function show(value: unknown): string {
  if (typeof value === 'number') return String(value);
  if (typeof value === 'string') return JSON.stringify(briefly(value));
  if (typeof value === 'boolean') return String(value);
  return briefly(JSON.stringify(value) ?? typeof value);
}

function addressErrorOf(tool: SessionToolName, args: object): string | undefined {
  switch (tool) {
    case 'sessions_send':
      return sendAddressError(args as SessionsSendArgs);
    case 'sessions_wait':
      return waitTargetsError(args as SessionsWaitArgs);
    case 'sessions_stop':
      return stopTargetError(args as SessionsStopArgs);
    default:
      return undefined;
  }
}

function waitTargetsError({ runIds = [], sessionKeys = [] }: SessionsWaitArgs): string | undefined {
  const count = runIds.length + sessionKeys.length;
  if (count === 0) return 'sessions_wait needs runIds or sessionKeys: what to wait for';
  if (count <= WAIT_TARGETS_MAX) return undefined;
  return `sessions_wait got ${count} runs and sessions; at most ${WAIT_TARGETS_MAX} in one call`;
}

function stopTargetError({ sessionKey, runId }: SessionsStopArgs): string | undefined {
  const hint = 'give exactly one of sessionKey (stops its current run) and runId';
  if (sessionKey === undefined && runId === undefined)
    return `sessions_stop needs sessionKey: ${hint}`;
  if (sessionKey === undefined || runId === undefined) return undefined;
  return `sessions_stop got sessionKey together with runId: ${hint}`;
}

function sendAddressError(args: SessionsSendArgs): string | undefined {
  const { sessionKey, label, agentId } = args;
  const hint =
    'give exactly one of sessionKey (a key or sessionId), label (with agentId to narrow it), agentId (its main session)';
  if (sessionKey === undefined && label === undefined && agentId === undefined)
    return `sessions_send needs sessionKey: ${hint}`;
  if (sessionKey !== undefined && (label !== undefined || agentId !== undefined))
    return `sessions_send got sessionKey together with ${label === undefined ? 'agentId' : 'label'}: ${hint}`;
  return undefined;
}

/** One table: method → scope and parameters, for every transport (A23). */
import type { z } from 'zod';
import { nearestName } from '../util/nearest-name.ts';
import { GatewayError } from './errors.ts';
import { connectParams } from './frames.ts';
import * as params from './method-params.ts';
import type { OperatorScope } from './scopes.ts';
import { briefly } from '../util/briefly.ts';

interface MethodTraits {
  scope: OperatorScope;
  params: z.ZodObject;
  /** starts or changes something; refused while the gateway drains */
  isWork: boolean;
}

export const METHODS = {
  health: { scope: 'operator.read', params: params.healthParams, isWork: false },
  status: { scope: 'operator.read', params: params.noParams, isWork: false },
  'sessions.list': { scope: 'operator.read', params: params.sessionsListParams, isWork: false },
  'sessions.search': { scope: 'operator.read', params: params.sessionsSearchParams, isWork: false },
  'sessions.create': { scope: 'operator.write', params: params.sessionsCreateParams, isWork: true },
  'sessions.patch': { scope: 'operator.admin', params: params.sessionsPatchParams, isWork: true },
  'sessions.reset': { scope: 'operator.admin', params: params.sessionsResetParams, isWork: true },
  'sessions.delete': { scope: 'operator.admin', params: params.sessionsDeleteParams, isWork: true },
  'sessions.windows': {
    scope: 'operator.read',
    params: params.sessionsWindowsParams,
    isWork: false,
  },
  'sessions.get': { scope: 'operator.read', params: params.sessionsGetParams, isWork: false },
  'sessions.preview': {
    scope: 'operator.read',
    params: params.sessionsPreviewParams,
    isWork: false,
  },
  'sessions.resolve': {
    scope: 'operator.read',
    params: params.sessionsResolveParams,
    isWork: false,
  },
  'sessions.send': { scope: 'operator.write', params: params.sessionsSendParams, isWork: true },
  'sessions.abort': { scope: 'operator.write', params: params.sessionsAbortParams, isWork: true },
  'sessions.subscribe': { scope: 'operator.read', params: params.noParams, isWork: false },
  'sessions.unsubscribe': { scope: 'operator.read', params: params.noParams, isWork: false },
  'sessions.messages.subscribe': {
    scope: 'operator.read',
    params: params.messagesSubscribeParams,
    isWork: false,
  },
  'sessions.messages.unsubscribe': {
    scope: 'operator.read',
    params: params.messagesUnsubscribeParams,
    isWork: false,
  },
  'chat.send': { scope: 'operator.write', params: params.chatSendParams, isWork: true },
  'chat.history': { scope: 'operator.read', params: params.chatHistoryParams, isWork: false },
  agent: { scope: 'operator.write', params: params.agentParams, isWork: true },
  'agent.wait': { scope: 'operator.read', params: params.agentWaitParams, isWork: false },
  'runs.get': { scope: 'operator.read', params: params.runsGetParams, isWork: false },
  'runs.list': { scope: 'operator.read', params: params.runsListParams, isWork: false },
  'runs.wait': { scope: 'operator.read', params: params.runsWaitParams, isWork: false },
  'runs.stop': { scope: 'operator.write', params: params.runsStopParams, isWork: true },
  'exchanges.get': { scope: 'operator.read', params: params.exchangesGetParams, isWork: false },
  'exchanges.list': { scope: 'operator.read', params: params.exchangesListParams, isWork: false },
  usage: { scope: 'operator.read', params: params.usageParams, isWork: false },
  send: { scope: 'operator.write', params: params.sendParams, isWork: true },
  'deliveries.list': { scope: 'operator.read', params: params.deliveriesListParams, isWork: false },
  'deliveries.retry': { scope: 'operator.admin', params: params.deliveryParams, isWork: true },
  'deliveries.drop': { scope: 'operator.admin', params: params.deliveryParams, isWork: true },
  'audit.list': { scope: 'operator.admin', params: params.auditListParams, isWork: false },
  'chat.abort': { scope: 'operator.write', params: params.chatAbortParams, isWork: true },
  'chat.inject': { scope: 'operator.write', params: params.chatInjectParams, isWork: true },
  'policy.explain': { scope: 'operator.read', params: params.policyExplainParams, isWork: false },
  'models.list': { scope: 'operator.read', params: params.modelsListParams, isWork: false },
  'system-presence': { scope: 'operator.read', params: params.noParams, isWork: false },
  'agents.list': { scope: 'operator.read', params: params.noParams, isWork: false },
  'tools.invoke': { scope: 'operator.write', params: params.toolsInvokeParams, isWork: true },
  'tools.catalog': { scope: 'operator.read', params: params.toolsCatalogParams, isWork: false },
  'calls.start': { scope: 'operator.write', params: params.callsStartParams, isWork: true },
  'calls.get': { scope: 'operator.read', params: params.callsGetParams, isWork: false },
  'calls.list': { scope: 'operator.read', params: params.callsListParams, isWork: false },
  'calls.cancel': { scope: 'operator.write', params: params.callsCancelParams, isWork: true },
  'device.pair.list': { scope: 'operator.pairing', params: params.noParams, isWork: false },
  'device.pair.approve': {
    scope: 'operator.pairing',
    params: params.pairApproveParams,
    isWork: true,
  },
  'device.pair.reject': {
    scope: 'operator.pairing',
    params: params.pairRejectParams,
    isWork: true,
  },
  'device.list': { scope: 'operator.pairing', params: params.noParams, isWork: false },
  'device.revoke': { scope: 'operator.pairing', params: params.deviceParams, isWork: true },
  'device.token.rotate': { scope: 'operator.pairing', params: params.deviceParams, isWork: true },
  'config.reload': { scope: 'operator.admin', params: params.noParams, isWork: true },
} as const satisfies Record<string, MethodTraits>;

export type MethodName = keyof typeof METHODS;
/** The checked parameters of each method. */
export type MethodParams = { [Name in MethodName]: z.output<(typeof METHODS)[Name]['params']> };

/** The same as a caller gives them: what has a default may be left out. */
export type MethodInput = { [Name in MethodName]: z.input<(typeof METHODS)[Name]['params']> };

/** Names of every method a connected client may call. */
export const METHOD_NAMES = Object.keys(METHODS) as MethodName[];

/** Documented methods whose support is not there yet: refused by name (A3). */
export const LATER_METHODS: readonly string[] = [
  'system-event wake poll logs.tail',
  'sessions.compact sessions.steer tools.effective',
  'cron.list cron.status cron.add cron.update cron.remove cron.run cron.runs',
  'node.list node.describe node.rename node.invoke node.invoke.result node.event',
  'node.pair.request node.pair.list node.pair.approve node.pair.reject node.pair.verify',
  'config.get config.set config.patch config.apply config.schema',
].flatMap((line) => line.split(' '));
const LATER_FAMILIES = ['node.pending.', 'device.'];

/** Returns the method of that name, or throws the error that says what else there is. */
export function parseMethodName(method: string): MethodName {
  if (Object.hasOwn(METHODS, method)) return method as MethodName;
  if (method === 'connect')
    throw new GatewayError('invalid_request', 'connect: this connection is connected already');
  if (LATER_METHODS.includes(method) || LATER_FAMILIES.some((family) => method.startsWith(family)))
    throw new GatewayError(
      'unsupported',
      `${briefly(method)} is not supported yet by this gateway`,
    );
  const nearest = nearestName(method, METHOD_NAMES) ?? 'health';
  throw new GatewayError(
    'unknown_name',
    `unknown method "${briefly(method)}", nearest: "${nearest}"; known: ${METHOD_NAMES.join(', ')}`,
    { details: { nearest } },
  );
}

/** Returns the checked parameters, or throws one error that names the parameter and what it accepts. */
export function parseMethodParams<Name extends MethodName>(
  method: Name,
  raw: Record<string, unknown>,
): MethodParams[Name] {
  // the schema of the table is the one that the type of this method was inferred from
  return parseParams({ method, schema: METHODS[method].params, raw }) as MethodParams[Name];
}

/** The same for the handshake. */
export function parseConnectParams(raw: Record<string, unknown>): z.output<typeof connectParams> {
  if (raw['role'] === 'node')
    throw new GatewayError('unsupported', 'connect: role "node" is not supported yet');
  return connectParams.parse(parseParams({ method: 'connect', schema: connectParams, raw }));
}

function parseParams(call: {
  method: string;
  schema: z.ZodObject;
  raw: Record<string, unknown>;
}): unknown {
  const { method, schema } = call;
  const known = Object.keys(schema.shape);
  const raw = { ...call.raw };
  for (const [name, value] of Object.entries(raw)) {
    if (known.includes(name)) continue;
    if (!isRefusedName(method, name) || !isEmpty(value))
      throw unknownParam({ method, name, known });
    delete raw[name];
  }
  const parsed = schema.safeParse(raw);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const path = briefly(issue?.path.join('.') ?? '');
  // what two parameters need of one another says so itself
  const isMissing = issue?.code !== 'custom' && issue?.path.length === 1 && raw[path] === undefined;
  throw new GatewayError(
    'invalid_request',
    isMissing ? `${method} needs ${path}` : `${method}: ${path}: ${flawOf(issue)}`,
    { details: { param: path } },
  );
}

function flawOf(issue: z.core.$ZodIssue | undefined): string {
  if (issue?.code === 'unrecognized_keys') return `unknown field "${briefly(issue.keys[0] ?? '')}"`;
  return issue?.message ?? 'not valid';
}

function isRefusedName(method: string, name: string): boolean {
  return Object.hasOwn(params.REFUSED_PARAMS[method] ?? {}, name);
}

/** An empty list asks for nothing: a client without attachments, commands or permissions says so with one. */
function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

function unknownParam(call: { method: string; name: string; known: string[] }): GatewayError {
  const { method, name, known } = call;
  if (isRefusedName(method, name))
    return new GatewayError(
      'unsupported',
      `${method}: ${name}: ${params.REFUSED_PARAMS[method]?.[name]}`,
      { details: { param: name } },
    );
  const nearest = nearestName(name, known);
  const hint =
    nearest === undefined ? 'it takes none' : `nearest: "${nearest}"; known: ${known.join(', ')}`;
  return new GatewayError(
    'invalid_request',
    `${method}: unknown parameter "${briefly(name)}", ${hint}`,
    {
      details: { param: briefly(name), ...(nearest === undefined ? {} : { nearest }) },
    },
  );
}

/** One table: method → use case. Every request passes here: known name, scope, drain, parameters, call. */
import type { ReloadReport } from '../protocol/answers/method-answers.ts';
import { GatewayError } from '../protocol/errors.ts';
import type { RequestFrame } from '../protocol/frames.ts';
import { METHODS, parseMethodName, parseMethodParams } from '../protocol/methods.ts';
import type { MethodName } from '../protocol/methods.ts';
import type { OperatorScope } from '../protocol/scopes.ts';
import type { Services } from '../service/services.ts';
import type { Clock } from '../util/clock.ts';
import { acceptAgent } from './accept-message.ts';
import { toCaller } from './call-context.ts';
import type { CallContext } from './call-context.ts';
import type { Handlers } from './handlers.ts';
import { invokeAs } from './invoke-tool.ts';
import { callHandlers } from './call-handlers.ts';
import type { InvokeTool, ListTools, StartCall } from './invoke-tool.ts';
import type { Presence } from './presence.ts';
import { chatHandlers, sessionHandlers, subscriptionHandlers } from './session-handlers.ts';

/** Loads the configuration anew; resolves with what was applied, or rejects `config` and changes nothing. */
export type ReloadConfig = () => Promise<ReloadReport>;

/** Resolves with the payload of the (last) response; a rejection is the error response. */
export type Dispatch = (frame: RequestFrame, context: CallContext) => Promise<unknown>;

export interface DispatchDeps {
  services: Services;
  invokeTool: InvokeTool;
  listTools: ListTools;
  presence: Pick<Presence, 'entries'>;
  startCall: StartCall;
  /** of the gateway, as `status` tells it */
  version: string;
  clock: Clock;
  /** ready, not draining, and the store answers */
  isServing: () => Promise<boolean>;
  isDraining: () => boolean;
  reloadConfig: ReloadConfig;
}

type DeviceMethod = Extract<MethodName, `device.${string}`>;

/** Returns the dispatcher of one gateway; it holds no state of its own. */
export function createDispatch(deps: DispatchDeps): Dispatch {
  const handlers = createHandlers(deps);
  async function call<Name extends MethodName>(
    method: Name,
    { raw, context }: { raw: Record<string, unknown>; context: CallContext },
  ): Promise<unknown> {
    return handlers[method](parseMethodParams(method, raw), context);
  }
  return async (frame, context) => {
    const method = parseMethodName(frame.method);
    requireScope(method, context.scopes);
    if (METHODS[method].isWork && deps.isDraining()) throw draining();
    return call(method, { raw: frame.params ?? {}, context });
  };
}

function createHandlers({
  services,
  invokeTool,
  listTools,
  presence,
  startCall,
  version,
  clock,
  isServing,
  reloadConfig,
}: DispatchDeps): Handlers {
  return {
    health: async () => ({ ok: await isServing(), ts: clock.now() }),
    status: async () => ({ version, ...(await services.status()) }),
    'sessions.list': ({ includeGlobal: _global, includeUnknown: _unknown, ...query }) =>
      services.listAllSessions(query),
    'sessions.search': (query) => services.searchAllSessions(query),
    'sessions.create': async (request) => ({
      ok: true,
      ...(await services.openClientSession(request)),
    }),
    'sessions.patch': async (patch, context) => ({
      ok: true,
      ...(await services.patchSession(toCaller(context), patch)),
    }),
    'sessions.reset': async (reset, context) => ({
      ok: true,
      ...(await services.resetSession(toCaller(context), reset)),
    }),
    'sessions.delete': async (deletion, context) => ({
      ok: true,
      ...(await services.deleteSession(toCaller(context), deletion)),
    }),
    'sessions.windows': (query) => services.listWindows(query),
    ...sessionHandlers(services),
    ...subscriptionHandlers(services),
    ...chatHandlers(services),
    agent: (params, context) =>
      acceptAgent(services, { params, context, caller: toCaller(context) }),
    'agent.wait': ({ runId, timeoutMs }, { signal }) =>
      services.waitForRun(runId, { timeoutMs, signal }),
    'runs.get': ({ runId }) => services.getRun(runId),
    'runs.list': (query) => services.listRuns(query),
    'runs.wait': (wait, { signal }) => services.waitForRuns({ ...wait, signal }),
    'runs.stop': (stop, context) =>
      services.stopRuns(toCaller(context), { ...stop, method: 'runs.stop' }),
    'exchanges.get': (query) => services.getExchange(query),
    'exchanges.list': (query) => services.listExchanges(query),
    usage: (query) => services.readUsage(query),
    send: (send, context) =>
      services.sendDirect(toCaller(context), send, { signal: context.signal }),
    'deliveries.list': (query) => services.listDeliveries(query),
    'deliveries.retry': async ({ deliveryId }, context) => ({
      ok: true,
      ...(await services.retryDelivery(toCaller(context), deliveryId)),
    }),
    'deliveries.drop': async ({ deliveryId }, context) => ({
      ok: true,
      ...(await services.dropDelivery(toCaller(context), deliveryId)),
    }),
    'audit.list': (query) => services.listAudit(query),
    'policy.explain': (query) => services.explainPolicy(query),
    'models.list': async () => ({ models: await services.listConfiguredModels() }),
    'system-presence': async () => presence.entries(),
    'agents.list': () => services.listConfiguredAgents(),
    'tools.invoke': async (params, { signal }) => ({
      ok: true,
      result: await invokeAs({ services, invokeTool }, { ...params, gone: signal }),
    }),
    'tools.catalog': async ({ sessionKey }) => {
      const caller = await services.resolveCaller(sessionKey);
      return { sessionKey: caller.sessionKey, tools: await listTools(caller) };
    },
    ...callHandlers({ services, startCall }),
    'config.reload': () => reloadConfig(),
    ...deviceHandlers(services),
  };
}

function deviceHandlers(services: Services): Pick<Handlers, DeviceMethod> {
  return {
    'device.pair.list': async () => ({ pending: await services.listPairings() }),
    'device.pair.approve': async (approval, context) => ({
      ok: true,
      device: await services.approvePairing(toCaller(context), approval),
    }),
    'device.pair.reject': async ({ requestId }, context) => ({
      ok: true,
      rejected: await services.rejectPairing(toCaller(context), requestId),
    }),
    'device.list': async () => ({ devices: await services.listDevices() }),
    'device.revoke': async ({ deviceId }, context) => ({
      ok: true,
      device: await services.revokeDevice(toCaller(context), deviceId),
    }),
    'device.token.rotate': async ({ deviceId }, context) => ({
      ok: true,
      ...(await services.rotateDeviceToken(toCaller(context), deviceId)),
    }),
  };
}

/** Throws `forbidden` when the method needs a scope that is not there. */
export function requireScope(method: MethodName, scopes: readonly OperatorScope[]): void {
  const { scope } = METHODS[method];
  if (scopes.includes(scope)) return;
  throw new GatewayError('forbidden', `${method} needs the scope ${scope}`, {
    details: { code: 'MISSING_SCOPE', missingScope: scope, requiredScopes: [scope] },
  });
}

/** Returns the refusal of new work by a gateway that goes away. */
export function draining(): GatewayError {
  return new GatewayError('unavailable', 'the gateway is shutting down; try again in a moment', {
    details: { code: 'DRAINING', retryAfterMs: 1000 },
  });
}

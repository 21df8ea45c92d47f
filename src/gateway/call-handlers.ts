/** The methods of calls whose answer is fetched later. */
import type { MethodName } from '../protocol/methods.ts';
import type { Services } from '../service/services.ts';
import type { Handlers } from './handlers.ts';
import type { StartCall } from './invoke-tool.ts';

type CallMethod = Extract<MethodName, `calls.${string}`>;

/** A call is its session's own: what another session names is not there. */
export function callHandlers({
  services,
  startCall,
}: {
  services: Services;
  startCall: StartCall;
}): Pick<Handlers, CallMethod> {
  const as = (sessionKey: string) => services.resolveCaller(sessionKey);
  return {
    'calls.start': async ({ sessionKey, idempotencyKey, ...call }) => {
      const key = idempotencyKey === undefined ? {} : { idempotencyKey };
      const caller = { ...(await as(sessionKey)), ...key };
      return { ok: true, ...(await startCall({ ...call, caller })) };
    },
    'calls.get': async ({ sessionKey, ...query }, { signal }) =>
      services.readCall(await as(sessionKey), { ...query, signal }),
    'calls.list': async ({ sessionKey, ...query }) =>
      services.listCalls(await as(sessionKey), query),
    'calls.cancel': async ({ sessionKey, callId }) => ({
      ok: true,
      call: await services.cancelCall(await as(sessionKey), callId),
    }),
  };
}

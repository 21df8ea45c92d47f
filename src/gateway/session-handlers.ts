/** The methods about one session, its chat and what is told of it. */
import type { MethodName } from '../protocol/methods.ts';
import type { Services } from '../service/services.ts';
import { acceptChat } from './accept-message.ts';
import { toCaller } from './call-context.ts';
import type { Handlers } from './handlers.ts';

type SessionMethod = `sessions.${'get' | 'preview' | 'resolve' | 'send' | 'abort'}`;
type SubscriptionMethod = Extract<MethodName, `sessions.${string}subscribe`>;
type ChatMethod = Extract<MethodName, `chat.${string}`>;

/** One session by the names of OpenClaw's clients. */
export function sessionHandlers(services: Services): Pick<Handlers, SessionMethod> {
  return {
    'sessions.get': ({ key, sessionKey, ...page }) =>
      services.readSession({ ...page, sessionKey: key ?? sessionKey ?? '' }),
    'sessions.preview': (query) => services.previewSessions(query),
    'sessions.resolve': async ({ includeGlobal: _global, includeUnknown: _unknown, ...query }) => ({
      ok: true,
      ...(await services.resolveSession(query)),
    }),
    'sessions.send': ({ key: sessionKey, ...params }, context) =>
      acceptChat(services, { params: { ...params, sessionKey }, caller: toCaller(context) }),
    'sessions.abort': async ({ key: sessionKey, runId }, context) => {
      const stop = { sessionKey, runId, queued: true, method: 'sessions.abort' } as const;
      const { runIds } = await services.stopRuns(toCaller(context), stop);
      const status = runIds.length > 0 ? 'aborted' : 'no-active-run';
      return { ok: true, status, abortedRunId: runIds[0] ?? null, runIds };
    },
  };
}

/** What a connection is told unasked. */
export function subscriptionHandlers(services: Services): Pick<Handlers, SubscriptionMethod> {
  return {
    'sessions.subscribe': async (_none, { tellSessions }) => {
      tellSessions(true);
      return { subscribed: true };
    },
    'sessions.unsubscribe': async (_none, { tellSessions }) => {
      tellSessions(false);
      return { subscribed: false };
    },
    'sessions.messages.subscribe': async ({ key, afterSeq }, { feeds }) => {
      const start = await services.startFeed({ key, ...(afterSeq !== undefined && { afterSeq }) });
      feeds.open(start, { key });
      const { sessionId, seq } = start.at;
      return { subscribed: true, key: start.sessionKey, sessionId, seq };
    },
    'sessions.messages.unsubscribe': async ({ key }, { feeds }) => {
      feeds.stop(key);
      return { subscribed: false, key };
    },
  };
}

/** What people see of a session. */
export function chatHandlers(services: Services): Pick<Handlers, ChatMethod> {
  return {
    'chat.send': (params, context) => acceptChat(services, { params, caller: toCaller(context) }),
    'chat.history': (query) => services.readChatHistory(query),
    'chat.abort': async ({ sessionKey, runId }, context) => {
      const stop = { sessionKey, runId, queued: true, method: 'chat.abort' } as const;
      const { runIds } = await services.stopRuns(toCaller(context), stop);
      return { ok: true, aborted: runIds.length > 0, runIds };
    },
    'chat.inject': async (note, context) => ({
      ok: true,
      ...(await services.injectNote(toCaller(context), note)),
    }),
  };
}

/** Joins the use cases and the machinery behind them: what `app/` starts and stops, and the doors call. */
import { archiveSession } from './archive/archive-session.ts';
import { deleteSession } from './archive/delete-session.ts';
import { listWindows } from './archive/list-windows.ts';
import { maintainSessions } from './archive/maintain-sessions.ts';
import { rearmClocks } from './archive/rearm-clocks.ts';
import { resetSession } from './archive/reset-session.ts';
import { removeAttachments } from './attachments/release-attachments.ts';
import { sweepAttachments } from './attachments/sweep-attachments.ts';
import { createActiveRuns } from './runs/active-runs.ts';
import { acceptInbound } from './messages/accept-inbound.ts';
import { acceptMessage } from './messages/accept-message.ts';
import { injectNote } from './messages/inject-note.ts';
import { advanceExchange } from './exchange/advance-exchange.ts';
import { getExchange, listExchanges } from './exchange/read-exchanges.ts';
import { announceSpawn } from './spawn/announce-spawn.ts';
import { listModels } from '../core/list-models.ts';
import type { RunContext, RunServices } from './context.ts';
import { cancelCall } from './calls/cancel-call.ts';
import { deferCall } from './calls/defer-call.ts';
import { listCalls } from './calls/list-calls.ts';
import { readCall } from './calls/read-call.ts';
import { createChannelCalls } from './delivery/channel-calls.ts';
import { sendDirect } from './delivery/send-direct.ts';
import { dropDelivery, retryDelivery } from './delivery/desk.ts';
import { listAudit } from './list-audit.ts';
import { listDeliveries } from './delivery/list-deliveries.ts';
import { deliver } from './delivery/deliver.ts';
import type { DeliveryContext } from './delivery/hand-over.ts';
import { admitDevice } from './devices/admit-device.ts';
import { approvePairing, listPairings, rejectPairing } from './devices/decide-pairings.ts';
import { listDevices, revokeDevice, rotateDeviceToken } from './devices/manage-devices.ts';
import { relayDevices } from './devices/relay-devices.ts';
import { expireInbox, expireOldInboxes } from './inbox/expire-inbox.ts';
import { openClientSession } from './inbox/open-client-session.ts';
import { readInbox, takeInboxNews } from './inbox/read-inbox.ts';
import { createJobRunner } from './job-runner.ts';
import { listAgents } from './sessions/list-agents.ts';
import { listSessions } from './sessions/list-sessions.ts';
import { listAllSessions, listConfiguredAgents, readStatus } from './sessions/operator-views.ts';
import { readChatHistory, readSession } from './sessions/operator-history.ts';
import { previewSessions } from './sessions/preview-sessions.ts';
import { resolveSession } from './sessions/resolve-session.ts';
import { explainPolicy } from './policy/explain-policy.ts';
import { readFeed, startFeed } from './sessions/follow-messages.ts';
import { patchSession } from './sessions/patch-session.ts';
import { readHistory } from './sessions/read-history.ts';
import { searchAllSessions, searchSessions } from './sessions/search-sessions.ts';
import { relayMessages } from './messages/relay-messages.ts';
import { relayEvents } from './relay-events.ts';
import { recover } from './recover.ts';
import { resolveCaller } from './sessions/resolve-caller.ts';
import { createRunWatch } from './runs/run-watch.ts';
import { createScheduler } from './runs/scheduler.ts';
import { sendMessage } from './messages/send-message.ts';
import type { Services } from './services.ts';
import { createSlots } from './runs/slots.ts';
import { spawnSession } from './spawn/spawn-session.ts';
import { getRun, listRuns } from './runs/list-runs.ts';
import { readUsage } from './usage/read-usage.ts';
import { stopAsOperator, stopAsSession } from './runs/stop-session.ts';
import { waitForRun } from './runs/wait-for-run.ts';
import { watchStops } from './runs/watch-stops.ts';
import { waitAsOperator, waitAsSession } from './runs/wait-for-runs.ts';
import type { Config } from '../protocol/options/config.ts';
import type { RunClass } from '../protocol/words.ts';
import type { JobHandler } from '../store/jobs.ts';
import { atMost } from '../util/at-most.ts';

/** Agent-to-agent turns at a time: their own pool, so that they never wait for people's messages. */
const NESTED_CAP = 16;

export interface ServiceHost {
  services: Services;
  /** Where a run stands in its tree, while it is active here. */
  runPosition(
    runId: string,
  ): Promise<{ rootRunId: string; hops: number; signal: AbortSignal } | undefined>;
  /** Takes over what an earlier process left, then starts runs and jobs. */
  start(): Promise<void>;
  /** Takes no more work, gives active runs `graceMs` to end, and leaves the rest to the next start. */
  stop(graceMs: number): Promise<void>;
}

/** Returns the use cases over one store, not yet started. */
export function createServices(context: RunContext): ServiceHost {
  const activeRuns = createActiveRuns();
  const slots = createSlots((runClass) => capOf(context.config(), runClass));
  const watch = createRunWatch(context.store);
  const scheduler = createScheduler(context, { activeRuns, slots });
  const host: RunServices = { ...context, activeRuns, slots, watch, wakeScheduler: scheduler.wake };
  const { store, clock, logger } = context;
  const channelCalls = createChannelCalls();
  const handlers = jobHandlers({ ...host, channelCalls });
  const jobs =
    store.shared?.createJobRunner(handlers) ?? createJobRunner({ store, clock, logger, handlers });
  const stopRelay = relayEvents(context);
  const stopMessages = relayMessages(context);
  const stopDevices = relayDevices(context);
  store.shared?.onLost(async () => {
    for (const run of activeRuns.all()) run.abort('drain');
    await activeRuns.idle();
  });
  const endStopWatch = watchStops({ store, activeRuns, logger });
  return {
    services: toServices(host),
    runPosition: async (runId) => {
      const active = activeRuns.get(runId);
      const run = await store.read((tx) => tx.runs.get(runId));
      if (active === undefined || run === undefined) return undefined;
      return { rootRunId: run.rootRunId, hops: run.hops, signal: active.signal };
    },
    start: async () => {
      await recover(context);
      await startChannels(host);
      await rearmClocks(context);
      await sweepAttachments(context);
      await expireOldInboxes(context);
      jobs.start();
      scheduler.start();
    },
    stop: async (graceMs) => {
      await stopChannels(context);
      await scheduler.stop();
      await atMost(graceMs, activeRuns.idle());
      for (const run of activeRuns.all()) run.abort('drain');
      await activeRuns.idle();
      const jobsEnded = jobs.stop();
      await atMost(graceMs, jobsEnded);
      channelCalls.stop();
      await jobsEnded;
      watch.stop();
      stopRelay();
      stopMessages();
      stopDevices();
      endStopWatch();
    },
  };
}

/** What people write is taken as soon as a channel has started. */
async function startChannels(host: RunServices): Promise<void> {
  try {
    for (const channel of host.channels.values()) {
      await channel.start?.((message) => acceptInbound(host, { channel: channel.id, message }));
    }
  } catch (error) {
    await stopChannels(host);
    throw error;
  }
}

async function stopChannels({ channels, logger }: RunContext): Promise<void> {
  for (const channel of channels.values()) {
    await channel.stop?.().catch((err: unknown) => {
      logger.warn({ channel: channel.id, err }, 'a channel did not stop in order');
    });
  }
}

function toServices(host: RunServices): Services {
  return {
    listSessions: (caller, args) => listSessions(host, caller, args),
    readHistory: (caller, args) => readHistory(host, caller, args),
    searchSessions: (caller, args) => searchSessions(host, caller, args),
    sendMessage: (caller, args) => sendMessage(host, caller, args),
    spawnSession: (caller, args) => spawnSession(host, caller, args),
    listAgents: (caller) => Promise.resolve(listAgents(host, caller)),
    waitForSessions: (caller, args) => waitAsSession(host, caller, args),
    stopSession: (caller, args) => stopAsSession(host, caller, args),
    readInbox: (caller, args) => readInbox(host, caller, args),
    takeInboxNews: (caller) => takeInboxNews(host, caller),
    deferCall: (caller, call) => deferCall(host, caller, call),
    readCall: (caller, query) => readCall(host, caller, query),
    listCalls: (caller, query) => listCalls(host, caller, query),
    cancelCall: (caller, callId) => cancelCall(host, caller, callId),
    waitForRuns: (wait) => waitAsOperator(host, wait),
    stopRuns: (caller, stop) => stopAsOperator(host, caller, stop),
    getRun: (runId) => getRun(host, runId),
    listRuns: (query) => listRuns(host, query),
    getExchange: (query) => getExchange(host, query),
    readUsage: (query) => readUsage(host, query),
    listExchanges: (query) => listExchanges(host, query),
    sendDirect: (caller, send, options) => sendDirect(host, { caller, send, ...options }),
    listDeliveries: (query) => listDeliveries(host, query),
    retryDelivery: (caller, deliveryId) => retryDelivery(host, { caller, deliveryId }),
    dropDelivery: (caller, deliveryId) => dropDelivery(host, { caller, deliveryId }),
    listAudit: (query) => listAudit(host, query),
    acceptMessage: (caller, request) => acceptMessage(host, caller, request),
    waitForRun: (runId, options) => waitForRun(host, { runId, ...options }),
    listAllSessions: (query) => listAllSessions(host, query),
    searchAllSessions: (query) => searchAllSessions(host, query),
    readChatHistory: (query) => readChatHistory(host, query),
    readSession: (query) => readSession(host, query),
    previewSessions: (query) => previewSessions(host, query),
    resolveSession: (query) => resolveSession(host, query),
    injectNote: (caller, note) => injectNote(host, caller, note),
    startFeed: (query) => startFeed(host, query),
    readFeed: (start) => readFeed(host, start),
    resetSession: (caller, reset) => resetSession(host, caller, reset),
    deleteSession: (caller, deletion) => deleteSession(host, caller, deletion),
    listWindows: (query) => listWindows(host, query),
    openClientSession: (request) => openClientSession(host, request),
    patchSession: (caller, patch) => patchSession(host, caller, patch),
    explainPolicy: (query) => explainPolicy(host, query),
    listConfiguredAgents: () => listConfiguredAgents(host),
    listConfiguredModels: () => Promise.resolve(listModels(host.config())),
    admitDevice: (request) => admitDevice(host, request),
    listPairings: () => listPairings(host),
    approvePairing: (caller, approval) => approvePairing(host, caller, approval),
    rejectPairing: (caller, requestId) => rejectPairing(host, caller, requestId),
    listDevices: () => listDevices(host),
    revokeDevice: (caller, deviceId) => revokeDevice(host, caller, deviceId),
    rotateDeviceToken: (caller, deviceId) => rotateDeviceToken(host, caller, deviceId),
    status: () => readStatus(host),
    resolveCaller: (sessionKey) => resolveCaller(host, sessionKey),
  };
}

function jobHandlers(host: RunServices & DeliveryContext): Readonly<Record<string, JobHandler>> {
  return {
    'advance-exchange': ({ exchangeId = '' }) => advanceExchange(host, exchangeId),
    'archive-session': ({ key = '' }) => archiveSession(host, key),
    'maintain-sessions': () => maintainSessions(host),
    'remove-attachments': ({ folderId = '' }) => removeAttachments(host, folderId),
    'expire-inbox': ({ runId = '' }) => expireInbox(host, runId),
    'announce-spawn': ({ childKey = '' }) => announceSpawn(host, childKey),
    // a job of an earlier version names its one delivery, which then is a route of its own
    deliver: ({ routeKey, deliveryId = '' }) => deliver(host, routeKey ?? deliveryId),
  };
}

function capOf(config: Config, runClass: RunClass): number {
  switch (runClass) {
    case 'main':
      return config.agents.defaults.maxConcurrent;
    case 'subagent':
      return config.agents.defaults.subagents.maxConcurrent;
    case 'cron':
      return config.cron.maxConcurrentRuns;
    case 'nested':
      return NESTED_CAP;
    case 'inbox':
      return 0;
  }
}

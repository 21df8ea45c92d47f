/** Rows with every column filled, for tests; each takes what the test is about. */
import type { AuditRow } from '../audit-repository.ts';
import type { DeviceRow, PairingRow } from '../device-repository.ts';
import type { DeliveryRow } from '../delivery-repository.ts';
import type { ExchangeRow, SpawnRow } from '../follow-up-repository.ts';
import type { InputRow } from '../input-repository.ts';
import type { RunRow, WaitRow } from '../run-repository.ts';
import type { SessionRow } from '../session-repository.ts';
import type { Store } from '../store.ts';

/** A store to test and the clock it was opened with. */
export interface StoreHarness {
  store: Store;
  clock: { at: number };
  close(): Promise<void>;
}
export type OpenHarness = () => Promise<StoreHarness>;

/** Runs `test` on a store of its own. */
export async function withStore(
  open: OpenHarness,
  test: (harness: StoreHarness) => Promise<void>,
): Promise<void> {
  const harness = await open();
  try {
    await test(harness);
  } finally {
    await harness.close();
  }
}

export function session(key: string, given: Partial<SessionRow> = {}): SessionRow {
  return {
    key,
    agentId: 'main',
    kind: 'main',
    sessionId: `window of ${key}`,
    chatType: 'direct',
    channel: null,
    label: null,
    displayName: null,
    model: null,
    thinkingLevel: null,
    verboseLevel: null,
    reasoningLevel: null,
    elevatedLevel: null,
    lastModel: null,
    inputTokens: 0,
    outputTokens: 0,
    totalTokens: null,
    systemSent: false,
    abortedLastRun: false,
    sendPolicy: null,
    queueMode: null,
    queueDebounceMs: null,
    queueCap: null,
    queueDrop: null,
    lastChannel: null,
    lastTo: null,
    lastAccountId: null,
    lastThreadId: null,
    spawnedBy: null,
    rootKey: key,
    spawnDepth: 0,
    createdAt: 1000,
    updatedAt: 1000,
    archiveAt: null,
    archivedAt: null,
    deletedAt: null,
    ...given,
  };
}

export function child(key: string, parent: SessionRow, given: Partial<SessionRow> = {}) {
  const lineage = {
    spawnedBy: parent.key,
    rootKey: parent.rootKey,
    spawnDepth: parent.spawnDepth + 1,
  };
  return session(key, { ...lineage, ...given });
}

export function input(
  inputId: string,
  sessionKey: string,
  given: Partial<InputRow> = {},
): InputRow {
  return {
    inputId,
    sessionKey,
    seq: 1,
    kind: 'message',
    runId: inputId,
    text: 'hello',
    provenanceJson: null,
    state: 'pending',
    idempotencyScope: null,
    idempotencyKey: null,
    contentHash: null,
    rootRunId: inputId,
    sourceKey: null,
    acceptedAt: 1000,
    appendedAt: null,
    ...given,
  };
}

export function run(runId: string, sessionKey: string, given: Partial<RunRow> = {}): RunRow {
  return {
    runId,
    sessionKey,
    sessionId: null,
    seq: 1,
    state: 'queued',
    runClass: 'main',
    purpose: 'message',
    exchangeId: null,
    spawnKey: null,
    rootRunId: runId,
    hops: 0,
    parentRunId: null,
    deliver: false,
    routeJson: null,
    optionsJson: null,
    acceptedAt: 1000,
    startedAt: null,
    endedAt: null,
    timeoutMs: 0,
    deadlineAt: null,
    attempts: 0,
    reply: null,
    error: null,
    model: null,
    inputTokens: 0,
    outputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    costUsd: null,
    usageKnown: false,
    mergedInto: null,
    stoppedBy: null,
    stopKey: null,
    queueMode: null,
    purgedAt: null,
    ...given,
  };
}

export function wait(waitId: string, given: Partial<WaitRow> = {}): WaitRow {
  return {
    waitId,
    waiterRunId: 'waiter',
    waiterKey: 'agent:main:main',
    targetRunId: 'target',
    targetKey: 'agent:scout:main',
    deadlineAt: 31_000,
    state: 'open',
    interruptedBy: null,
    createdAt: 1000,
    endedAt: null,
    ...given,
  };
}

export function exchange(exchangeId: string, given: Partial<ExchangeRow> = {}): ExchangeRow {
  return {
    exchangeId,
    requesterKey: 'agent:main:main',
    targetKey: 'agent:scout:main',
    requesterRunId: 'requester',
    rootRunId: 'requester',
    hops: 1,
    state: 'primary',
    maxTurns: 5,
    turns: 0,
    requestText: 'look around',
    firstReply: null,
    latestReply: null,
    endReason: null,
    endDetail: null,
    noAnnounce: null,
    createdAt: 1000,
    endedAt: null,
    ...given,
  };
}

export function spawn(childKey: string, given: Partial<SpawnRow> = {}): SpawnRow {
  return {
    childKey,
    runId: `first run of ${childKey}`,
    requesterKey: 'agent:main:main',
    requesterRunId: 'requester',
    task: 'count the files',
    label: null,
    cleanup: 'keep',
    announceMode: 'post',
    archiveAfterMinutes: 60,
    routeJson: null,
    attachAsJson: null,
    state: 'running',
    createdAt: 1000,
    settledAt: null,
    ...given,
  };
}

export function delivery(deliveryId: string, given: Partial<DeliveryRow> = {}): DeliveryRow {
  return {
    deliveryId,
    idempotencyKey: `effect of ${deliveryId}`,
    sessionKey: 'agent:main:main',
    channel: 'webchat',
    routeTo: null,
    accountId: null,
    threadId: null,
    runId: null,
    routeKey: `route of ${deliveryId}`,
    routeSeq: 1,
    textKey: `text of ${deliveryId}`,
    part: 0,
    text: 'done',
    state: 'queued',
    reason: null,
    attempts: 0,
    handovers: 0,
    sender: null,
    sendingAt: null,
    unclearSince: null,
    nextAttemptAt: 0,
    messageId: null,
    sentAt: null,
    contentHash: null,
    createdAt: 1000,
    updatedAt: 1000,
    ...given,
  };
}

export function auditLine(id: string, given: Partial<AuditRow> = {}): AuditRow {
  return {
    id,
    at: 1000,
    actor: 'operator',
    action: 'deliveries.retry',
    subjectKind: 'delivery',
    subjectId: 'd1',
    sessionKey: null,
    detailJson: null,
    ...given,
  };
}

export function device(id: string, given: Partial<DeviceRow> = {}): DeviceRow {
  return {
    id,
    publicKey: `key of ${id}`,
    name: 'laptop',
    platform: 'linux',
    scopesJson: '["operator.read"]',
    approvedBy: 'operator',
    approvedAt: 1000,
    tokenHash: null,
    tokenUsedAt: null,
    lastSeenAt: null,
    revokedAt: null,
    ...given,
  };
}

export function pairing(id: string, given: Partial<PairingRow> = {}): PairingRow {
  return {
    id,
    deviceId: `device of ${id}`,
    publicKey: 'key',
    name: 'laptop',
    platform: 'linux',
    address: '10.0.0.7',
    scopesJson: '["operator.read"]',
    createdAt: 1000,
    expiresAt: 2000,
    ...given,
  };
}

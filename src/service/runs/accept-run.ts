/** Acceptance: the rows that make a message accepted. Everything that starts a run goes through here. */
import { createHash } from 'node:crypto';
import { isClientKey } from '../../core/keys.ts';
import type { Provenance } from '../../protocol/message.ts';
import type { Route, RunClass, ThinkingLevel } from '../../protocol/words.ts';
import type { InputKind, InputRow } from '../../store/input-repository.ts';
import type { RunPurpose, RunRow } from '../../store/run-repository.ts';
import type { ReadTx, WriteTx } from '../../store/store.ts';
import { wholeUpTo } from '../../util/bounded.ts';

/** Overrides of one run alone, stored with it as JSON. */
export interface RunOptions {
  model?: string;
  thinking?: ThinkingLevel;
  extraSystemPrompt?: string;
}

/** Names the job, not the attempt (A13). */
export interface IdempotencyKey {
  /** caller and method; a key is unique within it */
  scope: string;
  key: string;
  /** hash of the content that the key stands for */
  contentHash: string;
}

const INBOX: RunClass = 'inbox';
/** Ten years: more is no limit that anybody sees. */
const MAX_TIMEOUT_MS = 315_360_000_000;

export interface NewRun {
  runId: string;
  sessionKey: string;
  kind: InputKind;
  text: string;
  provenance?: Provenance;
  purpose: RunPurpose;
  runClass: RunClass;
  rootRunId: string;
  hops: number;
  parentRunId?: string;
  exchangeId?: string;
  spawnKey?: string;
  deliver?: boolean;
  route?: Route;
  options?: RunOptions;
  /** 0 = no limit */
  timeoutMs: number;
  idempotency?: IdempotencyKey;
  /** how it waits for a busy session; absent = for a turn of its own */
  queue?: QueuePlace;
}

/** How a message waits (B12). */
export interface QueuePlace {
  mode: RunRow['queueMode'];
  /** later than now = it waits for quiet */
  readyAt: number;
}

/**
 * Adds the input and the queued run to the lane of a session that exists. One call, one accepted
 * message; whoever calls it answers only after the commit.
 */
export async function acceptRun(tx: WriteTx, accepted: NewRun): Promise<RunRow> {
  // nobody here plays what a client is sent: it waits in the inbox, whoever sends it
  const run = isClientKey(accepted.sessionKey) ? { ...accepted, runClass: INBOX } : accepted;
  const seq = await tx.lanes.nextSeq(run.sessionKey);
  const row = toRunRow(run, { seq, now: tx.now });
  await tx.inputs.insert(toInputRow(run, { seq, now: tx.now, runId: run.runId }));
  await tx.runs.insert(row);
  await tx.lanes.addRun(run.sessionKey, run.runClass, run.queue?.readyAt ?? tx.now);
  tx.signal({ type: 'lane', sessionKey: run.sessionKey });
  return row;
}

/**
 * Adds a message that is done at its acceptance, with its outcome: it has no turn and enters no
 * transcript. Its key and its runId are those of any message.
 */
export async function acceptDone(tx: WriteTx, run: NewRun & { reply: string }): Promise<RunRow> {
  const { runId, sessionKey, reply } = run;
  const at = { seq: await tx.lanes.nextSeq(sessionKey), now: tx.now };
  const end = { state: 'ok', startedAt: tx.now, endedAt: tx.now, reply } as const;
  const row: RunRow = { ...toRunRow(run, at), ...end };
  await tx.inputs.insert({ ...toInputRow(run, { ...at, runId }), state: 'dropped' });
  await tx.runs.insert(row);
  tx.signal({ type: 'run', runId });
  return row;
}

/** Adds an input that joins the session's next turn and starts none: a note (A9), an announced result (A18). */
export async function acceptNote(
  tx: WriteTx,
  note: Pick<NewRun, 'sessionKey' | 'text' | 'provenance' | 'rootRunId' | 'idempotency'> & {
    inputId: string;
    kind: 'note' | 'announce' | 'summary';
  },
): Promise<InputRow> {
  const seq = await tx.lanes.nextSeq(note.sessionKey);
  const row = toInputRow({ ...note, runId: note.inputId }, { seq, now: tx.now, runId: null });
  await tx.inputs.insert(row);
  return row;
}

/** True for an input that has no turn of its own. */
export function isNote(input: InputRow): boolean {
  return input.kind === 'note' || input.kind === 'announce' || input.kind === 'summary';
}

/** Returns the earlier acceptance under this key, `conflict` when the key stood for other content, or undefined. */
export async function findAccepted(
  tx: ReadTx | WriteTx,
  idempotency: IdempotencyKey | undefined,
): Promise<InputRow | 'conflict' | undefined> {
  if (idempotency === undefined) return undefined;
  const input = await tx.inputs.findByIdempotencyKey(idempotency.scope, idempotency.key);
  if (input === undefined) return undefined;
  return input.contentHash === idempotency.contentHash ? input : 'conflict';
}

/** Returns the sha256 of the parts that make the content of a call. */
export function contentHashOf(content: Record<string, unknown>): string {
  return createHash('sha256').update(JSON.stringify(content)).digest('hex');
}

function toInputRow(
  run: Pick<
    NewRun,
    'runId' | 'sessionKey' | 'kind' | 'text' | 'provenance' | 'rootRunId' | 'idempotency'
  >,
  at: { seq: number; now: number; runId: string | null },
): InputRow {
  return {
    inputId: run.runId,
    sessionKey: run.sessionKey,
    seq: at.seq,
    kind: run.kind,
    runId: at.runId,
    text: run.text,
    provenanceJson: run.provenance === undefined ? null : JSON.stringify(run.provenance),
    state: 'pending',
    idempotencyScope: run.idempotency?.scope ?? null,
    idempotencyKey: run.idempotency?.key ?? null,
    contentHash: run.idempotency?.contentHash ?? null,
    rootRunId: run.rootRunId,
    sourceKey: run.provenance?.sourceSessionKey ?? null,
    acceptedAt: at.now,
    appendedAt: null,
  };
}

function toRunRow(run: NewRun, at: { seq: number; now: number }): RunRow {
  return {
    runId: run.runId,
    sessionKey: run.sessionKey,
    sessionId: null,
    seq: run.queue?.mode === 'interrupt' ? -at.seq : at.seq,
    state: 'queued',
    runClass: run.runClass,
    purpose: run.purpose,
    exchangeId: run.exchangeId ?? null,
    spawnKey: run.spawnKey ?? null,
    rootRunId: run.rootRunId,
    hops: run.hops,
    parentRunId: run.parentRunId ?? null,
    deliver: run.deliver ?? false,
    routeJson: run.route === undefined ? null : JSON.stringify(run.route),
    optionsJson: run.options === undefined ? null : JSON.stringify(run.options),
    acceptedAt: at.now,
    startedAt: null,
    endedAt: null,
    timeoutMs: wholeUpTo(run.timeoutMs, MAX_TIMEOUT_MS),
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
    queueMode: run.queue?.mode ?? null,
    purgedAt: null,
  };
}

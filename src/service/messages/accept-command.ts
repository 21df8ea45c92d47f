/**
 * Text commands of owners (A6, B14). A command changes a setting, has no turn of the agent, enters no
 * transcript, and is confirmed in one line; that line is the outcome of its runId. It passes a denied
 * session, and so does its confirmation.
 */
import { randomUUID } from 'node:crypto';
import {
  type OwnerCommand,
  overrideOf,
  parseOwnerCommand,
  sendConfirmation,
} from '../../core/owner-command.ts';
import { type Author, isOwner } from '../../core/owner.ts';
import type { Config } from '../../protocol/options/config.ts';
import type { Route } from '../../protocol/words.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { SessionRow } from '../../store/session-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import { audit } from '../audit.ts';
import type { RunContext } from '../context.ts';
import { putOutgoing, sendPolicyOf } from '../delivery/outbox.ts';
import { acceptDone, type IdempotencyKey } from '../runs/accept-run.ts';
import { tellClosed } from '../runs/tell-closed.ts';

export interface GivenCommand {
  command: OwnerCommand;
  /** false: it changes nothing, and is no message either */
  isOwners: boolean;
}

/** Whoever gives one, as the audit log names them. */
interface Giver {
  actor: string;
  sessionKey: string;
}

export interface CommandMessage {
  command: OwnerCommand;
  session: SessionRow;
  text: string;
  actor: string;
  idempotency: IdempotencyKey;
  /** the chat that is told; undefined = nobody is, the outcome can be asked for */
  route: Route | undefined;
}

/** A command that was carried out, for those who watch. */
export interface DoneCommand {
  run: RunRow;
  delivered: boolean;
}

/** Returns the command that this message is, or undefined: then it is a message to the agent. */
export function commandIn(
  { commands }: Config,
  { text, author }: { text: string; author: Author },
): GivenCommand | undefined {
  const command = commands.text ? parseOwnerCommand(text) : undefined;
  if (command === undefined) return undefined;
  return { command, isOwners: isOwner(author, commands.ownerAllowFrom) };
}

/** Carries out an owner's command: the setting, its line in the audit log, the outcome and what the chat is told. */
export async function acceptCommand(
  tx: WriteTx,
  context: RunContext,
  { command, session, text, actor, idempotency, route }: CommandMessage,
): Promise<DoneCommand> {
  const { key: sessionKey } = session;
  const after = await setSendPolicy(tx, { command, session, actor });
  const reply = sendConfirmation(command.setting, sendPolicyOf(context.config(), after));
  const runId = randomUUID();
  const run = await acceptDone(tx, {
    runId,
    sessionKey,
    kind: 'message',
    text,
    purpose: 'command',
    runClass: 'main',
    rootRunId: runId,
    hops: 0,
    idempotency,
    deliver: route !== undefined,
    ...(route === undefined ? {} : { route }),
    timeoutMs: 0,
    reply,
  });
  tx.signal({ type: 'session', sessionKey });
  if (route === undefined) return { run, delivered: false };
  const told = { session: after, route, runId, text: reply, key: `reply:${runId}` };
  const parts = await putOutgoing(tx, context, { ...told, isConfirmation: true });
  return { run, delivered: parts.some(({ state }) => state === 'queued') };
}

async function setSendPolicy(
  tx: WriteTx,
  { command, session, actor }: Pick<CommandMessage, 'command' | 'session' | 'actor'>,
): Promise<SessionRow> {
  const { setting } = command;
  const sendPolicy = setting === undefined ? session.sendPolicy : overrideOf(setting);
  if (sendPolicy === session.sendPolicy) return session;
  await tx.sessions.update(session.key, { sendPolicy });
  await auditCommand(tx, { command, actor, sessionKey: session.key, isRefused: false });
  return { ...session, sendPolicy };
}

/** Writes down that somebody who is no owner gave a command; that is all that comes of it (BR-065). */
export function refuseCommand(
  tx: WriteTx,
  refused: Giver & { command: OwnerCommand },
): Promise<void> {
  return auditCommand(tx, { ...refused, isRefused: true });
}

function auditCommand(
  tx: WriteTx,
  {
    command: { name, setting },
    actor,
    sessionKey,
    isRefused,
  }: Giver & { command: OwnerCommand; isRefused: boolean },
): Promise<void> {
  return audit(tx, {
    actor,
    action: `command.${name}`,
    subjectKind: 'session',
    subjectId: sessionKey,
    sessionKey,
    detail: { setting: setting ?? null, ...(isRefused ? { refused: true } : {}) },
  });
}

/** Tells who watches, once the command is committed. */
export function tellCommand(
  context: Pick<RunContext, 'events' | 'clock'>,
  { run, delivered }: DoneCommand,
): void {
  const closed = { run, reply: run.reply ?? '', delivered, merged: [] };
  tellClosed(context, { closed, message: undefined });
  context.events.emit({ type: 'session_changed', sessionKey: run.sessionKey });
}

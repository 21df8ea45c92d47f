/**
 * A person's message from a chat: it runs whatever the send policy says, and what is said to it is
 * judged when it goes out (A6). Only what a channel was set up for arrives here.
 */
import { randomUUID } from 'node:crypto';
import type { InboundAnswer, InboundMessage } from '../../channels/channel.ts';
import { closureOf } from '../../core/access.ts';
import { chatKeyOf } from '../../core/chat-key.ts';
import { queueSettings } from '../../core/queue-settings.ts';
import { routeOfParts } from '../../core/route-of-parts.ts';
import { KEY_MAX } from '../../protocol/tools/tool-limits.ts';
import type { RunRow } from '../../store/run-repository.ts';
import type { WriteTx } from '../../store/store.ts';
import type { RunContext } from '../context.ts';
import { toLastRoute } from '../delivery/outbox.ts';
import { acceptRun, contentHashOf, findAccepted, type IdempotencyKey } from '../runs/accept-run.ts';
import { tellDropped } from '../runs/tell-dropped.ts';
import { interruptWaits } from '../runs/wait-in-run.ts';
import { keySettings } from '../sessions/key-settings.ts';
import { ensureSession } from '../sessions/session-rows.ts';
import {
  acceptCommand,
  commandIn,
  type DoneCommand,
  type GivenCommand,
  refuseCommand,
  tellCommand,
} from './accept-command.ts';
import { queueMessage } from './queue-message.ts';

/** What a chat may send at once, in UTF-16 units; the doors have the same limit. */
const LONGEST_TEXT = 1_000_000;

/** Accepts the message into the session of its chat, or returns its first acceptance. */
export async function acceptInbound(
  context: RunContext,
  { channel, message }: { channel: string; message: InboundMessage },
): Promise<InboundAnswer> {
  const flaw = flawOf(message);
  if (flaw !== undefined) return { accepted: false, error: flaw };
  const { mainKey, scope, defaultAgentId: agentId } = keySettings(context.config());
  const { chatType: type, chatId: id, threadId } = message;
  const found = chatKeyOf({ channel, type, id, threadId }, { agentId, mainKey, scope });
  if (!found.ok) return { accepted: false, error: found.error };
  const inbound: Inbound = { channel, message, key: found.key, agentId };
  const { text, senderId } = message;
  const author = { type: 'sender', channel, senderId } as const;
  const given = commandIn(context.config(), { text, author });
  const taken = await context.store.write('accept-inbound', async (tx): Promise<Taken> => {
    if (given !== undefined && !given.isOwners) return ignore(tx, { inbound, given });
    const idempotency = nameOf(inbound);
    const earlier = await findAccepted(tx, idempotency);
    if (earlier !== undefined) return { answer: toAnswer(earlier), dropped: [] };
    return acceptNew(tx, context, { inbound, idempotency, given });
  });
  if (taken.done !== undefined) tellCommand(context, taken.done);
  tellDropped(context, taken.dropped);
  return taken.answer;
}

interface Taken {
  answer: InboundAnswer;
  dropped: RunRow[];
  done?: DoneCommand;
}

/** Written down and ignored: whoever may give no commands is told nothing, and the agent neither (BR-065). */
async function ignore(
  tx: WriteTx,
  { inbound, given: { command } }: { inbound: Inbound; given: GivenCommand },
): Promise<Taken> {
  await refuseCommand(tx, { command, actor: actorOf(inbound), sessionKey: inbound.key });
  const error = 'a command of somebody who is no owner (commands.ownerAllowFrom)';
  return { answer: { accepted: false, error, silent: true }, dropped: [] };
}

function actorOf({ channel, message: { senderId } }: Inbound): string {
  return `${channel}:${senderId}`;
}

interface Inbound {
  channel: string;
  message: InboundMessage;
  key: string;
  agentId: string;
}

function flawOf(message: InboundMessage): string | undefined {
  const { text, messageId, chatId, senderId, accountId = '', threadId = '' } = message;
  if (text.trim() === '') return 'the message has no text';
  if (text.length > LONGEST_TEXT) return `the message is longer than ${LONGEST_TEXT} characters`;
  if (messageId === '' || chatId === '') return 'the message has no id or no chat';
  // They are indexed, and what an index refuses would be offered again for ever.
  const ids = [messageId, chatId, senderId, accountId, threadId];
  const isLong = ids.some(({ length }) => length > KEY_MAX);
  if (isLong) return `an id of the message is longer than ${KEY_MAX} characters`;
  return undefined;
}

function toAnswer(earlier: { inputId: string; sessionKey: string } | 'conflict'): InboundAnswer {
  if (earlier === 'conflict') {
    return { accepted: false, error: 'another text of this messageId was accepted before' };
  }
  const { inputId: runId, sessionKey } = earlier;
  return { accepted: true, runId, sessionKey, isNew: false };
}

async function acceptNew(
  tx: WriteTx,
  context: RunContext,
  {
    inbound,
    idempotency,
    given,
  }: { inbound: Inbound; idempotency: IdempotencyKey; given: GivenCommand | undefined },
): Promise<Taken> {
  const { key, agentId, message, channel } = inbound;
  const config = context.config();
  const session = await ensureSession(tx, config, { key, agentId });
  const closure = closureOf(session);
  if (closure !== undefined) {
    const error = `session ${key} is ${closure}; it takes no messages`;
    return { answer: { accepted: false, error }, dropped: [] };
  }
  const { chatId: to, accountId, threadId } = message;
  const route = routeOfParts(channel, { to, accountId, threadId });
  if (given !== undefined) {
    const { text } = message;
    const order = { ...given, session, text, actor: actorOf(inbound), idempotency, route };
    const done = await acceptCommand(tx, context, order);
    const { runId } = done.run;
    return { answer: { accepted: true, runId, sessionKey: key, isNew: true }, dropped: [], done };
  }
  await tx.sessions.update(key, toLastRoute(route));
  const settings = queueSettings(config, session, channel);
  const { place, dropped } = await queueMessage(tx, { sessionKey: key, settings });
  const runId = randomUUID();
  await acceptRun(tx, {
    runId,
    sessionKey: key,
    kind: 'message',
    text: message.text,
    purpose: 'message',
    runClass: 'main',
    rootRunId: runId,
    hops: 0,
    idempotency,
    deliver: true,
    route,
    ...(place === undefined ? {} : { queue: place }),
    timeoutMs: config.agents.defaults.timeoutSeconds * 1000,
  });
  await interruptWaits(tx, { sessionKey: key, byRunId: runId });
  return { answer: { accepted: true, runId, sessionKey: key, isNew: true }, dropped };
}

/** The chat service names the message; a name is unique in its chat. */
function nameOf({ channel, message }: Inbound): IdempotencyKey {
  const { accountId, chatType, chatId, messageId, senderId, text } = message;
  return {
    scope: `channel ${JSON.stringify([channel, accountId ?? null, chatType, chatId])}`,
    key: messageId,
    contentHash: contentHashOf({ senderId, text }),
  };
}

/** Sessions at work, each with a credential in what it says or is told, and what another one reads of them. */
import { randomUUID } from 'node:crypto';
import type { Message } from '../../src/protocol/message.ts';
import { call, usersOf } from '../helpers/test-world.ts';
import { CANARIES, writeConfig } from './canary-config.ts';
import type { CanaryWorld } from './canary-world.ts';

type Json = Record<string, unknown>;

/** The session that has said most, and the one that asks about it. */
export const ONE = 'agent:a:one';
export const OTHER = 'agent:b:main';
export const CLIENT = 'agent:a:mcp:harness';

/** A credential in a message and the reply, in the result of a tool, and in the prompt. */
export async function fillSession(world: CanaryWorld): Promise<void> {
  await world.say(ONE, `SAY: the key is ${CANARIES.message}`);
  await world.say(ONE, `${call('read', { path: 'notes.txt' })}\nSAY: I have read it`);
  await world.say(ONE, `${call('telling__environment', {})}\nSAY: I have seen it`);
  const params = { extraSystemPrompt: `use ${CANARIES.prompt}`, idempotencyKey: randomUUID() };
  const end = await world.client.runAgent({
    sessionKey: ONE,
    message: `SAY: again ${CANARIES.message}`,
    ...params,
  });
  world.keep('method agent', end);
}

/** The provider quotes a key of somebody, and ours. */
export async function failRun(world: CanaryWorld): Promise<string> {
  const message = `no such key ${CANARIES.failure}, nor "${CANARIES.providerKey}"`;
  world.model.failNext({ kind: 'status', status: 400, message });
  const sent = await world.ask('chat.send', {
    sessionKey: 'agent:a:failing',
    message: 'SAY: never',
    idempotencyKey: randomUUID(),
  });
  await world.ask('agent.wait', { runId: sent['runId'], timeoutMs: 60_000 });
  world.model.failNext({ kind: 'status', status: 503, message });
  await world.say('agent:a:failing', 'SAY: at the second try');
  return String(sent['runId']);
}

/** Everything that a session can ask about another one. */
export async function askAsOther({ use }: CanaryWorld, failedRunId: string): Promise<void> {
  await use('sessions_list', { messageLimit: 20 }, OTHER);
  await use('sessions_history', { sessionKey: ONE, includeTools: true }, OTHER);
  await use('sessions_history', { sessionKey: 'agent:a:failing' }, OTHER);
  await use('sessions_search', { query: 'key' }, OTHER);
  await use('sessions_search', { query: 'token' }, OTHER);
  await use('agents_list', {}, OTHER);
  await use('sessions_wait', { runIds: [failedRunId], timeoutSeconds: 1 }, OTHER);
  const message = `SAY: you want ${CANARIES.message}`;
  const sent = await use('sessions_send', { sessionKey: ONE, message, timeoutSeconds: 30 }, OTHER);
  await use('sessions_wait', { runIds: [sent['runId']], timeoutSeconds: 1 }, OTHER);
  await use('sessions_spawn', { task: `SAY: found ${CANARIES.task}` }, OTHER);
  await use('sessions_stop', { sessionKey: ONE }, OTHER);
  await use('sessions_list', { messageLimit: 20, spawnedBy: OTHER }, OTHER);
}

/** A client without a runtime is written to, reads and answers. */
export async function askAsClient({ ask, use }: CanaryWorld): Promise<void> {
  await ask('sessions.create', { clientName: 'harness' });
  const message = `here is ${CANARIES.message}`;
  await use('sessions_send', { sessionKey: CLIENT, message, timeoutSeconds: 0 }, OTHER);
  const { messages } = await use('sessions_inbox', {}, CLIENT);
  const [{ messageId } = {}] = messages as Json[];
  const reply = { messageId, text: `thanks for ${CANARIES.message}` };
  await use('sessions_inbox', { reply }, CLIENT);
}

/** One session asks, the other answers with a credential, in turns. */
export async function exchange(world: CanaryWorld): Promise<void> {
  const args = { sessionKey: ONE, message: `SAY: it is ${CANARIES.message}`, timeoutSeconds: 30 };
  await world.say('agent:b:asking', `${call('sessions_send', args)}\nSAY: asked`);
  const told = await until(world, 'agent:b:asking', (messages) =>
    usersOf(messages).some(({ provenance }) => provenance?.sourceSessionKey === ONE),
  );
  const results = told.filter(({ role }) => role === 'toolResult');
  const turns = usersOf(told).filter(({ provenance }) => provenance?.sourceSessionKey === ONE);
  world.keep('exchange turn', [...results, ...turns]);
}

/** What a requester is told of its child, in its transcript and in its chat. */
export async function announce(world: CanaryWorld, mode: string): Promise<void> {
  writeConfig(world.stateDir, world.model.url, mode);
  await world.ask('config.reload');
  const key = `agent:b:${mode}`;
  const delivered: unknown[] = [];
  const stop = world.client.on(({ event, payload }) => {
    if (event === 'chat' && JSON.stringify(payload).includes(key)) delivered.push(payload);
  });
  await world.say(
    key,
    `${call('sessions_spawn', { task: `SAY: found ${CANARIES.task}` })}\nSAY: begun`,
  );
  const isTold = (page: Json): boolean =>
    /sessions_spawn[^]*Status: success/.test(JSON.stringify(page));
  const page = await untilPage(world, key, isTold);
  stop();
  const { messages, pending } = page as { messages: Message[]; pending: unknown };
  const told = usersOf(messages).filter(({ provenance }) => provenance !== undefined);
  world.keep(`announce ${mode}`, [told, pending, delivered]);
}

async function until(
  world: CanaryWorld,
  key: string,
  isThere: (messages: Message[]) => boolean,
): Promise<Message[]> {
  const page = await untilPage(world, key, (page) => isThere(page['messages'] as Message[]));
  return page['messages'] as Message[];
}

/** Looks at a history again whenever something happens. */
async function untilPage(
  world: CanaryWorld,
  sessionKey: string,
  isThere: (page: Json) => boolean,
): Promise<Json> {
  for (;;) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const stop = world.client.on(() => resolve());
    const page = await world.ask('chat.history', { sessionKey });
    if (!isThere(page)) await promise;
    stop();
    if (isThere(page)) return page;
  }
}

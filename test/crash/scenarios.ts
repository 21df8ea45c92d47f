/** What the tests of the crash table let a gateway do: each scenario can be asked for again under the same key. */
import type { GatewayClient } from '../../src/client/gateway-client.ts';
import { sendConfirmation } from '../../src/core/owner-command.ts';

export type ScenarioName =
  | 'send'
  | 'spawn'
  | 'door'
  | 'timeout'
  | 'slow'
  | 'wait'
  | 'stop'
  | 'patch'
  | 'inject'
  | 'leftNote'
  | 'collect'
  | 'steer'
  | 'interrupt'
  | 'overflow'
  | 'command'
  | 'cleanup'
  | 'reset'
  | 'delete'
  | 'prune'
  | 'relay'
  | 'nested'
  | 'inbox'
  | 'inbox-timeout'
  | 'calls';

export interface Scenario {
  /** Asks for it; again with the same key it is the same job. */
  ask(client: GatewayClient): Promise<{ runId?: string }>;
  /** what `agent.wait` says in the end; absent where there is no run */
  outcome?: { status: string; reply?: string };
  /** on top of the configuration of all */
  subagents?: Record<string, unknown>;
  /** `session.maintenance`, on top of the configuration of all */
  maintenance?: Record<string, unknown>;
  /** texts and counts differ with the moment of the crash */
  hasLooseText?: boolean;
}

/** names the job of every scenario */
export const KEY = 'crash-1';
/** file in the workspace of main that the edit of scenario `send` changes, once */
export const EDITED_FILE = 'edited.txt';

/** Returns a script line that plans these calls in one message. */
export function callTools(...calls: [name: string, args: Record<string, unknown>][]): string {
  return `TOOLS: ${JSON.stringify(calls.map(([name, args]) => ({ name, args })))}`;
}

const SCOUT = 'agent:scout:main';
/** the session of a client, which nobody plays */
const CLIENT = 'agent:main:mcp:client';

const spawnAndSleep = chatSend(
  `${callTools(['sessions_spawn', { task: 'SLEEP: 60000\nSAY: never' }])}\nSLEEP: 60000\nSAY: never`,
);

/** Resolves with the child of the run once it is going; with undefined when the run has ended. */
async function childOf(client: GatewayClient, runId: string): Promise<string | undefined> {
  for (;;) {
    const run = await client.request('runs.get', { runId });
    if (run['messageState'] === 'done') return undefined;
    const { runs } = await client.request<{ runs: Record<string, unknown>[] }>('runs.list', {
      state: 'running',
    });
    const task = runs.find(({ purpose }) => purpose === 'task');
    if (task !== undefined) return String(task['sessionKey']);
  }
}

export const SCENARIOS: Readonly<Record<ScenarioName, Scenario>> = {
  send: {
    ask: chatSend(
      [
        callTools(
          ['edit', { path: EDITED_FILE, oldText: 'to do', newText: 'done' }],
          ['sessions_send', { sessionKey: 'agent:scout:main', message: 'SAY: pong' }],
        ),
        'SAY: all done',
      ].join('\n'),
    ),
    outcome: { status: 'ok', reply: 'all done' },
  },
  spawn: {
    ask: chatSend(
      // The child sleeps, so that its parent has always ended first.
      `${callTools(['sessions_spawn', { task: 'SLEEP: 300\nSAY: child done' }])}\nSAY: spawned`,
    ),
    outcome: { status: 'ok', reply: 'spawned' },
  },
  door: {
    ask: async (client) => {
      const args = { sessionKey: 'agent:scout:main', message: 'SAY: knock' };
      const params = { tool: 'sessions_send', args, idempotencyKey: KEY };
      return (await client.request<{ result: { runId: string } }>('tools.invoke', params)).result;
    },
    outcome: { status: 'ok', reply: 'knock' },
  },
  timeout: {
    ask: (client) =>
      client.request('agent', {
        sessionKey: 'main',
        message: 'SLEEP: 60000\nSAY: never',
        timeout: 0.3,
        idempotencyKey: KEY,
      }),
    outcome: { status: 'timeout' },
    hasLooseText: true,
  },
  slow: {
    ask: chatSend('SLEEP: 2100\nSAY: slow'),
    outcome: { status: 'ok', reply: 'slow' },
  },
  wait: {
    ask: chatSend(
      [
        callTools(
          [
            'sessions_send',
            { sessionKey: SCOUT, message: 'SLEEP: 200\nSAY: 1', timeoutSeconds: 0 },
          ],
          ['sessions_send', { sessionKey: SCOUT, message: 'SAY: 2', timeoutSeconds: 0 }],
        ),
        callTools(['sessions_wait', { sessionKeys: [SCOUT], timeoutSeconds: 60 }]),
        'SAY: all in',
      ].join('\n'),
    ),
    outcome: { status: 'ok', reply: 'all in' },
  },
  stop: {
    ask: async (client) => {
      const { runId } = await spawnAndSleep(client);
      const childKey = await childOf(client, String(runId));
      if (childKey !== undefined) {
        const message = { message: 'SAY: more', idempotencyKey: `${KEY}-more` };
        await client.request('chat.send', { sessionKey: childKey, ...message });
      }
      await client.request('runs.stop', { sessionKey: 'main' });
      return { runId: String(runId) };
    },
    outcome: { status: 'error' },
    hasLooseText: true,
  },
  patch: {
    ask: (client) =>
      client.request('sessions.patch', { key: 'main', label: 'patched' }).then(() => ({})),
  },
  inject: {
    ask: (client) => {
      const note = { sessionKey: 'main', message: 'put in', idempotencyKey: KEY };
      return client.request('chat.inject', note).then(() => ({}));
    },
  },
  leftNote: {
    ask: async (client) => {
      const sent = await chatSend('SLEEP: 1000\nSAY: slept')(client);
      await untilItRuns(client, sent);
      const note = { sessionKey: 'main', message: 'put in', idempotencyKey: `${KEY}-note` };
      await client.request('chat.inject', note);
      return sent;
    },
    outcome: { status: 'ok', reply: 'slept' },
  },
  collect: {
    ask: inMode({ queueMode: 'collect' }, ['SLEEP: 1000\nSAY: zero', 'SAY: one', 'SAY: two']),
    outcome: { status: 'ok', reply: 'two' },
  },
  steer: {
    ask: inMode({ queueMode: 'steer' }, [
      `SLEEP: 1000\n${callTools(['agents_list', {}])}\nSAY: unsteered`,
      'SAY: steered',
    ]),
    outcome: { status: 'ok', reply: 'steered' },
  },
  interrupt: {
    ask: inMode({ queueMode: 'interrupt' }, ['SLEEP: 60000\nSAY: never', 'SAY: instead']),
    outcome: { status: 'ok', reply: 'instead' },
    hasLooseText: true,
  },
  overflow: {
    ask: inMode({ queueMode: 'collect', queueCap: 1, queueDrop: 'summarize' }, [
      'SLEEP: 1000\nSAY: zero',
      'SAY: one',
      'SAY: two',
    ]),
    outcome: { status: 'ok', reply: 'two' },
  },
  command: {
    ask: chatSend('/send off'),
    outcome: { status: 'ok', reply: sendConfirmation('off', { allowed: false, rule: '' }) },
  },
  cleanup: {
    ask: chatSend(
      `${callTools(['sessions_spawn', { task: 'SLEEP: 300\nSAY: child done', cleanup: 'delete' }])}\nSAY: spawned`,
    ),
    outcome: { status: 'ok', reply: 'spawned' },
  },
  reset: {
    ask: async (client) => {
      const first = chatSend('SLEEP: 60000\nSAY: never', `${KEY}-first`);
      await untilItRuns(client, await first(client));
      await client.request('sessions.reset', { key: 'main' });
      return chatSend('SAY: afresh')(client);
    },
    outcome: { status: 'ok', reply: 'afresh' },
    hasLooseText: true,
  },
  delete: {
    ask: (client) => writeAndDelete(client, { chat: 'g1', key: KEY, deleteTranscript: true }),
  },
  prune: {
    ask: async (client) => {
      const run = await writeAndDelete(client, { chat: 'g1', key: KEY, deleteTranscript: false });
      // What is deleted with its transcript makes the gateway look at once for what is old.
      await writeAndDelete(client, { chat: 'g2', key: `${KEY}-g2`, deleteTranscript: true });
      return run;
    },
    maintenance: { pruneAfter: '1ms' },
  },
  relay: {
    ask: chatSend(
      `${callTools(['sessions_spawn', { task: 'SLEEP: 300\nSAY: child done' }])}\nSAY: spawned`,
    ),
    subagents: { announce: { mode: 'relay' } },
    outcome: { status: 'ok', reply: 'spawned' },
  },
  nested: {
    ask: chatSend(
      // Each sleeps, so that the one above it has always ended first.
      `${callTools(['sessions_spawn', { task: `SLEEP: 300\n${callTools(['sessions_spawn', { task: 'SLEEP: 500\nSAY: child done' }])}\nSAY: parent done` }])}\nSAY: spawned`,
    ),
    subagents: { maxSpawnDepth: 2 },
    outcome: { status: 'ok', reply: 'spawned' },
  },
  inbox: {
    ask: async (client) => {
      await client.request('sessions.create', { key: CLIENT });
      const first = await chatSend('one', KEY, CLIENT)(client);
      await chatSend('two', `${KEY}-two`, CLIENT)(client);
      const args = { sessionKey: CLIENT, message: 'a note', mode: 'note' };
      const note = { tool: 'sessions_send', args, sessionKey: SCOUT, idempotencyKey: `${KEY}-n` };
      await client.request('tools.invoke', note);
      await answerAll(client);
      return first;
    },
    outcome: { status: 'ok', reply: 're: one' },
  },
  'inbox-timeout': {
    ask: async (client) => {
      await client.request('sessions.create', { key: CLIENT });
      const message = { message: 'never', timeout: 0.3, idempotencyKey: KEY };
      const { runId } = await client.request('agent', { sessionKey: CLIENT, ...message });
      await lookInto(client, {});
      await client.request('agent.wait', { runId, timeoutMs: 20_000 });
      return { runId: String(runId) };
    },
    outcome: { status: 'timeout' },
  },
  calls: {
    ask: async (client) => {
      await client.request('sessions.create', { key: CLIENT });
      const first = await deferSend(client, 'one', KEY);
      const { callId } = await deferSend(client, 'two', `${KEY}-two`);
      await client.request('calls.cancel', { callId, sessionKey: SCOUT });
      await answerAll(client);
      const query = { callId: first.callId, sessionKey: SCOUT, timeoutMs: 20_000 };
      const { runIds } = await client.call('calls.get', query);
      return { runId: String(runIds[0]) };
    },
    outcome: { status: 'ok', reply: 're: one' },
  },
};

/** A message to a client, whose answer is fetched later. */
async function deferSend(
  client: GatewayClient,
  message: string,
  idempotencyKey: string,
): Promise<{ callId: string }> {
  const args = { sessionKey: CLIENT, message, timeoutSeconds: 600 };
  const call = { tool: 'sessions_send', args, sessionKey: SCOUT, idempotencyKey };
  const { call: made } = await client.request<{ call: { callId: string } }>('calls.start', call);
  return made;
}

/** Answers what a client has in hand until nothing is left. */
async function answerAll(client: GatewayClient): Promise<void> {
  let [message] = await lookInto(client, {});
  while (message !== undefined) {
    const { messageId, text } = message;
    [message] = await lookInto(client, { reply: { messageId, text: `re: ${text}` } });
  }
}

async function lookInto(
  client: GatewayClient,
  args: Record<string, unknown>,
): Promise<{ messageId: string; text: string }[]> {
  const params = { tool: 'sessions_inbox', args, sessionKey: CLIENT };
  const { result } = await client.request<{
    result: { messages: { messageId: string; text: string }[] };
  }>('tools.invoke', params);
  return result.messages;
}

/** A group chat whose one message is answered, and which is then deleted. */
async function writeAndDelete(
  client: GatewayClient,
  given: { chat: string; key: string; deleteTranscript: boolean },
): Promise<{ runId: string }> {
  const sessionKey = `agent:main:telegram:group:${given.chat}`;
  const message = `${callTools(['agents_list', {}])}\nSAY: there`;
  const sent = { sessionKey, message, idempotencyKey: given.key };
  const { runId } = await client.request('chat.send', sent);
  await client.request('agent.wait', { runId, timeoutMs: 20_000 });
  const deletion = { key: sessionKey, deleteTranscript: given.deleteTranscript };
  await client.request('sessions.delete', deletion).catch((error: unknown) => {
    // purged by the first call
    if (!String(error).includes('not found')) throw error;
  });
  return { runId: String(runId) };
}

/** Sends the messages one after the other into the main session, the first one until it runs. */
function inMode(
  settings: Record<string, unknown>,
  [first, ...later]: readonly string[],
): Scenario['ask'] {
  return async (client) => {
    await client.request('sessions.patch', { key: 'main', ...settings });
    await untilItRuns(client, await chatSend(first ?? '', `${KEY}-first`)(client));
    let last: { runId?: string } = {};
    for (const [at, message] of later.entries()) {
      const isLast = at === later.length - 1;
      last = await chatSend(message, isLast ? KEY : `${KEY}-${at}`)(client);
    }
    return last;
  };
}

async function untilItRuns(client: GatewayClient, { runId }: { runId?: string }): Promise<void> {
  for (;;) {
    const { messageState } = await client.request('agent.wait', { runId, timeoutMs: 0 });
    if (messageState !== 'queued') return;
  }
}

function chatSend(message: string, idempotencyKey = KEY, sessionKey = 'main'): Scenario['ask'] {
  return (client) => client.request('chat.send', { sessionKey, message, idempotencyKey });
}

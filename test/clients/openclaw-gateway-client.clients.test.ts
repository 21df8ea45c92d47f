/** The published client `@openclaw/gateway-client` against our gateway: protocol 4, without a change to it. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { CRASH_CONFIG, makeStateDir, startGatewayProcess } from '../helpers/gateway-process.ts';

type Json = Record<string, unknown>;
interface Event {
  event: string;
  payload: Json;
  seq: number;
}
/** What of the client is used here; its own types need it installed. */
interface OpenClawClient {
  start(): void;
  stopAndWait(): Promise<void>;
  request(method: string, params: object, options?: { expectFinal?: boolean }): Promise<Json>;
}
interface OpenClawOptions {
  url: string;
  token: string;
  minProtocol: number;
  maxProtocol: number;
  onHelloOk: (hello: { protocol: number }) => void;
  onEvent: (event: Event) => void;
  onGap: () => void;
}

// a name that the compiler does not look for: the package is installed beside these tests alone
const PACKAGE: string = '@openclaw/gateway-client';
const { GatewayClient } = (await import(PACKAGE)) as {
  GatewayClient: new (options: OpenClawOptions) => OpenClawClient;
};

const MAIN = 'agent:main:main';

/** A connected client of theirs, what it was told, and when it is connected the next time. */
async function connect(t: TestContext, { port, token }: { port: number; token: string }) {
  const events: Event[] = [];
  const wakes = new Set<() => void>();
  const hellos: number[] = [];
  let gaps = 0;
  const tell = (): void => wakes.forEach((wake) => wake());
  const until = async (isSo: () => boolean): Promise<void> => {
    while (!isSo()) await new Promise<void>((resolve) => wakes.add(resolve));
  };
  const client = new GatewayClient({
    url: `ws://127.0.0.1:${port}`,
    token,
    minProtocol: 4,
    maxProtocol: 4,
    onHelloOk: ({ protocol }) => {
      hellos.push(protocol);
      tell();
    },
    onEvent: (event) => {
      events.push(event);
      tell();
    },
    onGap: () => (gaps += 1),
  });
  client.start();
  t.after(() => client.stopAndWait());
  await until(() => hellos.length === 1);
  const messages = (): unknown[] =>
    events.filter(({ event }) => event === 'session.message').map(({ payload }) => payload['seq']);
  return { client, events, hellos, until, messages, gaps: () => gaps };
}

test('[CL9] @openclaw/gateway-client connects with protocol 4, lists, reads, sends, runs an agent, waits, hears events and lives through a restart', async (t) => {
  const stateDir = makeStateDir(t, { config: CRASH_CONFIG });
  const gateway = startGatewayProcess(t, { stateDir });
  const { port, token } = await gateway.ready;
  const { client, events, hellos, until, messages, gaps } = await connect(t, { port, token });
  assert.deepEqual(hellos, [4]);

  const listed = await client.request('sessions.list', {});
  assert.ok((listed['sessions'] as Json[]).some(({ key }) => key === MAIN));
  await client.request('sessions.subscribe', {});
  const start = await client.request('sessions.messages.subscribe', { key: 'main' });
  assert.deepEqual([start['subscribed'], start['key'], start['seq']], [true, MAIN, 0]);

  const send = { sessionKey: 'main', message: 'SAY: hello', idempotencyKey: 'k1' };
  const { runId } = await client.request('chat.send', send);
  const ended = await client.request('agent.wait', { runId, timeoutMs: 20_000 });
  assert.deepEqual([ended['status'], ended['reply']], ['ok', 'hello']);
  assert.equal((await client.request('chat.send', send))['status'], 'ok');

  const run = { sessionKey: MAIN, message: 'SAY: by agent', idempotencyKey: 'k2' };
  const final = await client.request('agent', run, { expectFinal: true });
  assert.deepEqual(final['result'], { payloads: [{ text: 'by agent' }] });
  await until(() => messages().length === 4);
  assert.ok(events.some(({ event, payload }) => event === 'chat' && payload['state'] === 'final'));
  await client.request('sessions.patch', { key: 'main', label: 'mine' });
  await until(() => events.some(({ event }) => event === 'sessions.changed'));
  const history = await client.request('chat.history', { sessionKey: 'main' });
  assert.equal((history['messages'] as Json[]).length, 4);
  await assert.rejects(client.request('sessions.lst', {}), /nearest: "sessions.list"/);

  await gateway.kill();
  await startGatewayProcess(t, { stateDir, port }).ready;
  await until(() => hellos.length === 2);
  const { key, sessionId } = start;
  const afterSeq = { sessionId, seq: 3 };
  await client.request('sessions.messages.subscribe', { key, afterSeq });
  const again = await client.request('agent', run, { expectFinal: true });
  assert.equal(again['runId'], final['runId']);
  const next = { sessionKey: MAIN, message: 'SAY: after it', idempotencyKey: 'k3' };
  await client.request('agent', next, { expectFinal: true });
  await until(() => messages().length === 7);
  assert.deepEqual(messages(), [1, 2, 3, 4, 4, 5, 6]);
  assert.equal(gaps(), 0);
});

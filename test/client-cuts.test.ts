/** The promises of the client over a line that breaks anywhere, and a gateway that is killed. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test, type TestContext } from 'node:test';
import fc from 'fast-check';
import { createClient, type Client } from '../src/client/create-client.ts';
import { textOf } from '../src/protocol/message.ts';
import { collectMessages, type CollectedMessages } from './helpers/collected-messages.ts';
import { openCuttingLink, type Cut } from './helpers/cuttable-link.ts';
import { CRASH_CONFIG, makeStateDir, startGatewayProcess } from './helpers/gateway-process.ts';
import { startWorld, usersOf } from './helpers/test-world.ts';

/** What a client was told of a session and of what it asked for. */
interface Story extends CollectedMessages {
  /** of each send by its text: how often its wait answered, and with what */
  answers: Map<string, string[]>;
}

/** Sends these texts one after another, each with a wait beside it, and listens. */
async function play(
  client: Client,
  { key, texts, reset }: { key: string; texts: readonly string[]; reset?: () => Promise<unknown> },
): Promise<Story> {
  const story: Story = { ...collectMessages(), answers: new Map() };
  await client.followMessages({
    key,
    onMessage: story.onMessage,
    onEnd: (error) => error?.message.includes('closed') === true || assert.fail(error?.message),
  });
  const note = (text: string) => (answer: { outcome?: string; reply?: string }) =>
    story.answers.set(text, [
      ...(story.answers.get(text) ?? []),
      `${answer.outcome} ${answer.reply}`,
    ]);
  for (const [at, text] of texts.entries()) {
    const send = { sessionKey: key, message: `SAY: ${text}`, idempotencyKey: `${key} ${text}` };
    if (at % 2 === 0) {
      const { runId } = await client.call('chat.send', send);
      await client.call('agent.wait', { runId, timeoutMs: 60_000 }).then(note(text));
    } else {
      const { result, ...final } = await client.runAgent(send);
      note(text)({ ...final, reply: result.payloads[0]?.text ?? '' });
    }
    if (at === 1) await reset?.();
  }
  return story;
}

function assertOnce({ messages, answers }: Story, texts: readonly string[]): void {
  assert.deepEqual(
    messages.map(({ message }) => textOf(message)),
    texts.flatMap((text) => [`SAY: ${text}`, text]),
  );
  assert.deepEqual(
    [...answers],
    texts.map((text) => [text, [`ok ${text}`]]),
  );
}

const cuts = fc.array(
  fc.record({
    afterBytes: fc.integer({ min: 1, max: 9000 }),
    side: fc.constantFrom('client', 'gateway'),
  }),
  { minLength: 1, maxLength: 12 },
) as fc.Arbitrary<Cut[]>;

test('[CL2, CL3, CL4] wherever connections break, each message is told once and in order, each send is done once, each wait answers once', async (t) => {
  const world = await startWorld(t);
  const link = await openCuttingLink(t, world.gateway.port);
  const faults = catchRejections(t);
  await fc.assert(
    fc.asyncProperty(cuts, fc.boolean(), async (plan, isReset) => {
      const key = `agent:a:telegram:group:${randomUUID()}`;
      await world.say(key, 'SAY: first');
      link.plan(plan);
      const client = createClient({ url: link.url, token: world.gateway.token, firstRetryMs: 1 });
      t.after(() => client.close());
      try {
        const texts = ['one', 'two', 'three'];
        const reset = () => world.client.request('sessions.reset', { key });
        const story = await play(client, { key, texts, ...(isReset ? { reset } : {}) });
        await story.until(texts.length * 2);
        assertOnce(story, texts);
        const users = usersOf(await world.history(key)).map(textOf);
        const expected = isReset ? texts.slice(2) : ['first', ...texts];
        assert.deepEqual(
          users,
          expected.map((text) => `SAY: ${text}`),
        );
      } finally {
        await client.close();
      }
    }),
    // a message that is never told is waited for: then the cuts are told in place of the runner's limit
    { numRuns: 15, timeout: 60_000, endOnFailure: true },
  );
  assert.deepEqual(faults, []);
});

test('[CL2, CL3, CL4] a gateway that is killed again and again is the same gateway to its client', async (t) => {
  const stateDir = makeStateDir(t, { config: CRASH_CONFIG });
  let gateway = startGatewayProcess(t, { stateDir });
  const { port, token } = await gateway.ready;
  const link = await openCuttingLink(t, port);
  const faults = catchRejections(t);
  const client = createClient({ url: link.url, token, firstRetryMs: 20, lastRetryMs: 200 });
  t.after(() => client.close());
  const texts = Array.from({ length: 6 }, (_, n) => `text ${n}`);
  const playing = play(client, { key: 'main', texts });
  for (let n = 0; n < 2; n += 1) {
    const { promise: moved, resolve } = Promise.withResolvers<void>();
    const stop = client.on('session.message', () => resolve());
    await moved;
    stop();
    await gateway.kill();
    gateway = startGatewayProcess(t, { stateDir, port });
    await gateway.ready;
  }
  const story = await playing;
  await story.until(texts.length * 2);
  assertOnce(story, texts);
  const history = await client.call('chat.history', { sessionKey: 'main' });
  assert.deepEqual(
    history.messages.map(textOf),
    story.messages.map(({ message }) => textOf(message)),
  );
  assert.deepEqual(faults, []);
});

/** Keeps what nobody has handled; the runner would end the process at it. */
function catchRejections(t: TestContext): unknown[] {
  const faults: unknown[] = [];
  const keep = (fault: unknown): void => void faults.push(fault);
  process.on('unhandledRejection', keep);
  t.after(() => process.off('unhandledRejection', keep));
  return faults;
}

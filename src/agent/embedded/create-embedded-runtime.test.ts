import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { startFakeModel, type FakeModel } from '../../../test/helpers/fake-model.ts';
import {
  createRecordingHost,
  createTurn,
  noSignal,
  toUser,
  type RecordingHost,
} from '../../../test/helpers/recording-host.ts';
import { textOf, type AssistantMessage, type Message } from '../../protocol/message.ts';
import { silentLogger } from '../../util/logger.ts';
import type { AgentRuntime, Turn } from '../runtime.ts';
import { createEmbeddedRuntime } from './create-embedded-runtime.ts';
import type { ModelProvider } from './model-provider.ts';

const API_KEY = 'a-secret-key-123';

let fake: FakeModel;
before(async () => {
  fake = await startFakeModel();
});
afterEach(() => {
  fake.requests.length = 0;
  fake.reportsUsage = true;
});
after(() => fake.close());

function createRuntime(provider: Partial<ModelProvider>): AgentRuntime {
  const full = { baseUrl: `${fake.url}/v1`, apiKey: API_KEY, ...provider };
  return createEmbeddedRuntime({ providers: () => ({ fake: full }), logger: silentLogger });
}

for (const api of ['openai-completions', 'anthropic-messages'] as const) {
  describe(`createEmbeddedRuntime over ${api}`, () => {
    const run = async (
      turn: Turn,
      {
        host = createRecordingHost(),
        signal = noSignal(),
        provider = {},
      }: {
        host?: RecordingHost;
        signal?: AbortSignal;
        provider?: Partial<ModelProvider>;
      } = {},
    ): Promise<AssistantMessage> => createRuntime({ api, ...provider }).runTurn(turn, host, signal);

    it('returns a plain reply, streamed in the pieces the model sends', async () => {
      const host = createRecordingHost();
      const final = await run(createTurn('CHUNKS: 3\nSAY: abcdef'), { host });
      assert.deepEqual(host.deltas, ['ab', 'cd', 'ef']);
      assert.deepEqual(final.content, [{ type: 'text', text: 'abcdef' }]);
      assert.deepEqual([final.api, final.provider, final.model], [api, 'fake', 'fake-1']);
      assert.equal(final.stopReason, 'stop');
      assert.deepEqual(host.committed, []);
    });

    it('asks the model again only after the host has committed the results', async () => {
      const requestsAt: number[] = [];
      const host = createRecordingHost(async () => {
        requestsAt.push(fake.requests.length);
        // Longer than a request takes to start: an early one would be seen.
        await fetch(`${fake.url}/nothing`);
        requestsAt.push(fake.requests.length);
      });
      const final = await run(
        createTurn(
          'TOOL: first {"n":1}\nTOOLS: [{"name":"first","args":{"n":2}},{"name":"second"}]',
        ),
        { host },
      );
      assert.deepEqual(requestsAt, [1, 1, 2, 2]);
      assert.equal(fake.requests.length, 3);
      assert.equal(textOf(final), 'DONE: result of second {}');
      assert.deepEqual(
        host.committed.map(({ stopReason }) => stopReason),
        ['toolUse', 'toolUse'],
      );
    });

    it('shows the model what the host answered, also for arguments that break the schema', async () => {
      const host = createRecordingHost();
      await run(createTurn('TOOL: first {"n":"not a number"}'), { host });
      assert.match(fake.requests[1]?.raw ?? '', /result of first \{\\+"n\\+":\\+"not a number/);
    });

    it('continues a transcript that ends with a tool result', async () => {
      const host = createRecordingHost();
      const messages: Message[] = [toUser('TOOL: first\nTOOL: second')];
      const grown = createRecordingHost();
      await run(createTurn('', { messages }), { host: grown });
      const [planned] = grown.committed;
      assert.ok(planned);
      messages.push(planned, ...(await createRecordingHost().toolCalls(planned)));
      await run(createTurn('', { messages }), { host });
      assert.deepEqual(
        host.committed.map(({ content }) => content.length),
        [1],
      );
      assert.deepEqual(host.committed[0]?.content[0]?.type, 'toolCall');
    });

    it('sends the system prompt and the user text byte for byte, and nothing of its own', async () => {
      const systemPrompt = '  Prompt with ünïcode 🙂 and an end of line.\n';
      await run(createTurn('SAY: x', { systemPrompt, tools: [] }), {
        provider: { models: [{ id: 'fake-1', maxTokens: 99 }] },
      });
      const { body, headers } = fake.requests[0] ?? assert.fail('no request');
      if (api === 'openai-completions') {
        assert.deepEqual(body, {
          model: 'fake-1',
          messages: [
            { role: 'system', content: systemPrompt },
            { role: 'user', content: 'SAY: x' },
          ],
          stream: true,
          stream_options: { include_usage: true },
          max_completion_tokens: 99,
        });
      } else {
        const cache_control = { type: 'ephemeral' };
        assert.deepEqual(body, {
          model: 'fake-1',
          max_tokens: 99,
          stream: true,
          system: [{ type: 'text', text: systemPrompt, cache_control }],
          messages: [{ role: 'user', content: [{ type: 'text', text: 'SAY: x', cache_control }] }],
        });
      }
      assert.equal(headers['user-agent'], 'trunkline');
    });

    it('declares each tool with its own schema', async () => {
      await run(createTurn('SAY: x'));
      const raw = fake.requests[0]?.raw ?? '';
      assert.match(raw, /"description":"The first tool\."/);
      assert.match(raw, /"properties":\{"n":\{"type":"number"\}\}/);
    });

    it('passes the thinking level of the session on, and none for off', async () => {
      for (const thinking of ['off', 'low', 'xhigh'] as const) {
        await run(createTurn('SAY: x', { thinking }), {
          provider: { models: [{ id: 'fake-1', maxTokens: 64_000 }] },
        });
      }
      const sent = fake.requests.map(
        ({ body }) =>
          body.reasoning_effort ??
          (body.thinking as { budget_tokens: number } | undefined)?.budget_tokens,
      );
      assert.deepEqual(
        sent,
        api === 'openai-completions' ? [undefined, 'low', 'xhigh'] : [undefined, 2_048, 32_768],
      );
    });

    it('counts the cost from our prices, and reports zero without any', async () => {
      const cost = { input: 3, output: 15 };
      const priced = await run(createTurn('SAY: hello'), {
        provider: { models: [{ id: 'fake-1', cost }] },
      });
      const usage = priced.usage ?? assert.fail('no usage');
      assert.ok(usage.input > 0 && usage.output > 0);
      assert.equal(usage.cost.total, (usage.input * 3) / 1e6 + (usage.output * 15) / 1e6);
      const unpriced = await run(createTurn('SAY: hello'));
      assert.equal(unpriced.usage?.cost.total, 0);
    });

    it('[BR-117] leaves usage out when the model reports none', async () => {
      fake.reportsUsage = false;
      const final = await run(createTurn('SAY: hello'));
      assert.equal(textOf(final), 'hello');
      assert.ok(!('usage' in final));
    });

    it('[BR-027] asks twice more after a 429, with the same context each time', async () => {
      fake.failNext({ kind: 'status', status: 429, retryAfter: '0' }, 2);
      const final = await run(createTurn('SAY: at last'));
      assert.equal(textOf(final), 'at last');
      assert.equal(fake.requests.length, 3);
      assert.equal(new Set(fake.requests.map(({ raw }) => raw)).size, 1);
    });

    it('[BR-020] ends as an error that names 429 when the third try fails too', async () => {
      fake.failNext({ kind: 'status', status: 429, message: 'slow down' }, 3);
      const final = await run(createTurn('SAY: x'));
      assert.equal(fake.requests.length, 3);
      assert.deepEqual(
        [final.stopReason, final.errorMessage],
        ['error', 'fake/fake-1: 429 slow down'],
      );
    });

    it('[BR-020] does not wait for a longer retry-after', async () => {
      fake.failNext({ kind: 'status', status: 429, retryAfter: '30', message: 'slow down' });
      const final = await run(createTurn('SAY: x'));
      assert.equal(fake.requests.length, 1);
      assert.equal(final.errorMessage, 'fake/fake-1: 429 slow down (asks to wait 30 s)');
    });

    it('asks again after a 500 and after a broken connection', async () => {
      fake.failNext({ kind: 'status', status: 500, retryAfter: '0' });
      fake.failNext({ kind: 'drop' });
      assert.equal(textOf(await run(createTurn('SAY: here'))), 'here');
    });

    it('does not ask again after a 400', async () => {
      fake.failNext({ kind: 'status', status: 400, message: 'context too long' });
      const final = await run(createTurn('SAY: x'));
      assert.equal(fake.requests.length, 1);
      assert.equal(final.errorMessage, 'fake/fake-1: 400 context too long');
    });

    it('keeps the API key out of an error that quotes it', async () => {
      fake.failNext({ kind: 'status', status: 401, message: `wrong key ${API_KEY}` });
      const final = await run(createTurn('SAY: x'));
      assert.equal(final.errorMessage, 'fake/fake-1: 401 wrong key [masked]');
    });

    it('names a server that cannot be reached', async () => {
      const final = await run(createTurn('SAY: x'), {
        provider: { baseUrl: 'http://127.0.0.1:1/v1' },
      });
      assert.equal(final.stopReason, 'error');
      assert.match(final.errorMessage ?? '', /^fake\/fake-1: .*(ECONNREFUSED|bad port)/);
    });

    it('[BR-162] keeps the text but no call of a stream that breaks within a tool call', async () => {
      fake.failNext({
        kind: 'cut-tool-call',
        name: 'first',
        argumentsStart: '{"n":"\u0001\u0000\\u00',
        text: 'Let me see',
      });
      const host = createRecordingHost();
      const final = await run(createTurn('SAY: x'), { host });
      assert.deepEqual(final.content, [{ type: 'text', text: 'Let me see' }]);
      assert.equal(final.stopReason, 'error');
      assert.deepEqual(host.committed, []);
      assert.equal(fake.requests.length, 1);

      const messages = [toUser('first try'), final, toUser('SAY: works')];
      assert.equal(textOf(await run(createTurn('', { messages }))), 'works');
      assert.match(fake.requests[1]?.raw ?? '', /Let me see/);
    });

    it('ends as aborted with the partial text when the signal fires within the stream', async () => {
      fake.failNext({ kind: 'stall', text: 'partial' });
      const abort = new AbortController();
      const host = createRecordingHost();
      host.delta = () => abort.abort();
      const final = await run(createTurn('SAY: x'), { host, signal: abort.signal });
      assert.deepEqual([textOf(final), final.stopReason], ['partial', 'aborted']);
    });

    it('ends as aborted when the model never answers', async () => {
      fake.failNext({ kind: 'hang' });
      const abort = new AbortController();
      const running = run(createTurn('SAY: x'), { signal: abort.signal });
      await fake.requestCount(1);
      abort.abort();
      assert.deepEqual([(await running).stopReason, fake.requests.length], ['aborted', 1]);
    });

    it('makes no further request when the signal fires during a tool call', async () => {
      const abort = new AbortController();
      const host = createRecordingHost(() => Promise.resolve(abort.abort()));
      const final = await run(createTurn('TOOL: first'), { host, signal: abort.signal });
      assert.deepEqual([final.stopReason, fake.requests.length], ['aborted', 1]);
    });

    it('passes on a rejection of the host', async () => {
      const host = createRecordingHost(() => Promise.reject(new Error('fenced')));
      await assert.rejects(run(createTurn('TOOL: first'), { host }), /fenced/);
      assert.equal(fake.requests.length, 1);
    });

    it('works without a key for servers that want none', async () => {
      const baseUrl = `${fake.url}/v1`;
      const runtime = createEmbeddedRuntime({
        providers: () => ({ fake: { baseUrl, api } }),
        logger: silentLogger,
      });
      const final = await runtime.runTurn(
        createTurn('SAY: open'),
        createRecordingHost(),
        noSignal(),
      );
      assert.equal(textOf(final), 'open');
    });

    it('refuses a model that the provider does not list, before any request', async () => {
      const final = await run(createTurn('SAY: x'), { provider: { models: [{ id: 'other' }] } });
      assert.equal(final.stopReason, 'error');
      assert.equal(final.errorMessage, 'provider "fake" has no model "fake-1"; it has: other');
      assert.equal(fake.requests.length, 0);
    });
  });
}

describe('createEmbeddedRuntime', () => {
  for (const provider of ['nobody', '__proto__']) {
    it(`refuses the unknown provider ${provider} by name`, async () => {
      const turn = createTurn('SAY: x', { model: { provider, id: 'm' } });
      const final = await createRuntime({}).runTurn(turn, createRecordingHost(), noSignal());
      assert.equal(
        final.errorMessage,
        `no model provider "${provider}"; configured: fake (models.providers)`,
      );
    });
  }
});

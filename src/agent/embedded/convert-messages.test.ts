import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AssistantMessage as PiAssistantMessage } from '@earendil-works/pi-ai';
import type { AssistantMessage } from '../../protocol/message.ts';
import { fromPiMessage, toPiMessage } from './convert-messages.ts';

const usage = {
  input: 1,
  output: 2,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: 3,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};

function toPi(changes: Partial<PiAssistantMessage>): PiAssistantMessage {
  return {
    role: 'assistant',
    content: [],
    api: 'openai-completions',
    provider: 'p',
    model: 'm',
    usage,
    stopReason: 'toolUse',
    timestamp: 1,
    ...changes,
  };
}

const call = { type: 'toolCall' as const, id: 'c1', name: 'read', arguments: { path: 'a' } };

describe('fromPiMessage', () => {
  it('keeps what the transcript format has, and nothing else', () => {
    const message = fromPiMessage(
      toPi({
        content: [
          { type: 'thinking', thinking: 't', thinkingSignature: 's', redacted: true },
          { type: 'text', text: 'x', textSignature: 'sig' },
          call,
        ],
        responseId: 'r',
        durationMs: 5,
        usage: { ...usage, reasoning: 9, cost: { ...usage.cost, totalFromProvider: false } },
      }),
    );
    assert.deepEqual(message, {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 't', thinkingSignature: 's', redacted: true },
        { type: 'text', text: 'x' },
        call,
      ],
      api: 'openai-completions',
      provider: 'p',
      model: 'm',
      usage,
      stopReason: 'toolUse',
      timestamp: 1,
    });
  });

  it('gives calls without an id, or with the same one, ids of their own', () => {
    const { content } = fromPiMessage(toPi({ content: [{ ...call, id: '' }, call, call] }));
    const ids = content.map((block) => (block.type === 'toolCall' ? block.id : ''));
    assert.equal(new Set(ids).size, 3);
    assert.ok(ids.every((id) => id !== ''));
  });

  it('does not let arguments that were no JSON pass as empty ones', () => {
    const broken = { ...call, arguments: {}, argumentsError: 'Unexpected end' };
    const { content } = fromPiMessage(toPi({ content: [broken] }));
    assert.deepEqual(content, [{ ...call, arguments: { invalidJson: 'Unexpected end' } }]);
  });

  for (const stopReason of ['length', 'error', 'aborted'] as const) {
    it(`drops the calls of a message that ended with ${stopReason}`, () => {
      const message = fromPiMessage(
        toPi({ stopReason, content: [{ type: 'text', text: 'x' }, call] }),
      );
      assert.deepEqual(message.content, [{ type: 'text', text: 'x' }]);
      assert.equal(message.stopReason, stopReason);
    });
  }
});

describe('toPiMessage', () => {
  it('gives back what came from the library', () => {
    const message = toPi({ content: [{ type: 'text', text: 'x' }, call] });
    assert.deepEqual(toPiMessage(fromPiMessage(message)), message);
  });

  it('leaves out what models have no use for: provenance, details, error texts', () => {
    const provenance = {
      kind: 'inter_session' as const,
      sourceSessionKey: 'k',
      sourceTool: 't',
      rootRunId: 'r',
      hops: 1,
    };
    const user = toPiMessage({ role: 'user', content: 'x', timestamp: 1, provenance });
    assert.deepEqual(user, { role: 'user', content: 'x', timestamp: 1 });
    const result = {
      role: 'toolResult' as const,
      toolCallId: 'c',
      toolName: 't',
      content: [],
      isError: false,
      timestamp: 1,
    };
    assert.deepEqual(toPiMessage({ ...result, details: { a: 1 } }), result);
  });

  it('shows a kept partial answer of a failed call as a plain one', () => {
    const failed: AssistantMessage = {
      role: 'assistant',
      content: [{ type: 'text', text: 'half' }],
      api: 'a',
      provider: 'p',
      model: 'm',
      stopReason: 'aborted',
      errorMessage: 'aborted',
      timestamp: 1,
    };
    const shown = toPiMessage(failed);
    assert.ok(
      shown.role === 'assistant' && shown.stopReason === 'stop' && !('errorMessage' in shown),
    );
  });
});

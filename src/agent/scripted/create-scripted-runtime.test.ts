import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  createRecordingHost,
  createTurn,
  noSignal,
  toUser,
} from '../../../test/helpers/recording-host.ts';
import { textOf, toolCallsOf, type Message } from '../../protocol/message.ts';
import type { Turn } from '../runtime.ts';
import { createScriptedRuntime, type ScriptedOptions } from './create-scripted-runtime.ts';

const clock = { now: () => 7 };

async function play(
  turn: Turn,
  options: ScriptedOptions = {},
): Promise<{ host: ReturnType<typeof createRecordingHost>; text: string }> {
  const host = createRecordingHost();
  const final = await createScriptedRuntime({ clock, ...options }).runTurn(turn, host, noSignal());
  return { host, text: textOf(final) };
}

async function answerTo(text: string, options: ScriptedOptions = {}): Promise<string> {
  return (await play(createTurn(text), options)).text;
}

describe('createScriptedRuntime', () => {
  it('goes on where it was, from every position of a script', async () => {
    const script =
      'TOOL: first {"n":1}\nTOOLS: [{"name":"first","args":{"n":2}},{"name":"second"}]\nTOOL: second {"n":3}';
    const transcript: Message[] = [toUser(script)];
    const turn = createTurn(script, { messages: transcript });
    const host = createRecordingHost();
    const perform = host.toolCalls;
    host.toolCalls = async (message) => {
      const results = await perform(message);
      transcript.push(message, ...results);
      return results;
    };
    // The runtime reads the transcript at the start only, so the growing copy stays the host's.
    const final = await createScriptedRuntime({ clock }).runTurn(
      { ...turn, messages: [...transcript] },
      host,
      noSignal(),
    );
    assert.equal(textOf(final), 'DONE: result of second {"n":3}');
    assert.equal(host.committed.length, 3);

    const ends = transcript.flatMap(({ role }, index) => (role === 'assistant' ? [index] : []));
    for (const [done, end] of [...ends, transcript.length].entries()) {
      const resumed = await play({ ...turn, messages: transcript.slice(0, end) });
      assert.equal(resumed.text, 'DONE: result of second {"n":3}');
      assert.deepEqual(resumed.host.committed, host.committed.slice(done));
    }
  });

  it('plans the calls of a TOOLS line in one message with ids of their own', async () => {
    const { host } = await play(createTurn('TOOLS: [{"name":"first"},{"name":"first"}]\nSAY: x'));
    const [planned] = host.committed;
    assert.equal(planned?.stopReason, 'toolUse');
    const ids = toolCallsOf(planned).map(({ id }) => id);
    assert.equal(new Set(ids).size, 2);
  });

  it('streams the answer in the pieces the script asks for', async () => {
    const { host, text } = await play(createTurn('CHUNKS: 3\nSAY: abcdef'));
    assert.deepEqual(host.deltas, ['ab', 'cd', 'ef']);
    assert.equal(text, 'abcdef');
  });

  it('ends an EMPTY answer without content', async () => {
    const final = await createScriptedRuntime().runTurn(
      createTurn('EMPTY'),
      createRecordingHost(),
      noSignal(),
    );
    assert.deepEqual([final.content, final.stopReason], [[], 'stop']);
  });

  it('says who answered and estimates usage at four characters a token', async () => {
    const final = await createScriptedRuntime({ clock }).runTurn(
      createTurn('SAY: hi'),
      createRecordingHost(),
      noSignal(),
    );
    assert.deepEqual([final.provider, final.model, final.timestamp], ['scripted', 'scripted-1', 7]);
    assert.equal(final.usage?.input, Math.ceil('You are a test."SAY: hi"'.length / 4));
    assert.equal(final.usage?.cost.total, 0);
  });

  it('resolves a FAIL as an error with its message', async () => {
    const final = await createScriptedRuntime().runTurn(
      createTurn('FAIL: 429 slow'),
      createRecordingHost(),
      noSignal(),
    );
    assert.deepEqual([final.stopReason, final.errorMessage], ['error', '429 slow']);
  });

  it('ends a SLEEP at once when the signal fires', async () => {
    const abort = new AbortController();
    const running = createScriptedRuntime().runTurn(
      createTurn('SLEEP: 600000\nSAY: x'),
      createRecordingHost(),
      abort.signal,
    );
    abort.abort();
    assert.equal((await running).stopReason, 'aborted');
  });

  it('keeps the streamed part of an aborted answer', async () => {
    const abort = new AbortController();
    const host = createRecordingHost();
    host.delta = () => abort.abort();
    const final = await createScriptedRuntime().runTurn(
      createTurn('CHUNKS: 2\nSAY: abcd'),
      host,
      abort.signal,
    );
    assert.deepEqual([textOf(final), final.stopReason], ['ab', 'aborted']);
  });

  it('passes on a rejection of the host', async () => {
    const host = createRecordingHost(() => Promise.reject(new Error('fenced')));
    const running = createScriptedRuntime().runTurn(createTurn('TOOL: first'), host, noSignal());
    await assert.rejects(running, /fenced/);
  });

  it('answers plain text plainly, in short and without calling anything', async () => {
    const { host, text } = await play(createTurn(`Hello\nthere ${'x'.repeat(500)}`));
    assert.match(text, /^Scripted reply \(no model\): I read "Hello there x/);
    assert.ok(text.length < 300);
    assert.deepEqual(host.committed, []);
  });

  it('does not quote the marker in front of a routed text', async () => {
    const { text } = await play(createTurn('[inter-session message from agent:a:main]\nHello'));
    assert.equal(text, 'Scripted reply (no model): I read "Hello".');
  });

  it('declines agent-to-agent steps, also when they quote a script', async () => {
    assert.equal(
      await answerTo('[Agent-to-agent reply step: turn 2 of 5. …]\nSAY: x'),
      'REPLY_SKIP',
    );
    assert.equal(await answerTo('[Agent-to-agent announce step: …]\nSAY: x'), 'ANNOUNCE_SKIP');
  });

  it('talks in agent-to-agent steps when it is made so, counting from the prompt or the transcript', async () => {
    const talk = { talk: true };
    assert.equal(await answerTo('[Agent-to-agent reply step: turn 3 of 5.]\nhi', talk), 'PONG 3');
    assert.equal(await answerTo('Agent-to-agent reply step\nhi', talk), 'PONG 1');
    assert.equal(await answerTo('[Agent-to-agent announce step: …]', talk), 'ANNOUNCE 1');
  });

  it("passes a child's result on in one line, whatever stands in it", async () => {
    const text = '[result of your sub-agent x; …]\nStatus: success\nResult: 42\nSAY: not this';
    assert.equal(await answerTo(text), 'PASSED ON: 42');
  });

  it('repeats the last reply when it is asked to announce a task', async () => {
    const messages: Message[] = [toUser('[task from agent:main:main]\nTOOL: first')];
    const { text } = await play(createTurn('', { messages }));
    const said = await createScriptedRuntime().runTurn(
      createTurn('SAY: DONE: 42'),
      createRecordingHost(),
      noSignal(),
    );
    messages.push(said, toUser('[Announce step: your task has ended.]\nTask:\nTOOL: first'));
    const announced = await play(createTurn('', { messages, tools: [] }));
    assert.equal(announced.text, 'DONE: 42');
    assert.match(text, /^DONE: result of first/);
  });
});

import { setTimeout as delay } from 'node:timers/promises';
import { withoutAttachmentContents } from '../../core/redact-attachments.ts';
import type { AssistantMessage, Message, ToolCallBlock, Usage } from '../../protocol/message.ts';
import { MAX_TIMER_MS, systemClock, type Clock } from '../../util/clock.ts';
import type { AgentRuntime, Turn, TurnHost } from '../runtime.ts';
import { planScene, readScene } from './scene.ts';
import { toChunks, type ScriptCall } from './script.ts';

export interface ScriptedOptions {
  /** Answers agent-to-agent steps (`PONG n`, `ANNOUNCE n`) instead of declining them. */
  talk?: boolean;
  clock?: Clock;
}

/**
 * Returns the runtime that needs no model: it plays the script in the last user text (see
 * `script.ts`) and answers plain text plainly. Its place in the script comes from the transcript
 * alone, so an interrupted turn goes on where it was.
 */
export function createScriptedRuntime(options: ScriptedOptions = {}): AgentRuntime {
  const talk = options.talk ?? false;
  const clock = options.clock ?? systemClock;
  return {
    kind: 'scripted',
    resume: 'transcript',
    runTurn: (turn, host, signal) => playTurn(turn, host, { signal, talk, clock }),
  };
}

interface Play {
  signal: AbortSignal;
  talk: boolean;
  clock: Clock;
}

async function playTurn(turn: Turn, host: TurnHost, play: Play): Promise<AssistantMessage> {
  const messages = [...turn.messages];
  for (;;) {
    const offered = host.closing() === undefined ? turn.tools.map((tool) => tool.name) : [];
    const { sleepMs, action } = planScene(readScene(messages), { offered, talk: play.talk });
    const reply = (content: AssistantMessage['content'], end: End): AssistantMessage =>
      toMessage({
        content,
        end,
        usage: estimateUsage(turn, messages, content),
        at: play.clock.now(),
      });

    if (!(await waitUnlessAborted(sleepMs, play.signal)))
      return reply([], { stopReason: 'aborted' });
    if (action.kind === 'fail') {
      return reply([], { stopReason: 'error', errorMessage: action.message });
    }
    if (action.kind === 'answer') {
      const text = await streamText(toChunks(action.text, action.chunks), host, play.signal);
      const content = text === '' ? [] : [{ type: 'text' as const, text }];
      return reply(content, { stopReason: play.signal.aborted ? 'aborted' : 'stop' });
    }
    const calls = toCallBlocks(action.calls, `${turn.runId}_${messages.length}`);
    const planned = reply(calls, { stopReason: 'toolUse' });
    messages.push(withoutAttachmentContents(planned), ...(await host.toolCalls(planned)));
  }
}

type End = Pick<AssistantMessage, 'stopReason' | 'errorMessage'>;

function toMessage(parts: {
  content: AssistantMessage['content'];
  end: End;
  usage: Usage;
  at: number;
}): AssistantMessage {
  return {
    role: 'assistant',
    content: parts.content,
    api: 'scripted',
    provider: 'scripted',
    model: 'scripted-1',
    usage: parts.usage,
    ...parts.end,
    timestamp: parts.at,
  };
}

function toCallBlocks(calls: ScriptCall[], idPrefix: string): ToolCallBlock[] {
  return calls.map((call, index) => ({
    type: 'toolCall',
    id: `call_${idPrefix}_${index}`,
    name: call.name,
    arguments: call.args,
  }));
}

/** Returns false when the signal ended the wait. */
async function waitUnlessAborted(ms: number, signal: AbortSignal): Promise<boolean> {
  if (signal.aborted) return false;
  if (ms <= 0) return true;
  try {
    await delay(Math.min(ms, MAX_TIMER_MS), undefined, { signal });
    return true;
  } catch {
    return false;
  }
}

/** Streams the pieces and returns what was streamed: all of it, unless the signal came in between. */
async function streamText(pieces: string[], host: TurnHost, signal: AbortSignal): Promise<string> {
  let streamed = '';
  for (const [index, piece] of pieces.entries()) {
    // A turn of the loop between two pieces lets watchers and an abort come in, as with a model.
    if (index > 0) await delay(0);
    if (signal.aborted) break;
    streamed += piece;
    host.delta(piece);
  }
  return streamed;
}

/** An estimate, honest about being one: four characters count as a token, and nothing costs anything. */
function estimateUsage(
  turn: Turn,
  context: Message[],
  content: AssistantMessage['content'],
): Usage {
  const contextText = context.map((message) => JSON.stringify(message.content)).join('');
  const input = toTokens(turn.systemPrompt + contextText);
  const output = content.length === 0 ? 0 : toTokens(JSON.stringify(content));
  return {
    input,
    output,
    cacheRead: 0,
    cacheWrite: 0,
    totalTokens: input + output,
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
  };
}

function toTokens(text: string): number {
  return Math.ceil(text.length / 4);
}

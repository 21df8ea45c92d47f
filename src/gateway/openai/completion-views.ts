/** The answers of `/v1` in the form that OpenAI's clients read. */

export interface CompletionUsage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
}
interface Answer {
  runId: string;
  model: string;
  /** epoch ms */
  acceptedAt: number;
}

/** Returns the whole answer. */
export function completionView(
  answer: Answer,
  { reply, usage }: { reply: string; usage: CompletionUsage },
): object {
  const message = { role: 'assistant', content: reply, refusal: null };
  return {
    ...common(answer, 'chat.completion'),
    choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop' }],
    usage,
  };
}

/** Returns one piece of a streamed answer; `finish` = it was the last one. */
export function chunkView(
  answer: Answer,
  { delta, finish = false }: { delta: { role?: 'assistant'; content?: string }; finish?: boolean },
): object {
  return {
    ...common(answer, 'chat.completion.chunk'),
    choices: [{ index: 0, delta, finish_reason: finish ? 'stop' : null }],
  };
}

/** Returns the piece after the last one, which says what was used. */
export function usageView(answer: Answer, usage: CompletionUsage): object {
  return { ...common(answer, 'chat.completion.chunk'), choices: [], usage };
}

/** Returns the list of models. */
export function modelsView(names: readonly string[]): object {
  return { object: 'list', data: names.map(modelView) };
}

/** Returns one model. */
export function modelView(id: string): object {
  return { id, object: 'model', created: 0, owned_by: 'trunkline' };
}

function common({ runId, model, acceptedAt }: Answer, object: string): object {
  return { id: runId, object, created: Math.floor(acceptedAt / 1000), model };
}

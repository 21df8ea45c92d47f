/** What `POST /v1/chat/completions` asks for (B15), checked before anything is done. */
import { z } from 'zod';
import { GatewayError } from '../../protocol/errors.ts';
import { NAME_MAX, WORDS_MAX } from '../../protocol/tools/tool-limits.ts';
import { briefly } from '../../util/briefly.ts';

const text = z.string().max(WORDS_MAX);
const content = z.union([
  text,
  z.array(z.object({ type: z.literal('text'), text }).loose()).max(1000),
]);
const ROLES = ['system', 'developer', 'user', 'assistant'] as const;

const body = z.looseObject({
  model: z.string().min(1).max(NAME_MAX),
  messages: z
    .array(z.looseObject({ role: z.enum(ROLES), content }))
    .min(1)
    .max(1000),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
  user: z.string().regex(/\S/, 'must not be blank').max(NAME_MAX).nullish(),
  n: z.literal(1).nullish(),
});

/** They would change what the answer is; an agent has its own. */
const REFUSED = ['tools', 'functions', 'tool_choice', 'function_call', 'response_format', 'audio'];

export interface CompletionRequest {
  model: string;
  /** of system and developer messages; undefined = none */
  instructions: string | undefined;
  /** the last message, which the agent answers */
  message: string;
  /** what was said before it, oldest first */
  before: { role: 'user' | 'assistant'; text: string }[];
  stream: boolean;
  includeUsage: boolean;
  /** who asks, by the client's own name for them */
  user: string | undefined;
}

/** Returns the request, or throws `invalid_request` with the parameter that is wrong. */
export function parseCompletionRequest(raw: unknown): CompletionRequest {
  const parsed = body.safeParse(raw);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw invalid(`${briefly(issue?.path.join('.') ?? '')}: ${issue?.message ?? 'not valid'}`);
  }
  const { data } = parsed;
  const refused = REFUSED.find((name) => data[name] !== undefined && data[name] !== null);
  if (refused !== undefined)
    throw invalid(`${refused}: not supported here; the agent has its own tools and form of answer`);
  const said = data.messages.map(({ role, content: given }) => ({ role, text: textOf(given) }));
  const last = said.at(-1);
  if (last?.role !== 'user' || last.text.trim() === '')
    throw invalid('messages: the last one must be of role "user", with a text');
  const instructions = said
    .filter(({ role }) => role === 'system' || role === 'developer')
    .map((message) => message.text);
  return {
    model: data.model,
    instructions: instructions.length === 0 ? undefined : instructions.join('\n\n'),
    message: last.text,
    before: said
      .slice(0, -1)
      .flatMap(({ role, text: words }) =>
        role === 'user' || role === 'assistant' ? [{ role, text: words }] : [],
      ),
    stream: data.stream === true,
    includeUsage: data.stream_options?.include_usage === true,
    user: data.user ?? undefined,
  };
}

function textOf(given: z.output<typeof content>): string {
  return typeof given === 'string' ? given : given.map((part) => part.text).join('\n');
}

function invalid(message: string): GatewayError {
  return new GatewayError('invalid_request', message);
}

import { z } from 'zod';
import { option, secret, section } from './option.ts';

/** The wire formats that a provider may speak (A24). */
const MODEL_APIS = ['openai-completions', 'anthropic-messages'] as const;

const price = (what: string) =>
  option(z.number().min(0).default(0), `US dollars per million ${what}.`);

const model = z.object({
  id: option(z.string().min(1), 'Id that is sent to the provider.'),
  name: option(z.string().optional(), 'Name for people.'),
  reasoning: option(z.boolean().default(false), 'Whether it takes a thinking level.'),
  input: option(z.array(z.enum(['text', 'image'])).default(['text']), 'What it reads.'),
  contextWindow: option(z.int().min(1).optional(), 'Context window in tokens. Default: 200000.'),
  maxTokens: option(z.int().min(1).optional(), 'Longest answer in tokens. Default: 8192.'),
  cost: option(
    z
      .object({
        input: price('input tokens'),
        output: price('output tokens'),
        cacheRead: price('tokens read from the cache'),
        cacheWrite: price('tokens written to the cache'),
      })
      .optional(),
    'Prices; a missing one is 0, without any the model is unpriced.',
  ),
});

const provider = z.object({
  baseUrl: option(
    z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }),
    'Address of the API, such as `http://127.0.0.1:11434/v1`.',
  ),
  apiKey: secret(z.string().optional(), 'API key, best as an environment reference `"${NAME}"`.'),
  api: option(z.enum(MODEL_APIS).default('openai-completions'), 'Wire format of the API.'),
  models: option(
    z.array(model).default([]),
    'Its models. Without any, every model id of the provider is valid.',
  ),
});

/** `models.*`: the model providers (A24). */
export const modelOptions = section({
  providers: option(
    z.record(z.string(), provider).default({}),
    'Providers by id. `openai` and `anthropic` are there by themselves when `OPENAI_API_KEY` or `ANTHROPIC_API_KEY` is set.',
  ),
});

/** One entry of `models.providers`. */
export type ProviderSettings = z.output<typeof provider>;
/** One entry of `models.providers.*.models`. */
export type ModelSettings = z.output<typeof model>;

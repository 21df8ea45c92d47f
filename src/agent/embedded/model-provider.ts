/** A model of a provider, as `models.providers.*.models[]` gives it (A24). */
export interface ProviderModel {
  id: string;
  /** what it reads; default text only */
  input?: ('text' | 'image')[] | undefined;
  /** tokens; default 200,000 */
  contextWindow?: number | undefined;
  /** tokens of the longest answer; without it the provider's own limit holds, or 8,192 where one must be sent */
  maxTokens?: number | undefined;
  /** US dollars per million tokens; a missing price is 0, no prices at all means unpriced */
  cost?: ModelPrices | undefined;
}

export interface ModelPrices {
  input?: number | undefined;
  output?: number | undefined;
  cacheRead?: number | undefined;
  cacheWrite?: number | undefined;
}

/** A model provider with its values resolved: no references, no environment. */
export interface ModelProvider {
  /** `http://127.0.0.1:11434/v1`, `https://api.anthropic.com` … */
  baseUrl: string;
  /** absent for servers that want none */
  apiKey?: string | undefined;
  /** default `openai-completions` */
  api?: 'openai-completions' | 'anthropic-messages' | undefined;
  /** the only valid models; none or empty: every id is valid */
  models?: ProviderModel[] | undefined;
}

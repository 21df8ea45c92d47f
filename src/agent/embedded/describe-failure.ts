import { maskKnown } from '../../core/mask-secrets.ts';

const MAX_CHARACTERS = 300;

/**
 * Returns the text of a failed model call: model, HTTP status when there is one, the provider's own
 * words in short. API keys are taken out, and so are bodies, which may quote the context.
 */
export function describeFailure(failure: {
  model: string;
  status: number | undefined;
  /** how long the provider asks to wait, in `ms` */
  retryAfterMs: number | undefined;
  raw: string | undefined;
  apiKey: string | undefined;
}): string {
  const words = maskKnown(providerWords(failure.raw ?? ''), [failure.apiKey ?? '']);
  const status = failure.status === undefined || failure.status < 400 ? '' : `${failure.status} `;
  const text = words.startsWith(status.trim()) ? words : `${status}${words}`;
  const short = text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text;
  const wait =
    failure.retryAfterMs === undefined
      ? ''
      : ` (asks to wait ${Math.ceil(failure.retryAfterMs / 1_000)} s)`;
  return `${failure.model}: ${short.trim() || 'no answer'}${wait}`;
}

/** The libraries put the status and the JSON body into one string; only the body's message is for people. */
function providerWords(raw: string): string {
  const start = raw.indexOf('{');
  if (start < 0) return oneLine(raw);
  try {
    const body: unknown = JSON.parse(raw.slice(start));
    const message = findMessage(body);
    if (message !== undefined) return oneLine(message);
  } catch {
    // Not JSON after all: what stands before the brace is the most that can be shown.
  }
  return oneLine(raw.slice(0, start)).replace(/[:;,]$/, '');
}

function findMessage(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  if ('message' in body && typeof body.message === 'string') return body.message;
  return 'error' in body ? findMessage(body.error) : undefined;
}

function oneLine(text: string): string {
  return text.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim();
}

/** The `/v1` paths: agents as models, for programs that speak OpenAI's HTTP (B15). Closed until enabled. */
import type { Context, Hono, MiddlewareHandler } from 'hono';
import { type SSEStreamingApi, streamSSE } from 'hono/streaming';
import type { OperatorCaller } from '../../core/caller.ts';
import { maskSecrets } from '../../core/mask-secrets.ts';
import { ERROR_CODES, toGatewayError } from '../../protocol/errors.ts';
import type { GatewayError } from '../../protocol/errors.ts';
import type { HttpEnv } from '../http-env.ts';
import { completeChat, FailedRun } from './complete-chat.ts';
import type { Completion, CompletionDeps } from './complete-chat.ts';
import { agentOf, modelNames } from './completion-target.ts';
import { modelsView, modelView } from './completion-views.ts';

/** What the HTTP door does for these paths as for its others. */
export interface OpenAiDoor {
  isOpen: () => boolean;
  /** Judges a request before its body is read; throws its refusal. */
  admit: (c: Context<HttpEnv>) => void;
  limit: MiddlewareHandler<HttpEnv>;
  readBody: (c: Context<HttpEnv>) => Promise<unknown>;
  /** Judges what was thrown; the cause of a fault goes to the log. */
  toError: (c: Context<HttpEnv>, thrown: unknown) => GatewayError;
  /** how often a stream says that it is still there, ms */
  tickIntervalMs: number;
  notAllowed: (c: Context<HttpEnv>, allow: string) => Response;
}

const CALLER: OperatorCaller = { type: 'operator', scopes: ['operator.read', 'operator.write'] };

/** Clients repeat a 409 and a 500 by themselves; of a failed run that would be another one. */
const sayNotToRepeat = (c: Context<HttpEnv>): void => c.header('x-should-retry', 'false');

/** Adds `POST /v1/chat/completions`, `GET /v1/models` and `GET /v1/models/<name>`. */
export function routeOpenAi(
  app: Hono<HttpEnv>,
  { deps, door }: { deps: CompletionDeps; door: OpenAiDoor },
): void {
  app.use('/v1/*', async (c, next) => (door.isOpen() ? next() : c.notFound()));
  app.use('/v1/*', async (c, next) => {
    await next();
    if (c.error !== undefined && !ERROR_CODES[toGatewayError(c.error).code].retryable)
      sayNotToRepeat(c);
  });
  app.get('/v1/models', async (c) => {
    door.admit(c);
    return c.json(modelsView(modelNames(await deps.services.listConfiguredAgents())));
  });
  app.get('/v1/models/:name{.+}', async (c) => {
    door.admit(c);
    const name = c.req.param('name');
    agentOf(name, await deps.services.listConfiguredAgents());
    return c.json(modelView(name));
  });
  app.post(
    '/v1/chat/completions',
    async (c, next) => (door.admit(c), next()),
    door.limit,
    async (c) => {
      const { headers, signal } = c.req.raw;
      const body = await door.readBody(c);
      try {
        const completion = await completeChat(deps, { caller: CALLER, headers, body, signal });
        return answer(c, { completion, door });
      } catch (error) {
        if (!(error instanceof FailedRun)) throw error;
        sayNotToRepeat(c);
        return c.json({ error: failureView(error) }, 500);
      }
    },
  );
  for (const path of ['/v1/models', '/v1/models/*'])
    app.all(path, (c) => door.notAllowed(c, 'GET'));
  app.all('/v1/chat/completions', (c) => door.notAllowed(c, 'POST'));
}

function answer(
  c: Context<HttpEnv>,
  { completion, door }: { completion: Completion; door: OpenAiDoor },
): Response {
  if (completion.kind === 'whole') return c.json(completion.body);
  return streamSSE(c, async (stream) => {
    const write = (data: string) => stream.writeSSE({ data });
    const stopTicking = tick(stream, door.tickIntervalMs);
    try {
      for await (const piece of completion.pieces) await write(JSON.stringify(piece));
      await write('[DONE]');
    } catch (thrown) {
      // what is thrown on from here would be told by its own text
      const error =
        thrown instanceof FailedRun ? failureView(thrown) : errorView(door.toError(c, thrown));
      await write(JSON.stringify({ error }));
    } finally {
      stopTicking();
    }
  });
}

/** A run may say nothing for minutes, and clients and proxies give such a stream up. Readers skip comments. */
function tick(stream: SSEStreamingApi, intervalMs: number): () => void {
  let isWriting = false;
  const timer = setInterval(() => {
    // one at most is kept for a client that does not read
    if (isWriting) return;
    isWriting = true;
    void stream.write(': still at work\n\n').finally(() => (isWriting = false));
  }, intervalMs);
  return () => clearInterval(timer);
}

function failureView({ message, outcome, runId }: FailedRun): object {
  return { type: 'run_failed', code: outcome, message: maskSecrets(message), run_id: runId };
}

function errorView({ code, message }: GatewayError): object {
  return { type: code, message: maskSecrets(message) };
}

/** The `/v1` paths: agents as models, for programs that speak OpenAI's HTTP (B15). Closed until enabled. */
import type { Context, Hono, MiddlewareHandler } from 'hono';
import { streamSSE } from 'hono/streaming';
import type { OperatorCaller } from '../../core/caller.ts';
import { toGatewayError } from '../../protocol/errors.ts';
import type { HttpEnv } from '../http-env.ts';
import { completeChat, FailedRun } from './complete-chat.ts';
import type { Completion, CompletionDeps } from './complete-chat.ts';
import { modelNames } from './completion-target.ts';
import { modelsView } from './completion-views.ts';

/** What the HTTP door does for these paths as for its others. */
export interface OpenAiDoor {
  isOpen: () => boolean;
  /** Judges a request before its body is read; throws its refusal. */
  admit: (c: Context<HttpEnv>) => void;
  limit: MiddlewareHandler<HttpEnv>;
  readBody: (c: Context<HttpEnv>) => Promise<unknown>;
  notAllowed: (c: Context<HttpEnv>, allow: string) => Response;
}

const CALLER: OperatorCaller = { type: 'operator', scopes: ['operator.read', 'operator.write'] };

/** Adds `POST /v1/chat/completions` and `GET /v1/models`. */
export function routeOpenAi(
  app: Hono<HttpEnv>,
  { deps, door }: { deps: CompletionDeps; door: OpenAiDoor },
): void {
  app.use('/v1/*', async (c, next) => (door.isOpen() ? next() : c.notFound()));
  app.get('/v1/models', async (c) => {
    door.admit(c);
    return c.json(modelsView(modelNames(await deps.services.listConfiguredAgents())));
  });
  app.post(
    '/v1/chat/completions',
    async (c, next) => (door.admit(c), next()),
    door.limit,
    async (c) => {
      const { headers, signal } = c.req.raw;
      const body = await door.readBody(c);
      try {
        return answer(c, await completeChat(deps, { caller: CALLER, headers, body, signal }));
      } catch (error) {
        if (!(error instanceof FailedRun)) throw error;
        // clients repeat a 500 by themselves, which would be another run
        return c.json({ error: errorView(error) }, 500, { 'x-should-retry': 'false' });
      }
    },
  );
  app.all('/v1/models', (c) => door.notAllowed(c, 'GET'));
  app.all('/v1/chat/completions', (c) => door.notAllowed(c, 'POST'));
}

function answer(c: Context<HttpEnv>, completion: Completion): Response {
  if (completion.kind === 'whole') return c.json(completion.body);
  return streamSSE(
    c,
    async (stream) => {
      for await (const piece of completion.pieces)
        await stream.writeSSE({ data: JSON.stringify(piece) });
      await stream.writeSSE({ data: '[DONE]' });
    },
    async (thrown, stream) => {
      await stream.writeSSE({ data: JSON.stringify({ error: errorView(thrown) }) });
    },
  );
}

function errorView(thrown: unknown): object {
  if (thrown instanceof FailedRun) {
    const { message, outcome, runId } = thrown;
    return { type: 'run_failed', code: outcome, message, run_id: runId };
  }
  const { code, message } = toGatewayError(thrown);
  return { type: code, message };
}

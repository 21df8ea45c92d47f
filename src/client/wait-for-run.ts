import type { RunWaitAnswer } from '../protocol/answers/run-answers.ts';
import { ERROR_CODES, toGatewayError } from '../protocol/errors.ts';
import type { GatewayError } from '../protocol/errors.ts';
import type { ConnectOptions } from './connect-options.ts';
import { connectGateway } from './gateway-client.ts';
import type { GatewayClient } from './gateway-client.ts';

const FIRST_RETRY_MS = 50;
const LAST_RETRY_MS = 2000;

/**
 * Waits for a run until it has ended or the deadline has passed, through lost connections and gateway
 * restarts. Rejects at once for an unknown runId or a wrong credential, and `unavailable` when the
 * gateway cannot be reached at the deadline.
 */
export async function waitForRun(
  connect: ConnectOptions,
  wait: { runId: string; timeoutMs: number },
): Promise<RunWaitAnswer> {
  const deadlineAt = performance.now() + wait.timeoutMs;
  const leftMs = () => Math.max(0, Math.ceil(deadlineAt - performance.now()));
  let retryMs = FIRST_RETRY_MS;
  for (;;) {
    let client: GatewayClient | undefined;
    try {
      client = await connectGateway({ ...connect, ...limitTo(connect.timeoutMs, leftMs()) });
      retryMs = FIRST_RETRY_MS;
      return await client.call('agent.wait', {
        runId: wait.runId,
        timeoutMs: leftMs(),
      });
    } catch (error) {
      if (!isWorthAnother(toGatewayError(error)) || leftMs() === 0) throw error;
      await delay(Math.min(retryMs, leftMs()));
      retryMs = Math.min(retryMs * 2, LAST_RETRY_MS);
    } finally {
      await client?.close();
    }
  }
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function limitTo(timeoutMs: number | undefined, leftMs: number): { timeoutMs: number } {
  return { timeoutMs: Math.max(1, Math.min(timeoutMs ?? leftMs, leftMs)) };
}

function isWorthAnother(error: GatewayError): boolean {
  return ERROR_CODES[error.code].retryable;
}

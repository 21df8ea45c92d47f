import { type JSONRPCMessage, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { atMost } from '../../util/at-most.ts';
import { createBoundedFetch } from './bounded-fetch.ts';
import { CUT_OFF } from './describe-mcp-failure.ts';

type SendOptions = NonNullable<Parameters<StreamableHTTPClientTransport['send']>[1]>;

/** How long the server is given to hear that we go. */
const GOODBYE_MS = 1_000;

/**
 * Streamable HTTP, where a request whose answer cannot come any more fails at once instead of at its time limit:
 * the stream that was to bring it has ended, and the server has said nothing of going on with it.
 */
export class HttpTransport extends StreamableHTTPClientTransport {
  constructor({ url, headers }: { url: string; headers: Record<string, string> }) {
    super(new URL(url), {
      requestInit: { headers },
      fetch: createBoundedFetch(() => void this.close()),
      onInsufficientScope: 'throw',
    });
  }

  override async send(
    message: JSONRPCMessage | JSONRPCMessage[],
    options: SendOptions = {},
  ): Promise<void> {
    const onRequestStreamEnd = options.onRequestStreamEnd ?? (() => this.#cutOff(message));
    return super.send(message, { ...options, onRequestStreamEnd });
  }

  /** Tells the server that its session has ended, and closes. Never rejects. */
  async leave(): Promise<void> {
    await atMost(
      GOODBYE_MS,
      this.terminateSession().catch(() => {}),
    );
    await this.close();
  }

  #cutOff(message: JSONRPCMessage | JSONRPCMessage[]): void {
    if (Array.isArray(message) || !('id' in message) || !('method' in message)) return;
    const error = { code: CUT_OFF, message: 'cut off' };
    const { jsonrpc, id } = message;
    // an answer that came last is taken in first; then nobody waits for this one
    setImmediate(() => this.onmessage?.({ jsonrpc, id, error }));
  }
}

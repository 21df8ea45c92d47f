/**
 * One configured MCP server, while its settings stay as they are. It is started by the first turn that may use
 * it, shared by all of them, ended when nobody has used it for long, and started again when it has died: at once
 * when it had lived for a while, else later each time.
 */
import { maskGiven } from '../../core/mask-secrets.ts';
import { credentialsOf } from '../../core/mcp-credentials.ts';
import { type McpOutcome, toMcpOutcome } from '../../core/mcp-result.ts';
import type { McpTool } from '../../core/mcp-tool-list.ts';
import type { McpServerSettings } from '../../protocol/options/mcp-options.ts';
import { atMost } from '../../util/at-most.ts';
import { codeOf } from '../../util/error-code.ts';
import type { Logger } from '../../util/logger.ts';
import type { ToolServerState } from '../runtime.ts';
import type { McpConnection } from './connect-server.ts';
import { type Catalog, type CatalogOptions, readCatalog } from './read-catalog.ts';
import { RetryPause } from './retry-pause.ts';
import {
  describeMcpFailure,
  isBusyAnswer,
  isServerError,
  statusOf,
} from './describe-mcp-failure.ts';

export interface McpServerOptions {
  name: string;
  settings: McpServerSettings;
  version: string;
  logger: Logger;
  /** ms without use after which it is ended; 0 = never */
  idleMs: () => number;
}

interface Live {
  connection: McpConnection;
  catalog: Catalog;
  since: number;
}

/** How long a turn waits for a server whose last start has failed, or for a list that has changed. */
const RETRY_WAIT_MS = 2_000;
/** Calls in a row without an answer, after which it is started again. */
const MAX_SILENT_CALLS = 3;

export class McpServer {
  readonly settings: McpServerSettings;
  readonly #options: McpServerOptions;
  readonly #ended = new AbortController();
  readonly #mask: (text: string) => string;
  readonly #pause = new RetryPause();
  #live: Live | undefined;
  #starting: Promise<void> | undefined;
  #relisting: Promise<void> | undefined;
  #isStale = false;
  #fault: string | undefined;
  #silentCalls = 0;
  #openCalls = 0;
  /** connections that are being ended; a program may take some seconds for it */
  readonly #closing = new Set<Promise<void>>();
  #idle: NodeJS.Timeout | undefined;
  #lastLines: () => string[] = () => [];

  constructor(options: McpServerOptions) {
    this.settings = options.settings;
    this.#options = options;
    const secrets = credentialsOf(options.settings);
    this.#mask = (text) => maskGiven(text, secrets);
  }

  get name(): string {
    return this.#options.name;
  }

  /** How it is doing. */
  get state(): Omit<ToolServerState, 'name'> {
    if (this.#live !== undefined) return { state: 'ready', tools: this.#live.catalog.tools.length };
    return this.#fault === undefined ? { state: 'off' } : { state: 'failed', reason: this.#fault };
  }

  /**
   * Returns its tools, none while it cannot be used; never rejects. Waits for a start that is due: at most its
   * connection limit, and only for a moment when the last start has failed.
   */
  async tools(): Promise<readonly McpTool[]> {
    this.#touch();
    if (this.#live === undefined)
      await (this.#pause.hasFailedToStart ? atMost(RETRY_WAIT_MS, this.#start()) : this.#start());
    else if (this.#isStale) await atMost(RETRY_WAIT_MS, this.#relist(this.#live));
    return this.#live?.catalog.tools ?? [];
  }

  /** Calls a tool. Whatever goes wrong is an outcome for the model; it never rejects. */
  async call(
    { given }: McpTool,
    { args, signal }: { args: Record<string, unknown>; signal: AbortSignal },
  ): Promise<McpOutcome> {
    this.#openCalls += 1;
    this.#touch();
    try {
      return await this.#tryCall(given, { args, signal, mayRepeat: true });
    } finally {
      this.#openCalls -= 1;
      this.#touch();
    }
  }

  /** Ends it for good: what is going ends, and says why. */
  async stop(reason: string): Promise<void> {
    this.#fault = reason;
    this.#ended.abort(new Error(reason));
    clearTimeout(this.#idle);
    await this.#starting;
    this.#drop();
    await Promise.all(this.#closing);
  }

  async #tryCall(
    given: string,
    call: { args: Record<string, unknown>; signal: AbortSignal; mayRepeat: boolean },
  ): Promise<McpOutcome> {
    if (this.#live === undefined) await this.#start();
    const live = this.#live;
    const tool = live?.catalog.listed.get(given);
    if (live === undefined) return failure(`${this.#title} is not available: ${this.#fault}`);
    if (tool === undefined) return failure(`${this.#title} has this tool no more`);
    const { args, signal } = call;
    try {
      const answer = await live.connection.callTool({
        tool,
        args,
        signal: AbortSignal.any([signal, this.#ended.signal]),
        timeoutMs: this.settings.requestTimeoutMs,
      });
      this.#silentCalls = 0;
      return toMcpOutcome(answer, this.#mask);
    } catch (error) {
      if (signal.aborted) return failure('stopped, because the run was aborted');
      // a server that was started anew has not looked at the call
      const isForgotten = statusOf(error) === 404 && call.mayRepeat && !this.#ended.signal.aborted;
      this.#judge(live, error);
      if (isForgotten) return this.#tryCall(given, { ...call, mayRepeat: false });
      return failure(this.#callFault(error));
    }
  }

  /** What a failed call says about the connection it was made on. */
  #judge(live: Live, error: unknown): void {
    if (this.#live !== live) return;
    const isSilent = codeOf(error) === 'REQUEST_TIMEOUT';
    this.#silentCalls = isSilent ? this.#silentCalls + 1 : 0;
    if (isServerError(error) || isBusyAnswer(error)) return;
    if (isSilent && this.#silentCalls < MAX_SILENT_CALLS) return;
    this.#drop();
  }

  #callFault(error: unknown): string {
    const reason = this.#ended.signal.aborted ? this.#fault : this.#describe(error);
    const rest = isServerError(error) ? '' : '; whether the call was done is unknown';
    return `the call failed at ${this.#title}: ${reason}${rest}`;
  }

  /** Starts it, joins a start that is going, or does nothing because it is too soon. */
  #start(): Promise<void> {
    if (this.#starting === undefined && !this.#pause.isOver) return Promise.resolve();
    this.#starting ??= this.#connect().finally(() => (this.#starting = undefined));
    return this.#starting;
  }

  async #connect(): Promise<void> {
    const { name, settings, version, logger } = this.#options;
    this.#lastLines = () => [];
    let connection: McpConnection | undefined;
    try {
      const signal = this.#timeLimit();
      const { connectServer } = await import('./connect-server.ts');
      connection = await connectServer({
        settings,
        version,
        mask: this.#mask,
        signal,
        onToolsChanged: () => (this.#isStale = true),
        onClosed: () => this.#closed(connection),
        onProgram: (lastLines) => (this.#lastLines = lastLines),
        onClosing: (closing) => this.#watchClosing(closing),
      });
      this.#isStale = false;
      const catalog = await readCatalog(connection, this.#reading(signal));
      this.#live = { connection, catalog, since: performance.now() };
      this.#silentCalls = 0;
      this.#pause.started();
      this.#fault = undefined;
      // the start may have taken longer than it may be idle
      this.#touch();
      logger.info({ mcpServer: name, tools: catalog.tools.length }, 'an MCP server is ready');
    } catch (error) {
      if (connection !== undefined) this.#watchClosing(connection.close());
      this.#failed(this.#describe(error), () => this.#pause.failedToStart());
    }
  }

  /** A list that cannot be read anew leaves the one that there was. */
  #relist(live: Live): Promise<void> {
    const read = async (): Promise<void> => {
      this.#isStale = false;
      try {
        live.catalog = await readCatalog(live.connection, this.#reading(this.#timeLimit()));
      } catch (error) {
        this.#isStale = true;
        const reason = this.#describe(error);
        this.#options.logger.warn(
          { mcpServer: this.name, reason },
          'its tools could not be listed again',
        );
      }
    };
    this.#relisting ??= read().finally(() => (this.#relisting = undefined));
    return this.#relisting;
  }

  #closed(connection: McpConnection | undefined): void {
    const live = this.#live;
    if (live === undefined || live.connection !== connection) return;
    this.#live = undefined;
    this.#failed('it ended', () => this.#pause.died(performance.now() - live.since));
  }

  #failed(reason: string, pause: () => number): void {
    if (this.#ended.signal.aborted) return;
    this.#fault = reason;
    this.#options.logger.warn(
      { mcpServer: this.name, reason, stderr: this.#lastLines(), againInMs: pause() },
      'an MCP server is not available; its tools are not offered',
    );
  }

  #drop(): void {
    const live = this.#live;
    this.#live = undefined;
    if (live === undefined) return;
    this.#pause.ended(performance.now() - live.since);
    this.#watchClosing(live.connection.close());
  }

  #watchClosing(closing: Promise<void>): void {
    this.#closing.add(closing);
    void closing.finally(() => this.#closing.delete(closing));
  }

  #touch(): void {
    clearTimeout(this.#idle);
    const idleMs = this.#options.idleMs();
    if (idleMs === 0 || this.#ended.signal.aborted) return;
    const end = (): void => {
      if (this.#openCalls === 0) this.#drop();
    };
    this.#idle = setTimeout(end, idleMs).unref();
  }

  #reading(signal: AbortSignal): CatalogOptions {
    return { ...this.#options, mask: this.#mask, signal };
  }

  /** For a start with its list of tools, or for a list alone. */
  #timeLimit(): AbortSignal {
    const limit = AbortSignal.timeout(this.settings.connectionTimeoutMs);
    return AbortSignal.any([limit, this.#ended.signal]);
  }

  #describe(error: unknown): string {
    return describeMcpFailure(error, this.#mask);
  }

  get #title(): string {
    return `MCP server ${this.name}`;
  }
}

function failure(text: string): McpOutcome {
  return { text, images: [], isError: true };
}

import { Worker } from 'node:worker_threads';
import { GatewayError } from '../../protocol/errors.ts';
import type { SqlConnection, SqlResult, SqlValue } from '../sql/connection.ts';
import { SqlTx } from '../sql/sql-tx.ts';
import { SqlUnit } from '../sql/sql-unit.ts';
import type { ReadTx, SlowReadLimit } from '../store.ts';
import type { ThreadAnswer, ThreadQuestion } from './slow-reader-protocol.ts';
import { sqliteDialect } from './sqlite-dialect.ts';

// Stripped sources run as .ts, the build as .js; `new URL` is not rewritten by the compiler.
const THREAD = new URL(
  import.meta.url.endsWith('.ts') ? './slow-reader-worker.ts' : './slow-reader-worker.js',
  import.meta.url,
);

/**
 * Reads that may take long, one snapshot after another, in a thread of their own, which is started by
 * the first of them. SQLite cannot be interrupted: when a read is over its time its thread is given up,
 * and the next read waits for the end of it and starts another.
 */
export class SlowReader {
  readonly #path: string;
  #thread: ReaderThread | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(path: string) {
    this.#path = path;
  }

  /** The limit counts from the call, so that a read that waits for another is answered in time too. */
  async run<T>(fn: (tx: ReadTx) => Promise<T>, limit: SlowReadLimit): Promise<T> {
    const overdue = Promise.withResolvers<never>();
    let isOver = false;
    const timer = setTimeout(() => {
      isOver = true;
      overdue.reject(new GatewayError('invalid_request', limit.tooSlow));
    }, limit.timeoutMs);
    const turn = this.#last.then(async () => {
      if (isOver) return overdue.promise;
      const thread = (this.#thread ??= new ReaderThread(this.#path));
      try {
        return await Promise.race([readSnapshot(thread, fn), overdue.promise]);
      } finally {
        if (isOver || thread.hasFailed) await this.#giveUp(thread);
      }
    });
    this.#last = turn.catch(() => {});
    try {
      return await Promise.race([turn, overdue.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Finishes the reads that wait, then ends the thread. */
  async close(): Promise<void> {
    await this.#last;
    await this.#thread?.end();
    this.#thread = undefined;
  }

  async #giveUp(thread: ReaderThread): Promise<void> {
    this.#thread = undefined;
    await thread.end();
  }
}

async function readSnapshot<T>(thread: ReaderThread, fn: (tx: ReadTx) => Promise<T>): Promise<T> {
  const unit = new SqlUnit(thread, sqliteDialect, 0);
  await thread.query('begin deferred', []);
  try {
    return await fn(new SqlTx(unit));
  } finally {
    unit.end();
    // a thread that was given up has nothing to end
    if (!thread.hasFailed) await thread.query('commit', []);
  }
}

/** A connection whose statements run in the thread. */
class ReaderThread implements SqlConnection {
  readonly #worker: Worker;
  readonly #open = new Map<number, PromiseWithResolvers<SqlResult>>();
  #lastId = 0;
  #failure: GatewayError | undefined;

  constructor(path: string) {
    this.#worker = new Worker(THREAD, { workerData: path, env: {}, argv: [], execArgv: [] });
    // it must not keep a process alive that forgot to close the store
    this.#worker.unref();
    this.#worker.on('message', (answer: ThreadAnswer) => this.#settle(answer));
    this.#worker.once('error', (error) => this.#fail(error));
    this.#worker.once('exit', () => this.#fail(undefined));
  }

  get hasFailed(): boolean {
    return this.#failure !== undefined;
  }

  query(sql: string, params: readonly SqlValue[]): Promise<SqlResult> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const question: ThreadQuestion = { id: ++this.#lastId, sql, params };
    const answer = Promise.withResolvers<SqlResult>();
    this.#open.set(question.id, answer);
    this.#worker.ref();
    this.#worker.postMessage(question);
    return answer.promise;
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }

  #settle({ id, result, error }: ThreadAnswer): void {
    const answer = this.#open.get(id);
    this.#open.delete(id);
    if (this.#open.size === 0) this.#worker.unref();
    if (result !== undefined) answer?.resolve(result);
    else answer?.reject(toError(error));
  }

  #fail(cause: unknown): void {
    const text = 'the thread of slow reads has ended; try again';
    this.#failure ??= new GatewayError('unavailable', text, { cause });
    for (const answer of this.#open.values()) answer.reject(this.#failure);
    this.#open.clear();
  }
}

function toError(error: ThreadAnswer['error']): Error {
  const { code, message } = error ?? { code: undefined, message: 'no answer' };
  return code === undefined ? new Error(message) : new GatewayError(code, message);
}

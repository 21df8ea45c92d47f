/** The thread of slow reads: a connection of its own that cannot write, and what is asked of it. */
import { parentPort, workerData } from 'node:worker_threads';
import { GatewayError } from '../../protocol/errors.ts';
import { must } from '../../util/assert.ts';
import type { ThreadAnswer, ThreadQuestion } from './slow-reader-protocol.ts';
import { SqliteConnection } from './sqlite-connection.ts';

const port = must(parentPort, 'slow-reader-worker runs as a worker thread');
const connection = new SqliteConnection(String(workerData), { readOnly: true });

port.on('message', ({ id, sql, params }: ThreadQuestion) => {
  port.postMessage({ id, ...answer(() => connection.run(sql, params)) } satisfies ThreadAnswer);
});

function answer(run: () => ReturnType<SqliteConnection['run']>): Omit<ThreadAnswer, 'id'> {
  try {
    return { result: run() };
  } catch (error) {
    const code = error instanceof GatewayError ? error.code : undefined;
    const message = error instanceof Error ? error.message : String(error);
    return { error: { code, message } };
  }
}
